"""An agent on the official Python SDK, over JSON-RPC, HTTP+JSON and gRPC.

    server.py [--echo]

Prints one line of JSON with its addresses when it is ready and runs until its standard
input closes. What it does is chosen by the first word of the message:

    echo TEXT    one artifact with the text, COMPLETED
    message TEXT a direct message, no task
    stream N     N chunks of one artifact, COMPLETED
    ask          INPUT_REQUIRED; the next message completes the task
    slow S       WORKING for S seconds unless canceled, COMPLETED
    fail         FAILED with a message
    panic        the executor raises after WORKING
    extensions   COMPLETED, the status names the extensions the client asked for

A message whose id starts with `acc-echo` is answered with its own parts, unchanged.

With --echo it knows no words, and answers each message with its text.
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
from starlette.applications import Starlette

from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandlerV2, GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    TaskState,
)

EXTENSION = 'https://example.com/extensions/interop/v1'
TICK = 0.05


class Agent(AgentExecutor):
    """The words above, as an executor of the SDK."""

    async def execute(self, context, event_queue):
        message = context.message
        words = context.get_user_input().split()
        word = words[0] if words else ''
        rest = ' '.join(words[1:])
        if word == 'message':
            await event_queue.enqueue_event(
                new_text_message(f'message: {rest}', context_id=context.context_id)
            )
            return

        follow_up = context.current_task is not None
        if not follow_up:
            task = new_task_from_user_message(message)
            task.id, task.context_id = context.task_id, context.context_id
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)

        def said(text):
            return updater.new_agent_message([new_text_part(text)])

        await updater.start_work()
        if message.message_id.startswith('acc-echo'):
            await updater.add_artifact(list(message.parts), name='echo')
            await updater.complete(said('echoed'))
        elif follow_up:
            await updater.add_artifact([new_text_part(context.get_user_input())], name='answer')
            await updater.complete(said('thank you'))
        elif word == 'stream':
            await self.stream(updater, int(rest))
            await updater.complete(said('streamed'))
        elif word == 'ask':
            await updater.requires_input(said('what is your name?'))
        elif word == 'slow':
            for _ in range(int(float(rest) / TICK)):
                await asyncio.sleep(TICK)
            await updater.add_artifact([new_text_part('done')], name='slow')
            await updater.complete(said('done'))
        elif word == 'fail':
            await updater.failed(said('failed as asked'))
        elif word == 'panic':
            raise RuntimeError('the executor crashed as asked')
        elif word == 'extensions':
            named = ','.join(sorted(context.requested_extensions))
            await updater.complete(said(f'extensions: {named}'))
        else:
            await updater.add_artifact([new_text_part(rest)], name='echo')
            await updater.complete(said(f'echoed {rest}'))

    async def stream(self, updater, count):
        for index in range(count):
            await updater.add_artifact(
                [new_text_part(f'chunk {index} ')],
                artifact_id='stream',
                append=index > 0,
                last_chunk=index + 1 == count,
            )
            await asyncio.sleep(TICK)

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel(updater.new_agent_message([new_text_part('canceled as asked')]))


def skill(name):
    return AgentSkill(id=name, name=name, description=f'The word {name}.', tags=['interop'])


def card(http, rpc):
    """The card of this agent, served at `http` and, over gRPC, at `rpc`."""
    return AgentCard(
        name='Interop agent (Python SDK)',
        description='Answers by the first word of a message.',
        version='1.0.0',
        supported_interfaces=[
            AgentInterface(url=f'{http}/', protocol_binding='JSONRPC', protocol_version='1.0'),
            AgentInterface(url=http, protocol_binding='HTTP+JSON', protocol_version='1.0'),
            AgentInterface(url=rpc, protocol_binding='GRPC', protocol_version='1.0'),
        ],
        capabilities=AgentCapabilities(
            streaming=True,
            push_notifications=True,
            extended_agent_card=True,
            extensions=[AgentExtension(uri=EXTENSION, description='Named back to the client.')],
        ),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[skill('echo')],
    )


class Echo(AgentExecutor):
    """The smallest agent."""

    async def execute(self, context, event_queue):
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updates = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updates.start_work()
        await updates.add_artifact([new_text_part(context.get_user_input())])
        await updates.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    http = f'http://127.0.0.1:{listener.getsockname()[1]}'
    grpc_server = grpc.aio.server()
    rpc = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"

    public = card(http, rpc)
    extended = AgentCard()
    extended.CopyFrom(public)
    extended.skills.append(skill('secret'))
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        handler = DefaultRequestHandlerV2(
            agent_executor=Echo() if '--echo' in sys.argv else Agent(),
            task_store=InMemoryTaskStore(),
            agent_card=public,
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
            extended_agent_card=extended,
        )
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
        await grpc_server.start()
        app = Starlette(
            routes=[
                *create_agent_card_routes(public),
                *create_jsonrpc_routes(handler, '/'),
                *create_rest_routes(handler),
            ]
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level='warning'))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        print(json.dumps({'card': http, 'http': http, 'grpc': rpc}), flush=True)
        await serving


def leave_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == '__main__':
    threading.Thread(target=leave_with_parent, daemon=True).start()
    asyncio.run(main())
