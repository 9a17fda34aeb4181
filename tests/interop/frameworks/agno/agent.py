"""An agent of Agno with a fake model, served by AgentOS with its A2A interface."""

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import driver  # Before the framework, whose logger keeps the standard output it finds.

import uvicorn
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS

CANNOT = {
    'ask': 'there is no INPUT_REQUIRED: a paused run is mapped to WORKING',
    'cancel': 'the card names the address of message/stream alone, and that takes no other method',
    'failed': 'the stream of a run that fails ends with COMPLETED and no text',
    'files': 'bytes of files reach the agent as the base64 text that they were sent in',
    'get': 'the card names the address of message/stream alone, and that takes no other method',
    'push': 'the card says no, and there are no such methods',
    'subscribe': 'there is no such method',
}


@dataclass
class FakeModel(Model):
    """Answers to the user's messages of the whole conversation, with the files of the last one."""

    id: str = 'fake'

    def chunks(self, messages):
        users = [message for message in messages if message.role == 'user']
        files = [(file.mime_type, file.content) for file in users[-1].files or []]
        return driver.answer([message.content for message in users], files)

    async def ainvoke(self, messages, *_, **__):
        text = ''.join([chunk async for chunk in self.chunks(messages)])
        return ModelResponse(role='assistant', content=text)

    async def ainvoke_stream(self, messages, *_, **__):
        async for chunk in self.chunks(messages):
            yield ModelResponse(role='assistant', content=chunk)

    def invoke(self, *_, **__):
        raise NotImplementedError

    invoke_stream = _parse_provider_response = _parse_provider_response_delta = invoke


if __name__ == '__main__':
    port = driver.free_port()
    agent = Agent(
        id='agno',
        name='agno',
        model=FakeModel(),
        db=InMemoryDb(),
        add_history_to_context=True,
        telemetry=False,
    )
    app = AgentOS(agents=[agent], a2a_interface=True, telemetry=False).get_app()
    card = f'http://127.0.0.1:{port}/a2a/agents/agno/.well-known/agent-card.json'
    driver.announce(card, ['JSONRPC'], '0.3', CANNOT)
    uvicorn.run(app, host='127.0.0.1', port=port, log_level='warning')
