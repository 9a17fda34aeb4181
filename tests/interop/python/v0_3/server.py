"""An agent on the official Python SDK of 0.3, over JSON-RPC, HTTP+JSON and gRPC.

    server.py [--echo] [--jsonrpc-only]

Prints one line of JSON with its addresses when it is ready and runs until its standard
input closes. It knows the words of ../server.py, which says what each does.
"""

import asyncio
import json
import os
import socket
import sys
import threading

import grpc
import httpx
import uvicorn

from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Part,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task

EXTENSION = 'https://example.com/extensions/interop/v1'
TICK = 0.05


def text_part(text):
    return Part(root=TextPart(text=text))


class Agent(AgentExecutor):
    """The words, as an executor of the SDK."""

    async def execute(self, context, event_queue):
        message = context.message
        words = context.get_user_input().split()
        word = words[0] if words else ''
        rest = ' '.join(words[1:])
        if word == 'message':
            await event_queue.enqueue_event(
                new_agent_text_message(f'message: {rest}', context_id=context.context_id)
            )
            return

        follow_up = context.current_task is not None
        if not follow_up:
            task = new_task(message)
            task.id, task.context_id = context.task_id, context.context_id
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)

        def said(text):
            return updater.new_agent_message([text_part(text)])

        await updater.start_work()
        if message.message_id.startswith('acc-echo'):
            await updater.add_artifact(list(message.parts), name='echo')
            await updater.complete(said('echoed'))
        elif follow_up:
            await updater.add_artifact([text_part(context.get_user_input())], name='answer')
            await updater.complete(said('thank you'))
        elif word == 'stream':
            await self.stream(updater, int(rest))
            await updater.complete(said('streamed'))
        elif word == 'ask':
            await updater.update_status('input-required', said('what is your name?'), final=True)
        elif word == 'slow':
            for _ in range(int(float(rest) / TICK)):
                await asyncio.sleep(TICK)
            await updater.add_artifact([text_part('done')], name='slow')
            await updater.complete(said('done'))
        elif word == 'fail':
            await updater.failed(said('failed as asked'))
        elif word == 'panic':
            raise RuntimeError('the executor crashed as asked')
        elif word == 'extensions':
            named = ','.join(sorted(context.requested_extensions))
            await updater.complete(said(f'extensions: {named}'))
        else:
            await updater.add_artifact([text_part(rest)], name='echo')
            await updater.complete(said(f'echoed {rest}'))

    async def stream(self, updater, count):
        for index in range(count):
            await updater.add_artifact(
                [text_part(f'chunk {index} ')],
                artifact_id='stream',
                append=index > 0,
                last_chunk=index + 1 == count,
            )
            await asyncio.sleep(TICK)

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel(updater.new_agent_message([text_part('canceled as asked')]))


def skill(name):
    return AgentSkill(id=name, name=name, description=f'The word {name}.', tags=['interop'])


def card(http, rest, rpc):
    """The card of this agent, served at `http`."""
    return AgentCard(
        name='Interop agent (Python SDK 0.3)',
        description='Answers by the first word of a message.',
        version='1.0.0',
        url=f'{http}/',
        preferred_transport='JSONRPC',
        additional_interfaces=[
            AgentInterface(url=f'{http}/', transport='JSONRPC'),
            AgentInterface(url=rest, transport='HTTP+JSON'),
            AgentInterface(url=rpc, transport='GRPC'),
        ],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=True,
            extensions=[AgentExtension(uri=EXTENSION, description='Named back to the client.')],
        ),
        supports_authenticated_extended_card=True,
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[skill('echo')],
    )


async def serve(app, listener):
    server = uvicorn.Server(uvicorn.Config(app, log_level='warning'))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    return serving


def listen():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    return listener, f'http://127.0.0.1:{listener.getsockname()[1]}'


class Echo(AgentExecutor):
    """The smallest agent."""

    async def execute(self, context, event_queue):
        if context.current_task is None:
            await event_queue.enqueue_event(new_task(context.message))
        updates = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updates.start_work()
        await updates.add_artifact([text_part(context.get_user_input())])
        await updates.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    rpc_listener, http = listen()
    rest_listener, rest = listen()
    grpc_server = grpc.aio.server()
    rpc = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"

    public = card(http, rest, rpc)
    if '--jsonrpc-only' in sys.argv:
        public.additional_interfaces = None
    extended = public.model_copy(deep=True)
    extended.skills.append(skill('secret'))
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        handler = DefaultRequestHandler(
            agent_executor=Echo() if '--echo' in sys.argv else Agent(),
            task_store=InMemoryTaskStore(),
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
        )
        cards = {'agent_card': public, 'http_handler': handler, 'extended_agent_card': extended}
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(public, handler), grpc_server)
        await grpc_server.start()
        serving = [
            await serve(A2AStarletteApplication(**cards).build(), rpc_listener),
            await serve(A2ARESTFastAPIApplication(**cards).build(), rest_listener),
        ]
        print(json.dumps({'card': http, 'http': http, 'grpc': rpc}), flush=True)
        await asyncio.gather(*serving)


def leave_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == '__main__':
    threading.Thread(target=leave_with_parent, daemon=True).start()
    asyncio.run(main())
