"""Every operation that 0.2 and 0.3 have, in the types that their Python SDKs share.

What the SDKs don't share is a `Peer`, in `v0_2/client.py` and `v0_3/client.py`; each ends in
`main`, which prints one line of JSON per check: `{"operation": …, "ok": …, "detail": …}`.
The agent has to know the words of server.py.
"""

import argparse
import asyncio
import json
import traceback
import uuid

import grpc
import httpx

from webhook import Webhook

from a2a.client import A2ACardResolver
from a2a.client.errors import A2AClientHTTPError
from a2a.types import (
    DataPart,
    DeleteTaskPushNotificationConfigParams,
    DeleteTaskPushNotificationConfigRequest,
    DeleteTaskPushNotificationConfigResponse,
    FilePart,
    FileWithBytes,
    FileWithUri,
    GetTaskPushNotificationConfigParams,
    JSONRPCErrorResponse,
    ListTaskPushNotificationConfigParams,
    ListTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigResponse,
    Message,
    Part,
    PushNotificationAuthenticationInfo,
    PushNotificationConfig,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)

EXTENSION = 'https://example.com/extensions/interop/v1'
SECONDS = 30

CHECKS = {}


def check(function):
    """Registers `function` as the operation it is named for."""
    CHECKS[function.__name__.replace('_', '-')] = function
    return function


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def same(actual, expected, what):
    expect(actual == expected, f'{what}: expected {expected!r}, got {actual!r}')


def text_part(text):
    return Part(root=TextPart(text=text))


def text_of(carrier):
    """The text of a message or an artifact."""
    return ''.join(one.root.text for one in carrier.parts if isinstance(one.root, TextPart))


def message(text='', parts=None, **fields):
    fields.setdefault('message_id', str(uuid.uuid4()))
    return Message(role=Role.user, parts=parts or [text_part(text)], **fields)


class Fault:
    """An error, as each binding says it."""

    def __init__(self, rpc, http, *statuses):
        self.rpc, self.http, self.statuses = rpc, http, statuses

    def __eq__(self, error):
        if isinstance(error, A2AClientHTTPError):
            return error.status_code == self.http
        if isinstance(error, grpc.aio.AioRpcError):
            return error.code() in self.statuses
        # The class of this one is not the same in all SDKs.
        refusal = getattr(error, 'error', None)
        return refusal is not None and refusal.code == self.rpc

    def __repr__(self):
        return f'{self.rpc}, HTTP {self.http} or {self.statuses}'


NOT_FOUND = Fault(-32001, 404, grpc.StatusCode.NOT_FOUND)
# The document has no table of statuses of gRPC; the SDK itself says the second.
PRECONDITION = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.UNIMPLEMENTED)
NOT_CANCELABLE = Fault(-32002, 400, *PRECONDITION)
UNSUPPORTED = Fault(-32004, 400, *PRECONDITION)
UNREADABLE = Fault(None, 400)
INVALID = Fault(-32602, 400, grpc.StatusCode.INVALID_ARGUMENT)


async def fails_with(expected, call):
    """Awaits `call` (or drains it); it has to fail with the fault `expected`."""
    try:
        if hasattr(call, '__aiter__'):
            answer = [item async for item in call]
        else:
            answer = await call
    except Exception as error:
        expect(expected == error, f'expected {expected!r}, got {error!r}')
        return
    raise AssertionError(f'expected {expected!r}, got an answer: {answer!r}')


class Peer:
    """One agent at one binding. An SDK adds, with its own client:

    send(message, waiting, extensions, push)   a task or a message
    events(message), resubscribe(task_id)      tasks, updates, messages as they come
    query(params), cancel(task_id)             a task
    set_callback(config), get_callback(params) a push config
    extended_card()
    """

    def __init__(self, card, binding, http):
        self.card = card
        self.binding = binding
        self.http = http

    async def send_text(self, *arguments, extensions=None, push=None, waiting=True, **fields):
        asked = message(*arguments, **fields)
        return await self.send(asked, waiting=waiting, extensions=extensions, push=push)

    async def task(self, *arguments, **fields):
        answer = await self.send_text(*arguments, **fields)
        expect(isinstance(answer, Task), f'expected a task, got {answer!r}')
        return answer

    async def started(self, text):
        """A task that was answered before it was done."""
        return await self.task(text, waiting=False)

    def stream(self, *arguments, **fields):
        return self.events(message(*arguments, **fields))

    async def get(self, task_id, **fields):
        return await self.query(TaskQueryParams(id=task_id, **fields))

    async def until(self, task_id, state):
        """The task once it is in `state`."""
        while True:
            task = await self.get(task_id)
            if task.status.state == state:
                return task
            await asyncio.sleep(0.05)

    async def rpc(self, request, response):
        """What the client of the SDK has no method for, with the SDK's types."""
        body = request.model_dump(mode='json', exclude_none=True)
        answer = (await self.http.post(self.card.url, json=body)).json()
        root = response.model_validate(answer).root
        expect(not isinstance(root, JSONRPCErrorResponse), f'an error: {root!r}')
        return root.result


