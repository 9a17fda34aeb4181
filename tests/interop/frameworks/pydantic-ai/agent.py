"""An agent of Pydantic AI, served by fasta2a over JSON-RPC; its model is a function."""

import sys
from pathlib import Path

import uvicorn
from fasta2a.pydantic_ai import agent_to_a2a
from pydantic_ai import Agent, BinaryContent, ModelRequest
from pydantic_ai.models.function import FunctionModel

sys.path.append(str(Path(__file__).parents[1]))
import driver

CANNOT = {
    'ask': 'the worker knows no INPUT_REQUIRED, and every message starts another task',
    'cancel': 'AgentWorker.cancel_task is empty and runs after the task: the answer is COMPLETED',
    'data': 'the worker fails tasks with data parts: "Data parts are not supported yet."',
    'push': 'the card says no; every method of push notifications answers -32003',
}


async def model(messages, _):
    """Answers to the prompts of the whole conversation, with the files of the last one."""
    turns, files = [], []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        texts, files = [], []
        for part in message.parts:
            for content in [part.content] if isinstance(part.content, str) else part.content:
                if isinstance(content, BinaryContent):
                    files.append((content.media_type, content.data))
                else:
                    texts.append(content)
        turns.append(' '.join(texts))
    async for chunk in driver.answer(turns, files):
        yield chunk


if __name__ == '__main__':
    port = driver.free_port()
    url = f'http://127.0.0.1:{port}'
    agent = Agent(FunctionModel(stream_function=model), name='pydantic-ai')
    driver.announce(url, ['JSONRPC'], '1.0', CANNOT)
    uvicorn.run(agent_to_a2a(agent, url=url), host='127.0.0.1', port=port, log_level='warning')
