"""An agent of Microsoft Agent Framework with a fake model, served by its `A2AExecutor`.

The framework brings the executor; card, handler and routes are the SDK's, as in its
documentation. driver.py has the agent's words.
"""

import asyncio
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from driver import answer, listen, serve

import httpx
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    HistoryProvider,
    Message,
)
from agent_framework.a2a import A2AExecutor
from starlette.applications import Starlette

CAN = ['card', 'send', 'stream', 'multi-turn', 'cancel', 'get', 'subscribe', 'failed', 'push']
TEXT_ONLY = 'A2AExecutor gives the agent context.get_user_input(), the text parts alone'
CANNOT = {
    'ask': 'A2AExecutor completes the task after every run; user input requests are dropped',
    'files': TEXT_ONLY,
    'data': TEXT_ONLY,
}


class FakeModel(BaseChatClient):
    def _inner_get_response(self, *, messages, stream, options, **_):
        turns = [one.text for one in messages if one.role == 'user']

        async def updates():
            async for chunk in answer(turns):
                yield ChatResponseUpdate(role='assistant', contents=[Content.from_text(chunk)])

        async def whole():
            text = ''.join([chunk async for chunk in answer(turns)])
            return ChatResponse(messages=[Message(role='assistant', contents=[text])])

        return self._build_response_stream(updates()) if stream else whole()


class Histories(HistoryProvider):
    """Keeps conversations by context: A2AExecutor makes a new session for every message."""

    def __init__(self):
        super().__init__('histories')
        self.messages = {}

    async def get_messages(self, session_id, **_):
        return list(self.messages.get(session_id, []))

    async def save_messages(self, session_id, messages, **_):
        self.messages.setdefault(session_id, []).extend(messages)


async def main():
    listener, port = listen()
    url = f'http://127.0.0.1:{port}'
    card = AgentCard(
        name='interop',
        description='Answers by the first word of a message.',
        version='1.0.0',
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version='1.0')
            for binding in ('JSONRPC', 'HTTP+JSON')
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id='echo', name='echo', description='Echoes.', tags=['interop'])],
    )
    agent = Agent(FakeModel(), name='interop', context_providers=[Histories()])
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        handler = DefaultRequestHandler(
            agent_executor=A2AExecutor(agent, stream=True),
            task_store=InMemoryTaskStore(),
            agent_card=card,
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
        )
        app = Starlette(
            routes=[
                *create_agent_card_routes(card),
                *create_jsonrpc_routes(handler, '/'),
                *create_rest_routes(handler),
            ]
        )
        ready = {
            'card': url,
            'bindings': ['JSONRPC', 'HTTP+JSON'],
            'version': '1.0',
            'can': CAN,
            'cannot': CANNOT,
        }
        await serve(app, listener, ready)


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    asyncio.run(main())
