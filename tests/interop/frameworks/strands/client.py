"""Strands as a client: `A2AAgent` against the demo agent of `a2a serve`, at revision 0.3."""

import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / 'python'))
from driver import Lacking, check, expect, run_checks
from webhook import Webhook

import httpx
from a2a.client import ClientConfig
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import PushNotificationConfig, TaskArtifactUpdateEvent
from strands import Agent
from strands.agent.a2a_agent import A2AAgent
from strands.models import Model
from strands.vended_tools.a2a_client import make_a2a_client


def text_of(result):
    return ''.join(block.get('text', '') for block in result.message['content'])


async def parts_and_result(url, prompt):
    """The parts of the artifact updates that the framework hands on, and its result."""
    parts = []
    async for event in A2AAgent(url).stream_async(prompt):
        match event.get('event'):
            case (_, TaskArtifactUpdateEvent(artifact=artifact)):
                # Taken as they come: the SDK adds later chunks to the first update's artifact.
                parts += [part.root for part in artifact.parts]
    return parts, event['result']


class FakeModel(Model):
    """Calls the tool for A2A agents and says what it answered."""

    def __init__(self, url):
        self.call = {'operation': 'send_message', 'endpoint': url, 'message': 'echo tool'}

    def get_config(self):
        return {}

    def update_config(self, **_):
        pass

    def structured_output(self, *_, **__):
        raise NotImplementedError

    async def stream(self, messages, *_, **__):
        results = [one['toolResult'] for one in messages[-1]['content'] if 'toolResult' in one]
        yield {'messageStart': {'role': 'assistant'}}
        if results:
            yield {'contentBlockStart': {'start': {}}}
            yield {'contentBlockDelta': {'delta': {'text': f'the tool said: {results[0]}'}}}
        else:
            call = {'name': 'a2a_client', 'toolUseId': '1'}
            yield {'contentBlockStart': {'start': {'toolUse': call}}}
            yield {'contentBlockDelta': {'delta': {'toolUse': {'input': json.dumps(self.call)}}}}
        yield {'contentBlockStop': {}}
        yield {'messageStop': {'stopReason': 'end_turn' if results else 'tool_use'}}


@check
async def card(url):
    remote = A2AAgent(url)
    found = await remote.get_agent_card()
    expect(remote.name == 'Demo agent', f'name: {remote.name}')
    expect('one word at a time' in remote.description, f'description: {remote.description}')
    expect(found.protocol_version.startswith('0.3'), f'version: {found.protocol_version}')


@check
async def send(url):
    """Directly, and by the framework's tool of an agent with a model."""
    result = await A2AAgent(url).invoke_async('echo hello')
    expect(text_of(result) == 'hello', f'text: {text_of(result)!r}')
    expect(result.state == {'a2a_task_state': 'completed'}, f'state: {result.state}')
    tool = make_a2a_client(allowed_endpoints=[url])
    caller = Agent(model=FakeModel(url), tools=[tool], callback_handler=None)
    said = text_of(await caller.invoke_async('use the tool'))
    expect("'status': 'success'" in said and '"text": "tool"' in said, f'text: {said!r}')


@check
async def stream(url):
    parts, result = await parts_and_result(url, 'stream 3')
    chunks = [f'chunk {one} of 3' for one in (1, 2, 3)]
    expect([one.text for one in parts] == chunks, f'parts: {parts}')
    expect(text_of(result) == ''.join(chunks), f'text: {text_of(result)!r}')


@check
async def multi_turn(url):
    """The question arrives; the agent then sends each message without context and task."""
    remote = A2AAgent(url)
    question = await remote.invoke_async('ask')
    expect(question.stop_reason == 'interrupt', f'stop reason: {question.stop_reason}')
    expect(text_of(question) == 'What is your name?', f'text: {text_of(question)!r}')
    raise Lacking('A2AAgent tells of the question, but names no task or context in any message')


@check
async def cancel(url):
    raise Lacking('A2AAgent has no operation for it')


@check
async def files(url):
    """Files in answers reach the observers of the stream; one in a prompt should arrive, too."""
    parts, _ = await parts_and_result(url, 'file')
    got = [part.file for part in parts if part.kind == 'file']
    expect(got and got[0].mime_type == 'image/png' and got[0].bytes, f'files: {got}')
    image = {'image': {'format': 'png', 'source': {'bytes': b'\x89PNG'}}}
    parts, _ = await parts_and_result(url, [{'text': 'look'}, image])
    got = [part for part in parts if part.kind == 'file']
    expect(len(got) == 1, 'the image of the prompt was not sent')


@check
async def data(url):
    """Strands has no such content of prompts; it hands on what it receives."""
    parts, _ = await parts_and_result(url, 'data')
    got = [part.data for part in parts if part.kind == 'data']
    expect(len(got) == 1 and got[0]['city'] == 'Oslo' and got[0]['degrees'] == -3, f'data: {got}')
    return 'received only'


@check
async def failed(url):
    result = await A2AAgent(url).invoke_async('fail')
    expect(result.state == {'a2a_task_state': 'failed'}, f'state: {result.state}')
    expect(text_of(result) == 'Failed, as you asked', f'text: {text_of(result)!r}')


@check
async def push(url):
    async with Webhook() as webhook, httpx.AsyncClient() as http:
        config = ClientConfig(
            httpx_client=http,
            push_notification_configs=[PushNotificationConfig(url=webhook.url, token='secret')],
        )
        result = await A2AAgent(url, client_config=config).invoke_async('slow 1')
        expect('Worked for 1 second' in text_of(result), f'text: {text_of(result)!r}')
        headers, _ = await webhook.until(lambda _, body: body['status']['state'] == 'completed')
        expect(headers.get('x-a2a-notification-token') == 'secret', f'headers: {headers}')


@check
async def error(url):
    """A message without parts, which is what remains of a prompt without text."""
    image = {'image': {'format': 'png', 'source': {'bytes': b'\x89PNG'}}}
    try:
        result = await A2AAgent(url).invoke_async([image])
    except A2AClientJSONRPCError as refused:
        expect(refused.error.code == -32602, f'error: {refused}')
        return str(refused)
    raise AssertionError(f'a message without parts is an error, not {result}')


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    run_checks()
