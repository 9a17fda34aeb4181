"""An agent of the BeeAI framework with a fake model, served by its A2AServer.

The server has one binding at a time: `--protocol jsonrpc|http_json|grpc`.
"""

import argparse
import base64
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import driver  # Before the framework, whose logger keeps the standard output it finds.

from beeai_framework.adapters.a2a.serve.server import A2AServer, A2AServerConfig
from beeai_framework.agents.requirement import RequirementAgent
from beeai_framework.backend import (
    AssistantMessage,
    ChatModel,
    ChatModelOutput,
    MessageToolCallContent,
)
from beeai_framework.memory import UnconstrainedMemory

CANNOT = {
    'stream': 'only messages of tools are streamed; the answer is one status message at the end',
    'ask': 'the executor ends every task: an agent has no way to say INPUT_REQUIRED',
    'cancel': 'the executor sends no event, so the SDK answers -32002 "current state: working"',
    'push': 'the server has no store for push configurations: -32004',
}
BINDINGS = {'jsonrpc': 'JSONRPC', 'http_json': 'HTTP+JSON', 'grpc': 'GRPC'}


class Model(ChatModel):
    """Answers to the user's messages of the whole conversation, with the files of the last one."""

    model_id = 'fake'
    provider_id = 'ollama'

    async def _create(self, input, run):
        users = [message for message in input.messages if message.role == 'user']
        contents = [content.model_dump() for content in users[-1].content]
        attached = [content['file'] for content in contents if content.get('type') == 'file']
        files = [(file['format'], base64.b64decode(file['file_data'])) for file in attached]
        # The agent's prompt puts `Your task: ` before each message.
        text = await driver.whole_answer(
            [message.text.removeprefix('Your task: ') for message in users], files
        )
        # The agent takes its answer from this tool.
        call = MessageToolCallContent(
            id='1', tool_name='final_answer', args=json.dumps({'response': text})
        )
        return ChatModelOutput(output=[AssistantMessage([call])], finish_reason='stop')

    async def _create_stream(self, input, run):
        yield await self._create(input, run)

    async def clone(self):
        return self


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--protocol', choices=BINDINGS, default='jsonrpc')
    protocol = parser.parse_args().protocol
    port = driver.free_port()
    card_port = driver.free_port() if protocol == 'grpc' else port
    agent = RequirementAgent(name='beeai', llm=Model(), memory=UnconstrainedMemory())
    config = A2AServerConfig(
        host='127.0.0.1', port=port, protocol=protocol, agent_card_port=card_port
    )
    driver.announce(f'http://127.0.0.1:{card_port}', [BINDINGS[protocol]], '0.3', CANNOT)
    A2AServer(config=config).register(agent).serve()
