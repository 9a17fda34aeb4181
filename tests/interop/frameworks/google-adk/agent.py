"""An agent of Google ADK with a fake model, served by `to_a2a`; driver.py has its words."""

import asyncio
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from driver import QUESTION, answer, asks, listen, serve

from google.adk.a2a.converters.part_converter import (
    A2A_DATA_PART_END_TAG,
    A2A_DATA_PART_START_TAG,
)
from google.adk.a2a.converters.request_converter import (
    convert_a2a_request_to_agent_run_request,
)
from google.adk.a2a.executor.a2a_agent_executor import A2aAgentExecutor, A2aAgentExecutorConfig
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import LongRunningFunctionTool
from google.genai import types

CAN = [
    'card', 'send', 'stream', 'multi-turn', 'ask', 'cancel',
    'get', 'subscribe', 'files', 'data', 'failed',
]  # fmt: skip
CANNOT = {
    'push': 'the card of to_a2a declares no push notifications, and its handler has no sender'
}


def response(part, partial=False):
    content = types.Content(role='model', parts=[part])
    return LlmResponse(content=content, partial=partial)


def attachments(content):
    """The files and the data of one message; ADK wraps data parts in tags, as plain text."""
    files, data = [], []
    for part in content.parts:
        if part.inline_data is None:
            continue
        raw = part.inline_data.data
        if raw.startswith(A2A_DATA_PART_START_TAG):
            raw = raw[len(A2A_DATA_PART_START_TAG) : -len(A2A_DATA_PART_END_TAG)]
            data.append(json.loads(raw))
        else:
            files.append((part.inline_data.mime_type, raw))
    return files, data


class FakeModel(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        said = [one for one in llm_request.contents if one.role == 'user']
        turns = [''.join(part.text or '' for part in one.parts) for one in said]
        if asks(turns):
            call = types.FunctionCall(name='ask_user', args={'question': QUESTION})
            yield response(types.Part(function_call=call))
            return
        whole = ''
        async for chunk in answer(turns, *attachments(said[-1])):
            whole += chunk
            if stream:
                yield response(types.Part(text=chunk), partial=True)
        yield response(types.Part(text=whole))


def ask_user(question: str) -> None:
    """Asks the user; the answer is the next message."""


def streaming(request, part_converter):
    """The executor's own converter leaves the model's streaming mode off."""
    run = convert_a2a_request_to_agent_run_request(request, part_converter)
    run.run_config.streaming_mode = StreamingMode.SSE
    return run


async def main():
    listener, port = listen()
    agent = LlmAgent(
        name='interop',
        description='Answers by the first word of a message.',
        model=FakeModel(model='fake'),
        tools=[LongRunningFunctionTool(ask_user)],
    )
    config = A2aAgentExecutorConfig(request_converter=streaming)
    app = to_a2a(
        agent,
        host='127.0.0.1',
        port=port,
        agent_executor_factory=lambda runner: A2aAgentExecutor(runner=runner, config=config),
    )
    ready = {
        'card': f'http://127.0.0.1:{port}',
        'bindings': ['JSONRPC'],
        'version': '1.0',
        'can': CAN,
        'cannot': CANNOT,
    }
    await serve(app, listener, ready)


if __name__ == '__main__':
    logging.disable(logging.WARNING)
    asyncio.run(main())
