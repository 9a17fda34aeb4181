"""An echo agent on the official Python SDK, over JSON-RPC, HTTP+JSON and gRPC.

Prints one line of JSON with its addresses, and serves until it is killed.
"""

import asyncio
import json
import logging
import socket
from importlib.metadata import version

import grpc
import uvicorn
import uvloop
from starlette.applications import Starlette

from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    Message,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server

JSONRPC = '/jsonrpc'
REST = '/rest'


def count(text, prefix):
    """The number after the prefix, if there is one."""
    number = text.removeprefix(prefix)
    return int(number) if number != text and number.isdecimal() else None


def text_part(text):
    return [Part(text=text)]


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        ids = {'task_id': context.task_id, 'context_id': context.context_id}
        text = context.get_user_input()

        async def start(state, history):
            """The SDK wants the task before all updates of it."""
            status = TaskStatus(state=state)
            status.timestamp.GetCurrentTime()
            task = Task(
                id=context.task_id,
                context_id=context.context_id,
                status=status,
                history=history,
            )
            await event_queue.enqueue_event(task)

        if (messages := count(text, 'history:')) is not None:
            history = [
                Message(
                    message_id=f'message-{number}',
                    role=Role.ROLE_USER,
                    parts=text_part(f'message {number:04} of the history'),
                    **ids,
                )
                for number in range(messages)
            ]
            await start(TaskState.TASK_STATE_COMPLETED, history)
            return

        await start(TaskState.TASK_STATE_WORKING, [context.message])
        if text == 'hold':
            # The SDK ends this when the task is cancelled.
            await asyncio.Event().wait()
        updater = TaskUpdater(event_queue, **ids)
        if (chunks := count(text, 'stream:')) is not None:
            for number in range(chunks):
                await updater.add_artifact(
                    text_part(f'chunk {number:04} of the streamed answer'),
                    artifact_id='echo',
                    append=number > 0,
                    last_chunk=number + 1 == chunks,
                )
        else:
            await updater.add_artifact(
                text_part(f'Echo: {text}'), artifact_id='echo', last_chunk=True
            )
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


class Server(uvicorn.Server):
    """Announces the addresses once both servers accept connections."""

    def __init__(self, config, addresses):
        super().__init__(config)
        self.addresses = addresses

    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(json.dumps(self.addresses, separators=(',', ':')), flush=True)


async def main():
    logging.disable()
    card = AgentCard(
        name='echo',
        description='Echoes text.',
        version='1',
        capabilities=AgentCapabilities(streaming=True),
    )
    handler = DefaultRequestHandler(Agent(), InMemoryTaskStore(), card)
    routes = [
        *create_jsonrpc_routes(handler, JSONRPC),
        *create_rest_routes(handler, path_prefix=REST),
    ]
    # uvloop and gRPC turn TCP_NODELAY on.
    grpc_server = grpc.aio.server()
    add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    grpc_port = grpc_server.add_insecure_port('127.0.0.1:0')
    await grpc_server.start()

    listener = socket.create_server(('127.0.0.1', 0))
    addresses = {
        'http': f'127.0.0.1:{listener.getsockname()[1]}',
        'grpc': f'127.0.0.1:{grpc_port}',
        'jsonrpc': JSONRPC,
        'rest': REST,
        'name': 'python',
        'version': version('a2a-sdk'),
    }
    config = uvicorn.Config(
        Starlette(routes=routes), http='httptools', access_log=False, log_config=None
    )
    await Server(config, addresses).serve([listener])


uvloop.run(main())