# -- the card -------------------------------------------------------------------------------


@check
async def card(peer):
    bindings = {one.transport for one in peer.card.additional_interfaces or []}
    bindings.add(peer.card.preferred_transport)
    expect(peer.binding in bindings, f'the card has {peer.binding}: {bindings}')
    expect(peer.card.protocol_version.startswith('0.3'), f'version {peer.card.protocol_version}')
    expect(peer.card.name and peer.card.version, 'the card has a name and a version')
    expect(peer.card.capabilities.streaming, 'streaming is declared')
    expect(peer.card.capabilities.push_notifications, 'push notifications are declared')
    expect(peer.card.supports_authenticated_extended_card, 'the extended card is declared')
    expect(len(peer.card.skills) >= 1, 'the card has a skill')


@check
async def extended_card(peer):
    extended = await peer.extended_card()
    same(extended.name, peer.card.name, 'name')
    expect(len(extended.skills) > len(peer.card.skills), 'the extended card has more skills')


# -- sending --------------------------------------------------------------------------------


@check
async def send(peer):
    context_id = str(uuid.uuid4())
    task = await peer.task('echo hello', context_id=context_id)
    same(task.status.state, TaskState.completed, 'state')
    same(task.context_id, context_id, 'context id')
    same(len(task.artifacts), 1, 'artifacts')
    expect('hello' in text_of(task.artifacts[0]), f'the artifact is {task.artifacts[0]}')
    # The SDK leaves it out when it reads its protobuf types.
    expect(task.status.timestamp or peer.binding != 'JSONRPC', 'the status has a timestamp')
    same(task.history[0].role, Role.user, 'role of the first message of the history')
    same(text_of(task.history[0]), 'echo hello', 'first message of the history')


@check
async def send_message(peer):
    answer = await peer.send_text('message hi')
    expect(isinstance(answer, Message), f'expected a message, got {answer!r}')
    same(answer.role, Role.agent, 'role')
    expect(answer.message_id, 'the message has an id')
    expect(text_of(answer), 'the message has text')


@check
async def send_parts(peer):
    data = {
        'whole': 7,
        'fraction': 0.25,
        'text': 'Grüße, 世界 🌍',
        'list': [True, {'deep': [1, 2]}],
    }
    file = FileWithBytes(bytes='AAECA/8=', mime_type='application/octet-stream', name='bytes.bin')
    link = FileWithUri(uri='https://example.com/a%20b?c=d', mime_type='text/html', name='b')
    parts = [
        text_part('Grüße, 世界 🌍\n"quoted"'),
        Part(root=DataPart(data=data)),
        Part(root=FilePart(file=file)),
        Part(root=FilePart(file=link)),
    ]
    task = await peer.task(parts=parts, message_id=f'acc-echo-{uuid.uuid4()}')
    same(task.status.state, TaskState.completed, 'state')

    def plain(some):
        # The SDK's own conversion from gRPC leaves names out and empty objects in.
        return [
            {
                key: value
                for key, value in one.root.model_dump(exclude_none=True).items()
                if value != {}
            }
            for one in some
        ]

    same(plain(task.artifacts[0].parts), plain(parts), 'parts')


@check
async def send_immediately(peer):
    task = await peer.started('slow 1')
    expect(
        task.status.state in (TaskState.submitted, TaskState.working),
        f'answered when the task was {task.status.state}',
    )
    await peer.until(task.id, TaskState.completed)


@check
async def multi_turn(peer):
    first = await peer.task('ask')
    same(first.status.state, TaskState.input_required, 'state')
    expect(text_of(first.status.message), 'the question has text')
    second = await peer.task('Ada', task_id=first.id, context_id=first.context_id)
    same(second.id, first.id, 'task id')
    same(second.context_id, first.context_id, 'context id')
    same(second.status.state, TaskState.completed, 'state')
    said = [text_of(one) for one in second.history if one.role == Role.user]
    same(said, ['ask', 'Ada'], 'what the user said')


