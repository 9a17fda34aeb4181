"""Google ADK as a client: `RemoteA2aAgent` against the demo agent of `a2a serve`.

The agent has to leave gRPC out of its card (`--grpc-in-card never`): ADK takes only cards in
which every interface is an http address of the card's origin.
"""

import json
import logging
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / 'python'))
from driver import Lacking, check, expect, run_checks
from webhook import Webhook

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import TaskPushNotificationConfig
from google.adk.a2a.agent.config import A2aRemoteAgentConfig, RequestInterceptor
from google.adk.a2a.converters.part_converter import (
    A2A_DATA_PART_END_TAG,
    A2A_DATA_PART_START_TAG,
)
from google.adk.agents import LlmAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types


def remote_agent(card, **options):
    address = f'{card}/.well-known/agent-card.json'
    return RemoteA2aAgent(name='remote', agent_card=address, **options)


class Conversation:
    """One session of a user with an agent."""

    def __init__(self, agent):
        self.runner = InMemoryRunner(agent=agent, app_name='interop')
        self.session = None

    async def say(self, *parts):
        """Sends texts or parts and returns the events that ADK gives its user."""
        if self.session is None:
            self.session = await self.runner.session_service.create_session(
                app_name='interop', user_id='user'
            )
        parts = [types.Part(text=one) if isinstance(one, str) else one for one in parts]
        return [
            event
            async for event in self.runner.run_async(
                user_id='user',
                session_id=self.session.id,
                new_message=types.Content(role='user', parts=parts),
            )
        ]


def parts_of(events):
    return [part for one in events if one.content for part in one.content.parts or []]


def texts(events):
    return [part.text for part in parts_of(events) if part.text and not part.thought]


def state(events):
    """The state of the task after the last event, which ADK keeps in its metadata."""
    expect(not events[-1].error_message, events[-1].error_message)
    return events[-1].custom_metadata['a2a:response']['status']['state']


class FakeModel(BaseLlm):
    """Calls the only tool with the user's text and says what it answered."""

    async def generate_content_async(self, llm_request, stream=False):
        part = llm_request.contents[-1].parts[-1]
        if part.function_response:
            part = types.Part(text=str(part.function_response.response))
        else:
            part = types.Part(
                function_call=types.FunctionCall(name='remote', args={'request': part.text})
            )
        yield LlmResponse(content=types.Content(role='model', parts=[part]))


@check
async def card(url):
    remote = remote_agent(url)
    await Conversation(remote).say('echo hello')
    expect('one word at a time' in remote.description, f'description: {remote.description!r}')


@check
async def send(url):
    """Directly, and as the tool of an agent with a model."""
    events = await Conversation(remote_agent(url)).say('echo hello')
    expect(texts(events) == ['hello'], f'texts: {texts(events)}')
    expect(state(events) == 'TASK_STATE_COMPLETED', state(events))
    tools = [AgentTool(remote_agent(url))]
    agent = LlmAgent(name='caller', model=FakeModel(model='fake'), tools=tools)
    said = texts(await Conversation(agent).say('echo tool'))
    expect('tool' in said[-1], f'texts: {said}')


@check
async def stream(url):
    events = await Conversation(remote_agent(url)).say('stream 3')
    chunks = [f'chunk {one} of 3' for one in (1, 2, 3)]
    expect(texts(events) == chunks, f'texts: {texts(events)}')
    expect(sum(bool(one.partial) for one in events) >= 2, 'the chunks are partial events')


@check
async def multi_turn(url):
    """The question is a call of a tool that ADK makes up; the next message answers it."""
    conversation = Conversation(remote_agent(url))
    question = await conversation.say('ask')
    expect(state(question) == 'TASK_STATE_INPUT_REQUIRED', state(question))
    calls = [part.function_call for part in parts_of(question) if part.function_call]
    expect('What is your name?' in str(calls), f'calls: {calls}')
    answer = await conversation.say('Ada')
    expect(state(answer) == 'TASK_STATE_COMPLETED', state(answer))
    expect('Ada' in ''.join(texts(answer)), f'texts: {texts(answer)}')
    task_ids = {one.custom_metadata['a2a:task_id'] for one in question + answer}
    expect(len(task_ids) == 1, f'tasks: {task_ids}')


@check
async def cancel(url):
    raise Lacking('RemoteA2aAgent has no operation for it; closing a run only closes its stream')


@check
async def files(url):
    content = bytes(range(256))
    blob = types.Blob(data=content, mime_type='application/octet-stream', display_name='a.bin')
    events = await Conversation(remote_agent(url)).say('look', types.Part(inline_data=blob))
    got = [part.inline_data for part in parts_of(events) if part.inline_data]
    expect([one.data for one in got] == [content], f'files: {got}')
    expect(got[0].mime_type == 'application/octet-stream', f'media type: {got[0].mime_type}')


@check
async def data(url):
    """ADK carries data parts as text between tags, both ways."""
    value = {'city': 'Oslo', 'days': [1, 2]}
    tagged = A2A_DATA_PART_START_TAG + json.dumps(value).encode() + A2A_DATA_PART_END_TAG
    blob = types.Blob(data=tagged, mime_type='text/plain')
    events = await Conversation(remote_agent(url)).say('look', types.Part(inline_data=blob))
    got = [part.inline_data.data for part in parts_of(events) if part.inline_data]
    expect(len(got) == 1 and got[0].startswith(A2A_DATA_PART_START_TAG), f'parts: {got}')
    back = json.loads(got[0][len(A2A_DATA_PART_START_TAG) : -len(A2A_DATA_PART_END_TAG)])
    expect(back == value, f'data: {back}')


@check
async def failed(url):
    events = await Conversation(remote_agent(url)).say('fail')
    expect(state(events) == 'TASK_STATE_FAILED', state(events))
    expect('Failed, as you asked' in ''.join(texts(events)), f'texts: {texts(events)}')


@check
async def push(url):
    """The webhook is an option of the SDK's client factory, which ADK takes.

    A factory without an HTTP client gets one from ADK that sends no `A2A-Version`.
    """
    async with Webhook() as webhook, httpx.AsyncClient() as http:
        config = ClientConfig(
            httpx_client=http,
            push_notification_config=TaskPushNotificationConfig(url=webhook.url, token='secret'),
        )
        remote = remote_agent(url, a2a_client_factory=ClientFactory(config))
        events = await Conversation(remote).say('slow 1')
        expect(state(events) == 'TASK_STATE_COMPLETED', state(events))
        headers, _ = await webhook.until(lambda _, body: 'TASK_STATE_COMPLETED' in str(body))
        expect(headers.get('x-a2a-notification-token') == 'secret', f'headers: {headers}')


@check
async def error(url):
    """A message to a task that doesn't exist."""

    async def other_task(context, message, parameters):
        message.task_id = str(uuid.uuid4())
        return message, parameters

    config = A2aRemoteAgentConfig(
        request_interceptors=[RequestInterceptor(before_request=other_task)]
    )
    events = await Conversation(remote_agent(url, config=config)).say('echo hello')
    message = events[-1].error_message or ''
    expect(message.startswith('A2A request failed'), f'error: {message!r}')
    expect(not texts(events), f'texts: {texts(events)}')
    return message


if __name__ == '__main__':
    logging.disable(logging.ERROR)
    run_checks()
