"""An agent of Strands with a fake model, served by its `A2AServer`; driver.py has its words."""

import asyncio
import json
import logging
import mimetypes
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from driver import QUESTION, answer, asks, listen, serve

import httpx
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore
from strands import Agent, ToolContext, tool
from strands.models import Model
from strands.multiagent.a2a import A2AServer

CAN = [
    'card', 'send', 'stream', 'multi-turn', 'cancel',
    'get', 'subscribe', 'files', 'data', 'failed', 'push',
]  # fmt: skip
CANNOT = {
    'ask': 'INPUT_REQUIRED takes no text: the answer has to be the data part {"interruptResponse": '
    '{"interruptId": ..., "response": ...}} with the id from the question; text gets -32602'
}
DATA = '[Structured Data]\n'


def attachments(blocks):
    """The files and the data of a message; of media types, Strands keeps the extension."""
    files, data = [], []
    for block in blocks:
        file = block.get('image') or block.get('document') or block.get('video')
        if file:
            media_type, _ = mimetypes.guess_type(f'file.{file["format"]}')
            files.append((media_type, file['source']['bytes']))
        elif block.get('text', '').startswith(DATA):
            data.append(json.loads(block['text'].removeprefix(DATA)))
    return files, data


class FakeModel(Model):
    def get_config(self):
        return {}

    def update_config(self, **_):
        pass

    def structured_output(self, *_, **__):
        raise NotImplementedError

    async def stream(self, messages, *_, **__):
        last = messages[-1]['content']
        said = [one['content'] for one in messages if one['role'] == 'user']
        turns = [''.join(block.get('text', '') for block in one) for one in said]
        if 'toolResult' in last[0]:
            turns[-1] = last[0]['toolResult']['content'][0]['text']
        yield {'messageStart': {'role': 'assistant'}}
        if asks(turns):
            call = {'name': 'ask_user', 'toolUseId': '1'}
            yield {'contentBlockStart': {'start': {'toolUse': call}}}
            yield {'contentBlockDelta': {'delta': {'toolUse': {'input': '{}'}}}}
        else:
            yield {'contentBlockStart': {'start': {}}}
            async for chunk in answer(turns, *attachments(last)):
                yield {'contentBlockDelta': {'delta': {'text': chunk}}}
        yield {'contentBlockStop': {}}
        yield {'messageStop': {'stopReason': 'tool_use' if asks(turns) else 'end_turn'}}


@tool(context=True)
def ask_user(tool_context: ToolContext) -> str:
    """Asks the user for a name."""
    return tool_context.interrupt('name', reason=QUESTION)


def agent_for(context_id):
    return Agent(
        name='interop',
        description='Answers by the first word of a message.',
        model=FakeModel(),
        tools=[ask_user],
        callback_handler=None,
    )


async def main():
    listener, port = listen()
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        server = A2AServer(
            agent_factory=agent_for,
            port=port,
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
            enable_a2a_compliant_streaming=True,
        )
        server.capabilities.push_notifications = True
        ready = {
            'card': f'http://127.0.0.1:{port}',
            'bindings': ['JSONRPC'],
            'version': '0.3',
            'can': CAN,
            'cannot': CANNOT,
        }
        await serve(server.to_starlette_app(), listener, ready)


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    asyncio.run(main())