@check
async def failed_task(peer):
    task = await peer.task('fail')
    same(task.status.state, TaskState.failed, 'state')
    expect(text_of(task.status.message), 'the failure has a message')


@check
async def crashed_task(peer):
    task = await peer.task('panic')
    same(task.status.state, TaskState.failed, 'state')


@check
async def extensions(peer):
    fields = {'message_id': f'acc-ext-{uuid.uuid4()}'}
    task = await peer.task('extensions', extensions=[EXTENSION], **fields)
    same(task.status.state, TaskState.completed, 'state')
    same(text_of(task.status.message), f'extensions: {EXTENSION}', 'status')


# -- streams --------------------------------------------------------------------------------


def ends(events, state):
    """Asserts that the last event is final and says `state`."""
    last = events[-1]
    expect(isinstance(last, TaskStatusUpdateEvent), f'the last event is {last!r}')
    same(last.status.state, state, 'last state')
    same(last.final, True, 'final of the last event')
    early = [one for one in events[:-1] if isinstance(one, TaskStatusUpdateEvent) and one.final]
    same(early, [], 'final events before the last')


@check
async def stream(peer):
    events = [one async for one in peer.stream('stream 5')]
    expect(isinstance(events[0], Task), f'the first event is {events[0]!r}')
    ends(events, TaskState.completed)
    chunks = [one for one in events if isinstance(one, TaskArtifactUpdateEvent)]
    same(len(chunks), 5, 'chunks')
    same([bool(one.append) for one in chunks], [False, True, True, True, True], 'append')
    same(chunks[-1].last_chunk, True, 'last chunk of the last')
    same({one.task_id for one in chunks}, {events[0].id}, 'task id of the chunks')
    stored = await peer.get(events[0].id)
    same(len(stored.artifacts), 1, 'stored artifacts')
    text = ''.join(text_of(one.artifact) for one in chunks)
    same(text_of(stored.artifacts[0]), text, 'stored text')


@check
async def stream_message(peer):
    events = [one async for one in peer.stream('message hi')]
    same([type(one) for one in events], [Message], 'events')
    expect(text_of(events[0]), 'the message has text')


@check
async def stream_input(peer):
    events = [one async for one in peer.stream('ask')]
    ends(events, TaskState.input_required)
    task = events[0]
    again = peer.stream('Ada', task_id=task.id, context_id=task.context_id)
    ends([one async for one in again], TaskState.completed)


@check
async def stream_crash(peer):
    ends([one async for one in peer.stream('panic')], TaskState.failed)


@check
async def stream_cut(peer):
    """A client that disconnects and subscribes again misses no event."""
    seen = peer.stream('stream 40')
    before = []
    async for one in seen:
        before.append(one)
        if len(before) == 6:
            break
    await seen.aclose()
    task_id = before[0].id
    events = [one async for one in peer.resubscribe(task_id)]
    ends(events, TaskState.completed)
    stored = (await peer.get(task_id)).artifacts[0]
    same(len(stored.parts), 40, 'parts')


@check
async def subscribe(peer):
    task = await peer.started('slow 2')
    events = [one async for one in peer.resubscribe(task.id)]
    same({one.id if isinstance(one, Task) else one.task_id for one in events}, {task.id}, 'ids')
    ends(events, TaskState.completed)


# -- tasks ----------------------------------------------------------------------------------


@check
async def get(peer):
    sent = await peer.task('echo stored')
    same(await peer.get(sent.id), sent, 'task')
    got = await peer.get(sent.id, history_length=1)
    same(len(got.history or []), 1, 'history of length 1')


@check
async def cancel(peer):
    task = await peer.started('slow 30')
    canceled = await peer.cancel(task.id)
    same(canceled.id, task.id, 'task id')
    same(canceled.status.state, TaskState.canceled, 'state')
    same((await peer.get(task.id)).status.state, TaskState.canceled, 'state')


# -- push notifications ---------------------------------------------------------------------


def push_config(task_id, url, config_id='first', **fields):
    config = PushNotificationConfig(id=config_id, url=url, **fields)
    return TaskPushNotificationConfig(task_id=task_id, push_notification_config=config)


