"""An agent of AG2 with a fake model, served by `A2AServer`; driver.py has its words."""

import asyncio
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from driver import QUESTION, answer, asks, listen, serve

import httpx
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore
from ag2 import Agent
from ag2.a2a import A2AServer, build_card
from ag2.events import (
    BinaryInput,
    DataInput,
    ModelMessage,
    ModelMessageChunk,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolCallEvent,
    ToolCallsEvent,
)
from ag2.tools.final.client_tool import ClientTool
from starlette.applications import Starlette

CAN = [
    'card', 'send', 'stream', 'ask', 'cancel',
    'get', 'subscribe', 'files', 'data', 'failed', 'push',
]  # fmt: skip
CANNOT = {
    'multi-turn': 'the executor keeps no conversation: it reads history from an '
    'application/vnd.ag2.history+json part of the message, and the context id selects nothing'
}
ASK_USER = {
    'type': 'function',
    'function': {
        'name': 'ask_user',
        'description': 'Asks the user.',
        'parameters': {'type': 'object', 'properties': {'question': {'type': 'string'}}},
    },
}


class FakeModel:
    """Both the configuration and the client of a model."""

    provider = 'fake'
    model = 'fake'

    def copy(self):
        return self

    def create(self):
        return self

    async def __call__(self, messages, context, **_):
        requests = [one for one in messages if isinstance(one, ModelRequest)]
        inputs = requests[-1].parts
        turns = [
            ''.join(part.content for part in one.parts if isinstance(part, TextInput))
            for one in requests
        ]
        if asks(turns):
            # A tool that runs at the client: the task waits for its result, or for a message.
            call = ToolCallEvent('ask_user', arguments=f'{{"question": "{QUESTION}"}}')
            return ModelResponse(tool_calls=ToolCallsEvent([call]))
        files = [(str(one.media_type), one.data) for one in inputs if isinstance(one, BinaryInput)]
        data = [one.data for one in inputs if isinstance(one, DataInput)]
        whole = ''
        async for chunk in answer(turns, files, data):
            whole += chunk
            await context.send(ModelMessageChunk(chunk))
        return ModelResponse(ModelMessage(whole))


async def main():
    listener, port = listen()
    grpc_listener, grpc_port = listen()
    grpc_listener.close()  # AG2 binds by address alone.
    url, grpc_url = f'http://127.0.0.1:{port}', f'127.0.0.1:{grpc_port}'
    agent = Agent(
        'interop',
        'Answers by the first word of a message.',
        config=FakeModel(),
        tools=[ClientTool(ASK_USER)],
    )
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        server = A2AServer(
            agent,
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
        )
        card = build_card(
            agent,
            url=url,
            transports=('jsonrpc', 'rest', 'grpc'),
            grpc_url=grpc_url,
            push_notifications=True,
        )
        rpc_server = server.build_grpc(bind=grpc_url, grpc_url=grpc_url, card=card)
        await rpc_server.start()
        rpc, rest = server.build_jsonrpc(url=url, card=card), server.build_rest(url=url, card=card)
        ready = {
            'card': url,
            'bindings': ['JSONRPC', 'HTTP+JSON', 'GRPC'],
            'version': '1.0',
            'can': CAN,
            'cannot': CANNOT,
        }
        await serve(Starlette(routes=[*rpc.routes, *rest.routes]), listener, ready)
        await rpc_server.stop(None)


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    asyncio.run(main())
