"""The A2A client of CrewAI against our demo agent.

`send` delegates from an Agent with a fake model; the others call the delegation directly.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

os.environ.update(
    CREWAI_DISABLE_TELEMETRY='true', OTEL_SDK_DISABLED='true', CREWAI_TRACING_ENABLED='false'
)

from a2a.types import Task as A2ATask
from a2a.types import TaskState
from crewai import Agent, BaseLLM, Task
from crewai.a2a import A2AClientConfig
from crewai.a2a.updates import PushNotificationConfig
from crewai.a2a.utils.agent_card import afetch_agent_card
from crewai.a2a.utils.delegation import aexecute_a2a_delegation
from crewai.events import crewai_event_bus
from crewai.events.types.a2a_events import A2AArtifactReceivedEvent
from crewai_files import File, FileBytes

sys.path.append(str(Path(__file__).parents[1]))
from driver import (
    CHUNKS,
    FAILURE,
    QUESTION,
    Webhook,
    check,
    contains,
    expect,
    lacks,
    run_checks,
    same,
)

lacks('cancel', 'a delegation cannot be canceled')
lacks('data', 'a result is the text of the answer; data parts are dropped')


async def delegate(url, text, **fields):
    return await aexecute_a2a_delegation(
        endpoint=url,
        auth=None,
        timeout=15,
        task_description=text,
        accepted_output_modes=['text/plain', 'image/png', 'application/json'],
        **fields,
    )


class Model(BaseLLM):
    """Delegates `echo hello` to the agent with the id `agent_id`."""

    agent_id: str

    def call(self, messages, *_, **__):
        return json.dumps({'is_a2a': True, 'a2a_ids': [self.agent_id], 'message': 'echo hello'})


@check
async def card(url):
    card = await afetch_agent_card(url, auth=None, timeout=15)
    same(card.name, 'Demo agent', 'name')
    expect(card.capabilities.streaming, 'streaming is declared')


@check
async def send(url):
    def run():
        remote = A2AClientConfig(
            endpoint=url,
            accepted_output_modes=['text/plain'],
            trust_remote_completion_status=True,
            timeout=15,
        )
        model = Model(model='fake', agent_id=remote.endpoint)
        agent = Agent(role='caller', goal='call', backstory='a program', llm=model, a2a=remote)
        return agent.execute_task(
            Task(description='Say hello', expected_output='a word', agent=agent)
        )

    same(await asyncio.to_thread(run), 'hello', 'result of the agent')


@check
async def stream(url):
    updates = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(A2AArtifactReceivedEvent)
        def artifact(_, event):
            updates.append(event)

        result = await delegate(url, 'stream 3')
        await asyncio.sleep(0.2)
    expect(len(updates) >= 2, f'{len(updates)} updates')
    same(result['result'], ' '.join(CHUNKS), 'result')


@check
async def multi_turn(url):
    asked = await delegate(url, 'ask')
    same((asked['status'], asked['error']), (TaskState.input_required, QUESTION), 'question')
    last = asked['history'][-1]
    answered = await delegate(url, 'Ada', task_id=last.task_id, context_id=last.context_id)
    same(answered['status'], TaskState.completed, 'status')
    contains(answered['result'], 'Ada', 'result')


@check
async def files(url):
    """CrewAI keeps no files of answers; the history of the agent tells that the file has arrived."""
    file = File(source=FileBytes(data=b'%PDF-1.4 interop', filename='a.pdf'))
    result = await delegate(url, 'echo look', input_files={'a.pdf': file})
    same(result['result'], 'look', 'result')
    parts = [
        part.root for message in result['history'] if message.task_id for part in message.parts
    ]
    got = [(part.file.mime_type, part.file.bytes) for part in parts if part.kind == 'file']
    same(got, [('application/pdf', 'JVBERi0xLjQgaW50ZXJvcA==')], 'files in the history of the task')


@check
async def failed(url):
    result = await delegate(url, 'fail')
    same((result['status'], result['error']), (TaskState.failed, FAILURE), 'result')


class Store:
    """Waits for the end of a task at a webhook."""

    def __init__(self, webhook):
        self.webhook = webhook

    async def wait_for_result(self, task_id, timeout, poll_interval=1.0):
        def ended(_, body):
            return body['id'] == task_id and body['status']['state'] == 'completed'

        _, body = await self.webhook.until(ended, timeout)
        return A2ATask.model_validate(body)


@check
async def push(url):
    async with Webhook() as webhook:
        updates = PushNotificationConfig(
            url=webhook.url, token='token', result_store=Store(webhook), timeout=15
        )
        result = await delegate(url, 'slow 1', updates=updates)
    same(result['status'], TaskState.completed, 'status')
    contains(result['result'], 'Worked for 1 seconds', 'result')


@check
async def error(url):
    result = await delegate(url, 'hello', task_id='00000000-0000-0000-0000-000000000000')
    same(result['status'], TaskState.failed, 'status')
    contains(result['error'], 'not found', 'error')


if __name__ == '__main__':
    run_checks()
