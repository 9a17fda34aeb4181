"""AG2 as a client: an agent whose model is `A2AConfig`, against the demo agent of `a2a serve`."""

import asyncio
import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / 'python'))
from driver import check, expect, run_checks
from webhook import Webhook

from a2a.types import TaskState
from a2a.utils.errors import TaskNotFoundError
from ag2 import Agent
from ag2.a2a import A2AConfig
from ag2.a2a.errors import A2ATaskFailedError
from ag2.a2a.events import A2ATaskArtifactUpdate, A2ATaskSnapshot
from ag2.a2a.push import A2APushConfig, create_push_notification_config
from ag2.a2a.tasks import cancel_task, get_task
from ag2.events import (
    BinaryInput,
    DataInput,
    ModelMessage,
    ModelMessageChunk,
    ModelResponse,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResultsEvent,
)
from ag2.stream import MemoryStream
from google.protobuf import json_format


def remote_agent(url, prefer='jsonrpc', **options):
    return Agent('remote', config=A2AConfig(url, prefer=prefer), **options)


def watched(kind):
    """A stream for one conversation, and the list that its events of `kind` go to."""
    stream, seen = MemoryStream(), asyncio.Queue()

    @stream.where(kind).subscribe
    async def remember(event):
        seen.put_nowait(event)

    return stream, seen


def drained(queue):
    return [queue.get_nowait() for _ in range(queue.qsize())]


async def started(url, text):
    """A task that runs, by its id, and what will be its reply."""
    stream, snapshots = watched(A2ATaskSnapshot)
    asking = asyncio.create_task(remote_agent(url).ask(text, stream=stream))
    return (await snapshots.get()).task.id, asking


class FakeModel:
    """Calls the tool of the remote agent and says what it answered."""

    provider = 'fake'
    model = 'fake'

    def copy(self):
        return self

    def create(self):
        return self

    async def __call__(self, messages, context, **_):
        if isinstance(messages[-1], ToolResultsEvent):
            said = messages[-1].results[0].result.parts[0].content
            return ModelResponse(ModelMessage(f'the tool said: {said}'))
        call = ToolCallEvent('task_remote', arguments='{"objective": "echo tool"}')
        return ModelResponse(tool_calls=ToolCallsEvent([call]))


@check
async def card(url):
    """AG2 shows of the card the agent's name, as the name of the model."""
    reply = await remote_agent(url).ask('echo hello')
    expect(reply.response.model == 'Demo agent', f'model: {reply.response.model}')


@check
async def send(url):
    """Over each binding, by polling, and as the tool of an agent with a model."""
    for binding in ('jsonrpc', 'rest', 'grpc'):
        reply = await remote_agent(url, binding).ask('echo hello')
        expect(reply.body == 'hello', f'{binding}: {reply.body!r}')
    reply = await Agent('polling', config=A2AConfig(url, streaming=False)).ask('echo hello')
    expect(reply.body == 'hello', f'by polling: {reply.body!r}')
    tool = remote_agent(url).as_tool(description='Asks the remote agent.')
    reply = await Agent('caller', config=FakeModel(), tools=[tool]).ask('use the tool')
    expect(reply.body == 'the tool said: tool', f'tool: {reply.body!r}')


@check
async def stream(url):
    events, chunks = watched(ModelMessageChunk)
    reply = await remote_agent(url).ask('stream 3', stream=events)
    texts = [one.content for one in drained(chunks)]
    expect(texts == [f'chunk {one} of 3' for one in (1, 2, 3)], f'chunks: {texts}')
    expect(reply.body == ''.join(texts), f'text: {reply.body!r}')


@check
async def multi_turn(url):
    """AG2 answers the question with its hook for humans, within one reply."""
    questions = []

    def human(event):
        questions.append(event.content)
        return 'Ada'

    reply = await remote_agent(url, hitl_hook=human).ask('ask')
    expect(questions == ['What is your name?'], f'questions: {questions}')
    expect('Ada' in reply.body, f'text: {reply.body!r}')
    reply = await reply.ask('echo again')
    expect(reply.body == 'again', f'next message of the conversation: {reply.body!r}')


@check
async def cancel(url):
    task_id, asking = await started(url, 'slow 30')
    task = await cancel_task(A2AConfig(url), task_id)
    expect(task.status.state == TaskState.TASK_STATE_CANCELED, f'task: {task}')
    await asking


@check
async def files(url):
    """Files in answers reach the observers of the stream; a reply has text alone."""
    content = bytes(range(256))
    events, artifacts = watched(A2ATaskArtifactUpdate)
    file = BinaryInput(content, media_type='application/octet-stream')
    await remote_agent(url).ask('look', file, stream=events)
    parts = [part for one in drained(artifacts) for part in one.update.artifact.parts]
    got = [(part.media_type, part.raw) for part in parts if part.HasField('raw')]
    expect(got == [('application/octet-stream', content)], f'files: {got}')


@check
async def data(url):
    value = {'city': 'Oslo', 'days': ['Mon', 'Tue']}
    events, artifacts = watched(A2ATaskArtifactUpdate)
    await remote_agent(url).ask('look', DataInput(value), stream=events)
    parts = [part for one in drained(artifacts) for part in one.update.artifact.parts]
    got = [json_format.MessageToDict(part.data) for part in parts if part.HasField('data')]
    expect(got == [value], f'data: {json.dumps(got)}')


@check
async def failed(url):
    try:
        reply = await remote_agent(url).ask('fail')
    except A2ATaskFailedError as failure:
        text = ''.join(part.text for part in failure.task.status.message.parts)
        expect(text == 'Failed, as you asked', f'text: {text!r}')
        return str(failure)
    raise AssertionError(f'a failed task is an error, not {reply.body!r}')


@check
async def push(url):
    async with Webhook() as webhook:
        task_id, asking = await started(url, 'slow 2')
        config = A2APushConfig(url=webhook.url, token='secret')
        created = await create_push_notification_config(A2AConfig(url), task_id, config)
        expect(created.id and created.url == webhook.url, f'config: {created}')
        headers, _ = await webhook.until(lambda _, body: 'TASK_STATE_COMPLETED' in str(body))
        expect(headers.get('x-a2a-notification-token') == 'secret', f'headers: {headers}')
        reply = await asking
        expect('Worked for 2 seconds' in reply.body, f'text: {reply.body!r}')


@check
async def error(url):
    try:
        await get_task(A2AConfig(url), 'unknown')
    except TaskNotFoundError as refused:
        return str(refused)
    raise AssertionError('reading an unknown task is an error')


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    run_checks()
