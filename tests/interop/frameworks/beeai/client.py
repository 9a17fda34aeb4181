"""A2AAgent of the BeeAI framework against our demo agent.

`send` has it as a tool of a RequirementAgent with a fake model; the others call it directly.
"""

import base64
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
# Before the framework, whose logger keeps the standard output it finds.
from driver import (
    CHUNKS,
    DATA,
    FAILURE,
    PNG_START,
    QUESTION,
    check,
    contains,
    expect,
    lacks,
    run_checks,
    same,
)

from a2a import types as a2a
from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.agents import AgentError
from beeai_framework.agents.requirement import RequirementAgent
from beeai_framework.backend import (
    AssistantMessage,
    ChatModel,
    ChatModelOutput,
    MessageToolCallContent,
)
from beeai_framework.memory import UnconstrainedMemory
from beeai_framework.tools.handoff import HandoffTool

lacks('cancel', 'A2AAgent has no cancel')
lacks('push', 'A2AAgent registers no webhooks')


def remote(url):
    return A2AAgent(url=url, memory=UnconstrainedMemory())


class Model(ChatModel):
    """Hands `echo hello` to the remote agent and responds with the result."""

    model_id = 'fake'
    provider_id = 'ollama'

    async def _create(self, input, run):
        last = input.messages[-1]
        if last.role == 'tool':
            name, args = 'final_answer', {'response': f'It said {last.content[0].result}'}
        else:
            name, args = 'remote', {'task': 'echo hello'}
        call = MessageToolCallContent(id=name, tool_name=name, args=json.dumps(args))
        return ChatModelOutput(output=[AssistantMessage([call])], finish_reason='tool_calls')

    async def _create_stream(self, input, run):
        yield await self._create(input, run)

    async def clone(self):
        return self


@check
async def card(url):
    agent = remote(url)
    await agent.check_agent_exists()
    same(agent.name, 'Demo agent', 'name')
    expect(agent.agent_card.capabilities.streaming, 'streaming is declared')


@check
async def send(url):
    tool = HandoffTool(remote(url), name='remote', description='A remote agent')
    agent = RequirementAgent(llm=Model(), tools=[tool], memory=UnconstrainedMemory())
    output = await agent.run('Say hello')
    same(output.last_message.text, 'It said hello', 'answer of the agent')


@check
async def stream(url):
    chunks = []

    def keep(data, _):
        _, update = data.value
        if isinstance(update, a2a.TaskArtifactUpdateEvent):
            chunks.extend(part.root.text for part in update.artifact.parts)

    output = await remote(url).run('stream 3').observe(lambda emitter: emitter.on('update', keep))
    same(chunks, CHUNKS, 'chunks')
    same(output.last_message.text, ''.join(CHUNKS), 'answer')


@check
async def multi_turn(url):
    agent = remote(url)
    same((await agent.run('ask')).last_message.text, QUESTION, 'question')
    contains((await agent.run('Ada')).last_message.text, 'Ada', 'answer')


@check
async def files(url):
    message = (await remote(url).run('file')).last_message
    file = message.content[0].model_dump()['file']
    same((file['format'], file['filename']), ('image/png', 'pixels.png'), 'file')
    expect(
        base64.b64decode(file['file_data']).startswith(PNG_START),
        'the bytes are not those of the image',
    )


@check
async def data(url):
    same(json.loads((await remote(url).run('data')).last_message.text), DATA, 'data')


@check
async def failed(url):
    output = await remote(url).run('fail')
    same(output.last_message.text, FAILURE, 'answer')
    task, _ = output.event
    same(task.status.state, a2a.TaskState.failed, 'state')


@check
async def error(url):
    try:
        output = await remote(url).run('hello', task_id='00000000-0000-0000-0000-000000000000')
    except AgentError as error:
        contains(error.message, 'not found', 'error')
    else:
        raise AssertionError(f'no error: {output}')


if __name__ == '__main__':
    run_checks()