@check
async def push_configs(peer):
    task = await peer.task('ask')
    authentication = PushNotificationAuthenticationInfo(
        schemes=['Bearer'], credentials='credential'
    )
    first = push_config(
        task.id, 'http://127.0.0.1:9/first', token='secret', authentication=authentication
    )

    def plain(one):
        config = one.push_notification_config
        return (one.task_id, config.id, config.url)

    created = await peer.set_callback(first)
    same(plain(created), plain(first), 'created')
    second = push_config(task.id, 'http://127.0.0.1:9/second', 'second')
    same(plain(await peer.set_callback(second)), plain(second), 'the second')
    wanted = GetTaskPushNotificationConfigParams(
        id=task.id, push_notification_config_id='first'
    )
    got = await peer.get_callback(wanted)
    same(plain(got), plain(first), 'config')
    if peer.binding != 'JSONRPC':
        return

    async def listed():
        request = ListTaskPushNotificationConfigRequest(
            id='list', params=ListTaskPushNotificationConfigParams(id=task.id)
        )
        return [plain(one) for one in await peer.rpc(request, ListTaskPushNotificationConfigResponse)]

    same(sorted(await listed()), sorted([plain(first), plain(second)]), 'configs')
    params = DeleteTaskPushNotificationConfigParams(
        id=task.id, push_notification_config_id='first'
    )
    request = DeleteTaskPushNotificationConfigRequest(id='delete', params=params)
    same(await peer.rpc(request, DeleteTaskPushNotificationConfigResponse), None, 'deletion')
    same(await listed(), [plain(second)], 'configs after the deletion')


async def delivered(webhook, task_id, headers):
    """Awaits the delivery of the task, done."""

    def done(_, body):
        return (body.get('status') or {}).get('state') == 'completed'

    got, body = await webhook.until(done)
    same(Task.model_validate(body).id, task_id, 'task id of the delivery')
    same(body.get('kind'), 'task', 'kind of the delivery')
    for name, value in headers.items():
        same(got.get(name), value, name)


@check
async def push_delivery(peer):
    async with Webhook() as webhook:
        task = await peer.started('slow 1')
        await peer.set_callback(push_config(task.id, webhook.url, token='secret'))
        await delivered(webhook, task.id, {'x-a2a-notification-token': 'secret'})


@check
async def push_with_message(peer):
    async with Webhook() as webhook:
        config = PushNotificationConfig(
            id='first',
            url=webhook.url,
            authentication=PushNotificationAuthenticationInfo(
                schemes=['Bearer'], credentials='credential'
            ),
        )
        task = await peer.task('echo hello', push=config)
        await delivered(webhook, task.id, {'authorization': 'Bearer credential'})


# -- errors ---------------------------------------------------------------------------------


@check
async def error_unknown_task(peer):
    unknown = str(uuid.uuid4())
    await fails_with(NOT_FOUND, peer.get(unknown))
    await fails_with(NOT_FOUND, peer.cancel(unknown))
    await fails_with(NOT_FOUND, peer.send_text('hi', task_id=unknown))
    await fails_with(NOT_FOUND, peer.stream('hi', task_id=unknown))
    # The SDK looks at the type of this answer and not at its status.
    missing = UNREADABLE if peer.binding == 'HTTP+JSON' else NOT_FOUND
    await fails_with(missing, peer.resubscribe(unknown))


@check
async def error_cancel_terminal(peer):
    task = await peer.task('echo hello')
    await fails_with(NOT_CANCELABLE, peer.cancel(task.id))


@check
async def error_send_terminal(peer):
    task = await peer.task('echo hello')
    again = {'task_id': task.id, 'context_id': task.context_id}
    try:
        answer = await peer.send_text('again', **again)
    except Exception as error:
        expect(error == INVALID or error == UNSUPPORTED, f'got {error!r}')
    else:
        raise AssertionError(f'expected an error, got {answer!r}')


@check
async def error_context(peer):
    task = await peer.task('ask')
    other = {'task_id': task.id, 'context_id': str(uuid.uuid4())}
    await fails_with(INVALID, peer.send_text('Ada', **other))


# -- driver ---------------------------------------------------------------------------------


def report(operation, ok, detail=''):
    line = {'operation': operation, 'ok': ok, 'detail': detail}
    print(json.dumps(line, ensure_ascii=False), flush=True)


async def run(operation, function, peer):
    try:
        await asyncio.wait_for(function(peer), SECONDS)
    except AssertionError as error:
        report(operation, False, str(error))
    except Exception as error:
        traceback.print_exc()
        report(operation, False, repr(error))
    else:
        report(operation, True)


async def main(connect):
    """Checks the agent of the arguments, by what `connect(card, binding, http)` returns."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--binding', required=True)
    parser.add_argument('--only', action='append')
    arguments = parser.parse_args()
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        card = await A2ACardResolver(http, arguments.card).get_agent_card()
        peer = connect(card, arguments.binding, http)
        for operation, function in CHECKS.items():
            if not arguments.only or operation in arguments.only:
                await run(operation, function, peer)
