"""Microsoft Agent Framework as a client: `A2AAgent` against the demo agent of `a2a serve`."""

import json
import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / 'python'))
from driver import Lacking, check, expect, run_checks
from webhook import Webhook

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import TaskPushNotificationConfig, TaskState
from a2a.utils.errors import TaskNotFoundError
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)
from agent_framework.a2a import A2AAgent


async def fetch(url):
    async with httpx.AsyncClient() as http:
        return await A2ACardResolver(http, url).get_agent_card()


async def remote_agent(url, **options):
    return A2AAgent(agent_card=await fetch(url), **options)


class FakeModel(FunctionInvocationLayer, BaseChatClient):
    """Calls the tool `remote` with the user's text and says what it answered."""

    def _inner_get_response(self, *, messages, stream, options, **_):
        last = messages[-1]
        result = next((one for one in last.contents if one.type == 'function_result'), None)
        if result:
            said = Content.from_text(f'the tool said: {result.result}')
        else:
            arguments = {'task': last.text}
            said = Content.from_function_call(call_id='1', name='remote', arguments=arguments)

        async def response():
            return ChatResponse(messages=[Message(role='assistant', contents=[said])])

        return response()


def state(session):
    return TaskState.Name(session.service_session_id['task_state'])


@check
async def card(url):
    async with await remote_agent(url) as remote:
        expect(remote.name == 'Demo agent', f'name: {remote.name}')
        expect('one word at a time' in remote.description, f'description: {remote.description}')


@check
async def send(url):
    """Over both bindings, and as the tool of an agent with a model."""
    for binding in ('JSONRPC', 'HTTP+JSON'):
        async with await remote_agent(url, supported_protocol_bindings=[binding]) as remote:
            session = AgentSession()
            response = await remote.run('echo hello', session=session)
            expect(response.text == 'hello', f'text: {response.text!r}')
            expect(state(session) == 'TASK_STATE_COMPLETED', state(session))
    async with await remote_agent(url) as remote:
        caller = Agent(FakeModel(), tools=[remote.as_tool(name='remote')])
        response = await caller.run('echo tool')
        expect(response.text == 'the tool said: tool', f'text: {response.text!r}')


@check
async def stream(url):
    """As it comes; and in the background, by polling and by subscribing with a token."""
    async with await remote_agent(url) as remote:
        updates = [one async for one in remote.run('stream 3', stream=True) if one.text]
        chunks = [f'chunk {one} of 3' for one in (1, 2, 3)]
        expect([one.text for one in updates] == chunks, f'updates: {updates}')
        started = await remote.run('slow 2', background=True)
        token = started.continuation_token
        expect(token, 'a task in the background has a token')
        polled = await remote.poll_task(token)
        expect(polled.continuation_token, 'the task runs')
        resumed = await remote.run(continuation_token=token)
        expect('Worked for 2 seconds' in resumed.text, f'text: {resumed.text!r}')
        polled = await remote.poll_task(token)
        expect(not polled.continuation_token, 'the task has ended')
        expect('Worked for 2 seconds' in polled.text, f'text: {polled.text!r}')


@check
async def multi_turn(url):
    async with await remote_agent(url) as remote:
        session = AgentSession()
        question = await remote.run('ask', session=session)
        task_id = session.service_session_id['task_id']
        expect(state(session) == 'TASK_STATE_INPUT_REQUIRED', state(session))
        requests = [one.text for one in question.user_input_requests]
        expect(requests == ['What is your name?'], f'requests: {requests}')
        answer = await remote.run('Ada', session=session)
        expect('Ada' in answer.text, f'text: {answer.text!r}')
        expect(state(session) == 'TASK_STATE_COMPLETED', state(session))
        expect(session.service_session_id['task_id'] == task_id, 'it is the same task')


@check
async def cancel(url):
    raise Lacking('A2AAgent has no operation for it; only the SDK client inside it has')


@check
async def files(url):
    async with await remote_agent(url) as remote:
        content = bytes(range(256))
        file = Content.from_data(data=content, media_type='application/octet-stream')
        response = await remote.run(Message(role='user', contents=['look', file]))
        got = [one for message in response.messages for one in message.contents]
        got = [one.uri for one in got if one.type == 'data']
        expect(got == [file.uri], f'files: {got}')


@check
async def data(url):
    """The framework has no such content: data parts arrive as JSON text and can't be sent."""
    async with await remote_agent(url) as remote:
        response = await remote.run('data')
        value = json.loads(response.text)
        expect(value.get('city') == 'Oslo' and value.get('degrees') == -3, f'data: {value}')
    return 'received only'


@check
async def failed(url):
    """As a stream: otherwise the framework drops the message of an ended task's status."""
    async with await remote_agent(url) as remote:
        session = AgentSession()
        updates = [one async for one in remote.run('fail', stream=True, session=session)]
        expect(state(session) == 'TASK_STATE_FAILED', state(session))
        texts = [one.text for one in updates if one.text]
        expect(texts == ['Failed, as you asked'], f'texts: {texts}')


@check
async def push(url):
    """The webhook is an option of the SDK client that A2AAgent takes."""
    async with Webhook() as webhook:
        config = ClientConfig(
            push_notification_config=TaskPushNotificationConfig(url=webhook.url, token='secret')
        )
        client = ClientFactory(config).create(await fetch(url))
        async with A2AAgent(client=client) as remote:
            response = await remote.run('slow 1')
            expect('Worked for 1 second' in response.text, f'text: {response.text!r}')
            headers, _ = await webhook.until(lambda _, body: 'TASK_STATE_COMPLETED' in str(body))
            expect(headers.get('x-a2a-notification-token') == 'secret', f'headers: {headers}')


@check
async def error(url):
    async with await remote_agent(url) as remote:
        try:
            await remote.poll_task({'task_id': 'unknown', 'context_id': 'unknown'})
        except TaskNotFoundError as refused:
            return str(refused)
        raise AssertionError('polling an unknown task is an error')


if __name__ == '__main__':
    logging.disable(logging.CRITICAL)
    run_checks()
