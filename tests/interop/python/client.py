"""Every operation, by the client of the official Python SDK, against one agent.

    client.py --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]

Prints one line of JSON per check: `{"operation": …, "ok": true|false, "detail": …}`.
The agent has to know the words of server.py beside this file.
"""

import argparse
import asyncio
import json
import sys
import traceback
import uuid

import grpc
import httpx
from google.protobuf import json_format
from google.rpc import error_details_pb2

from webhook import Webhook

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.helpers import get_artifact_text, get_message_text
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils import errors
from a2a.utils.grpc_status import status_from_call

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


def state_is(status, name):
    same(TaskState.Name(status.state), f'TASK_STATE_{name}', 'state')


def message(text='', parts=None, **fields):
    fields.setdefault('message_id', str(uuid.uuid4()))
    return Message(role=Role.ROLE_USER, parts=parts or [Part(text=text)], **fields)


async def fails_with(expected, call):
    """Awaits `call` (or drains it) and returns the error, which has to be an `expected`."""
    try:
        if hasattr(call, '__aiter__'):
            answer = [item async for item in call]
        else:
            answer = await call
    except expected as error:
        return error
    except Exception as error:
        raise AssertionError(f'expected {expected!r}, got {error!r}') from error
    raise AssertionError(f'expected {expected!r}, got an answer: {answer!r}')


class Peer:
    """One agent at one binding, called in the two ways the SDK has."""

    def __init__(self, card, binding):
        self.card = card
        self.binding = binding
        self.blocking = self.connect(streaming=False)
        self.streaming = self.connect(streaming=True)
        self.interface = next(
            one
            for one in card.supported_interfaces
            if one.protocol_binding == self.binding and one.protocol_version.startswith('1.')
        )

    def connect(self, streaming):
        config = ClientConfig(
            streaming=streaming,
            supported_protocol_bindings=[self.binding],
            grpc_channel_factory=self.channel,
        )
        return ClientFactory(config).create(self.card)

    def channel(self, address):
        """A channel with TLS if the other interfaces have it; the roots are in the environment.

        With TLS on a loopback host the address is a URL, which grpcio does not accept.
        """
        if any(one.url.startswith('https:') for one in self.card.supported_interfaces):
            address = address.removeprefix('https://')
            return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials())
        return grpc.aio.insecure_channel(address)

    async def send(self, *arguments, configuration=None, context=None, **fields):
        request = SendMessageRequest(message=message(*arguments, **fields))
        if configuration is not None:
            request.configuration.CopyFrom(configuration)
        answers = [one async for one in self.blocking.send_message(request, context=context)]
        same(len(answers), 1, 'answers')
        return answers[0]

    async def task(self, *arguments, **fields):
        answer = await self.send(*arguments, **fields)
        same(answer.WhichOneof('payload'), 'task', 'answer')
        return answer.task

    async def started(self, text):
        """A task that was answered before it was done."""
        return await self.task(text, configuration=SendMessageConfiguration(return_immediately=True))

    def stream(self, *arguments, **fields):
        return self.streaming.send_message(
            SendMessageRequest(message=message(*arguments, **fields))
        )

    async def get(self, task_id, **fields):
        return await self.blocking.get_task(GetTaskRequest(id=task_id, **fields))

    async def until(self, task_id, name):
        """The task once it is in the state `name`."""
        while True:
            task = await self.get(task_id)
            if task.status.state == TaskState.Value(f'TASK_STATE_{name}'):
                return task
            await asyncio.sleep(0.05)


# -- the card -------------------------------------------------------------------------------


@check
async def card(peer):
    bindings = {
        one.protocol_binding
        for one in peer.card.supported_interfaces
        if one.protocol_version == '1.0'
    }
    same(bindings, {'JSONRPC', 'HTTP+JSON', 'GRPC'}, 'bindings')
    expect(peer.card.name and peer.card.version, 'the card has a name and a version')
    expect(peer.card.capabilities.streaming, 'streaming is declared')
    expect(peer.card.capabilities.push_notifications, 'push notifications are declared')
    expect(len(peer.card.skills) >= 1, 'the card has a skill')


@check
async def extended_card(peer):
    client = peer.connect(streaming=False)
    extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    same(extended.name, peer.card.name, 'name')
    expect(len(extended.skills) > len(peer.card.skills), 'the extended card has more skills')


# -- sending --------------------------------------------------------------------------------


@check
async def send(peer):
    context_id = str(uuid.uuid4())
    task = await peer.task('echo hello', context_id=context_id)
    state_is(task.status, 'COMPLETED')
    same(task.context_id, context_id, 'context id')
    same(len(task.artifacts), 1, 'artifacts')
    expect('hello' in get_artifact_text(task.artifacts[0]), f'the artifact is {task.artifacts[0]}')
    expect(task.status.HasField('timestamp'), 'the status has a timestamp')
    same(task.history[0].role, Role.ROLE_USER, 'role of the first message of the history')
    same(get_message_text(task.history[0]), 'echo hello', 'first message of the history')


@check
async def send_message(peer):
    answer = await peer.send('message hi')
    same(answer.WhichOneof('payload'), 'message', 'answer')
    same(answer.message.role, Role.ROLE_AGENT, 'role')
    expect(answer.message.message_id, 'the message has an id')
    expect(get_message_text(answer.message), 'the message has text')


@check
async def send_parts(peer):
    data = {
        'whole': 7,
        'big': 9007199254740991,
        'fraction': 0.25,
        'text': 'Grüße, 世界 🌍',
        'null': None,
        'list': [True, {'deep': [1, 2]}],
    }
    parts = [
        Part(text='Grüße, 世界 🌍\n"quoted"', media_type='text/plain'),
        json_format.ParseDict({'data': data, 'metadata': {'note': 'a'}}, Part()),
        Part(raw=bytes(range(256)), filename='bytes.bin', media_type='application/octet-stream'),
        Part(url='https://example.com/a%20b?c=d', filename='b', media_type='text/html'),
    ]
    task = await peer.task(parts=parts, message_id=f'acc-echo-{uuid.uuid4()}')
    state_is(task.status, 'COMPLETED')
    same(list(task.artifacts[0].parts), parts, 'parts')
    same(list(task.history[0].parts), parts, 'parts of the history')


@check
async def send_large(peer):
    parts = [Part(raw=bytes(range(256)) * 4096, media_type='application/octet-stream')]
    task = await peer.task(parts=parts, message_id=f'acc-echo-{uuid.uuid4()}')
    same(len(task.artifacts[0].parts[0].raw), 1 << 20, 'bytes')
    expect(list(task.artifacts[0].parts) == parts, 'the same bytes')


@check
async def send_immediately(peer):
    task = await peer.started('slow 1')
    expect(
        task.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING),
        f'answered when the task was {TaskState.Name(task.status.state)}',
    )
    await peer.until(task.id, 'COMPLETED')


@check
async def send_history_length(peer):
    task = await peer.task('echo hello', configuration=SendMessageConfiguration(history_length=0))
    state_is(task.status, 'COMPLETED')
    same(len(task.history), 0, 'messages in the history')


@check
async def multi_turn(peer):
    first = await peer.task('ask')
    state_is(first.status, 'INPUT_REQUIRED')
    expect(get_message_text(first.status.message), 'the question has text')
    second = await peer.task('Ada', task_id=first.id, context_id=first.context_id)
    same(second.id, first.id, 'task id')
    same(second.context_id, first.context_id, 'context id')
    state_is(second.status, 'COMPLETED')
    said = [get_message_text(one) for one in second.history if one.role == Role.ROLE_USER]
    same(said, ['ask', 'Ada'], 'what the user said')


@check
async def tenant(peer):
    ours = f'acme-{uuid.uuid4()}'
    request = SendMessageRequest(tenant=ours, message=message('echo hello'))
    answers = [one async for one in peer.blocking.send_message(request)]
    task = answers[0].task
    same(await peer.get(task.id, tenant=ours), task, 'task of the tenant')
    listed = await peer.blocking.list_tasks(ListTasksRequest(tenant=ours))
    same([one.id for one in listed.tasks], [task.id], 'tasks of the tenant')
    await fails_with(errors.TaskNotFoundError, peer.get(task.id))
    await fails_with(errors.TaskNotFoundError, peer.get(task.id, tenant='other'))


@check
async def failed_task(peer):
    task = await peer.task('fail')
    state_is(task.status, 'FAILED')
    expect(get_message_text(task.status.message), 'the failure has a message')


@check
async def crashed_task(peer):
    task = await peer.task('panic')
    state_is(task.status, 'FAILED')
    expect('on purpose' not in get_message_text(task.status.message), 'internal text stays inside')


@check
async def extensions(peer):
    text = 'extensions'
    fields = {'message_id': f'acc-ext-{uuid.uuid4()}'}
    context = ClientCallContext(service_parameters={'A2A-Extensions': EXTENSION})
    task = await peer.task(text, context=context, **fields)
    state_is(task.status, 'COMPLETED')
    same(get_message_text(task.status.message), f'extensions: {EXTENSION}', 'status')


# -- streams --------------------------------------------------------------------------------


def whole_stream(events, chunks):
    """Asserts that `events` is a task with one artifact in `chunks` chunks, COMPLETED."""
    kinds = [one.WhichOneof('payload') for one in events]
    same(kinds[0], 'task', 'first event')
    same(kinds.count('task'), 1, 'tasks in the stream')
    same(kinds[-1], 'status_update', 'last event')
    state_is(events[-1].status_update.status, 'COMPLETED')
    updates = [one.artifact_update for one in events if one.HasField('artifact_update')]
    same(len(updates), chunks, 'chunks')
    same(len({one.artifact.artifact_id for one in updates}), 1, 'artifacts')
    same([one.append for one in updates], [False] + [True] * (chunks - 1), 'append')
    same(updates[-1].last_chunk, True, 'last chunk of the last')
    task_id = events[0].task.id
    same({one.task_id for one in updates}, {task_id}, 'task id of the chunks')
    return ''.join(get_artifact_text(one.artifact) for one in updates)


@check
async def stream(peer):
    events = [one async for one in peer.stream('stream 5')]
    text = whole_stream(events, 5)
    stored = await peer.get(events[0].task.id)
    same(len(stored.artifacts), 1, 'stored artifacts')
    same(''.join(part.text for part in stored.artifacts[0].parts), text, 'stored text')


@check
async def stream_message(peer):
    events = [one async for one in peer.stream('message hi')]
    same([one.WhichOneof('payload') for one in events], ['message'], 'events')
    expect(get_message_text(events[0].message), 'the message has text')


@check
async def stream_input(peer):
    events = [one async for one in peer.stream('ask')]
    state_is(events[-1].status_update.status, 'INPUT_REQUIRED')
    task = events[0].task
    events = [one async for one in peer.stream('Ada', task_id=task.id, context_id=task.context_id)]
    state_is(events[-1].status_update.status, 'COMPLETED')


@check
async def stream_crash(peer):
    events = [one async for one in peer.stream('panic')]
    state_is(events[-1].status_update.status, 'FAILED')


@check
async def stream_silence(peer):
    """An agent that thinks for longer than this client waits for a word by its default."""
    slow = message('think', message_id=f'acc-slow-{uuid.uuid4()}')
    slow.metadata['delayMs'] = 7000
    events = [one async for one in peer.streaming.send_message(SendMessageRequest(message=slow))]
    state_is(events[-1].status_update.status, 'COMPLETED')


@check
async def stream_cut(peer):
    """A client that disconnects and subscribes again misses no event."""
    seen = peer.stream('stream 40')
    before = []
    async for event in seen:
        before.append(event)
        if len(before) == 6:
            break
    await seen.aclose()
    task_id = before[0].task.id
    events = [
        one async for one in peer.streaming.subscribe(SubscribeToTaskRequest(id=task_id))
    ]
    same(events[0].WhichOneof('payload'), 'task', 'first event')
    state_is(events[-1].status_update.status, 'COMPLETED')
    parts = [one.text for one in events[0].task.artifacts[0].parts]
    expect(3 <= len(parts) < 40, f'there was a part of the text already, not all: {parts}')
    for one in events:
        parts += [part.text for part in one.artifact_update.artifact.parts]
    stored = (await peer.get(task_id)).artifacts[0]
    same(len(stored.parts), 40, 'parts')
    same(parts, [one.text for one in stored.parts], 'the parts put together')


@check
async def subscribe(peer):
    task = await peer.started('slow 2')
    events = [
        one async for one in peer.streaming.subscribe(SubscribeToTaskRequest(id=task.id))
    ]
    same(events[0].WhichOneof('payload'), 'task', 'first event')
    same(events[0].task.id, task.id, 'task id')
    state_is(events[-1].status_update.status, 'COMPLETED')


@check
async def subscribe_input(peer):
    """A subscription to a task that waits stays open and sees the answer."""
    asking = await peer.task('ask')
    events = peer.streaming.subscribe(SubscribeToTaskRequest(id=asking.id))
    first = await anext(events)
    state_is(first.task.status, 'INPUT_REQUIRED')
    await peer.task('Ada', task_id=asking.id, context_id=asking.context_id)
    *_, last = [one async for one in events]
    state_is(last.status_update.status, 'COMPLETED')


# -- tasks ----------------------------------------------------------------------------------


@check
async def get(peer):
    sent = await peer.task('echo stored')
    got = await peer.get(sent.id)
    same(got, sent, 'task')
    same(len((await peer.get(sent.id, history_length=0)).history), 0, 'history of length 0')
    same(len((await peer.get(sent.id, history_length=1)).history), 1, 'history of length 1')


async def several(peer, count):
    context_id = str(uuid.uuid4())
    tasks = [await peer.task(f'echo {index}', context_id=context_id) for index in range(count)]
    return context_id, [one.id for one in tasks]


@check
async def list_pages(peer):
    context_id, ids = await several(peer, 5)
    seen, sizes, token = [], [], ''
    for _ in range(3):
        page = await peer.blocking.list_tasks(
            ListTasksRequest(context_id=context_id, page_size=2, page_token=token)
        )
        same(page.total_size, 5, 'total size')
        same(page.page_size, 2, 'page size')
        seen += [one.id for one in page.tasks]
        sizes.append(len(page.tasks))
        token = page.next_page_token
    same(sizes, [2, 2, 1], 'sizes of the pages')
    same(token, '', 'token after the last page')
    same(seen, ids[::-1], 'tasks, newest first')


@check
async def list_filters(peer):
    context_id, ids = await several(peer, 2)
    asking = await peer.task('ask', context_id=context_id)

    async def listed(**fields):
        request = ListTasksRequest(context_id=context_id, **fields)
        return list((await peer.blocking.list_tasks(request)).tasks)

    done = await listed(status=TaskState.TASK_STATE_COMPLETED)
    same({one.id for one in done}, set(ids), 'completed tasks')
    expect(not any(one.artifacts for one in done), 'artifacts are left out unless asked for')
    done = await listed(status=TaskState.TASK_STATE_COMPLETED, include_artifacts=True)
    expect(all(one.artifacts for one in done), 'artifacts are there when asked for')
    waiting = await listed(status=TaskState.TASK_STATE_INPUT_REQUIRED)
    same([one.id for one in waiting], [asking.id], 'waiting tasks')
    bare = await listed(history_length=0)
    expect(not any(one.history for one in bare), 'no history was asked for')


@check
async def list_since(peer):
    context_id, _ = await several(peer, 2)
    asking = await peer.task('ask', context_id=context_id)
    since = asking.status.timestamp
    request = ListTasksRequest(context_id=context_id, status_timestamp_after=since)
    after = (await peer.blocking.list_tasks(request)).tasks
    same([one.id for one in after], [asking.id], 'tasks since the last')


@check
async def cancel(peer):
    task = await peer.started('slow 30')
    canceled = await peer.blocking.cancel_task(CancelTaskRequest(id=task.id))
    same(canceled.id, task.id, 'task id')
    state_is(canceled.status, 'CANCELED')
    state_is((await peer.get(task.id)).status, 'CANCELED')


# -- push notifications ---------------------------------------------------------------------


def push_config(task_id, url, config_id='first', **fields):
    return TaskPushNotificationConfig(task_id=task_id, id=config_id, url=url, **fields)


@check
async def push_configs(peer):
    task = await peer.task('ask')
    client = peer.blocking
    first = push_config(
        task.id,
        'http://127.0.0.1:9/first',
        token='secret',
        authentication=AuthenticationInfo(scheme='Bearer', credentials='credential'),
    )
    created = await client.create_task_push_notification_config(first)
    same((created.task_id, created.id, created.url), (task.id, 'first', first.url), 'created')
    await client.create_task_push_notification_config(
        push_config(task.id, 'http://127.0.0.1:9/second', 'second')
    )
    got = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task.id, id='first')
    )
    same((got.task_id, got.id, got.url), (task.id, 'first', first.url), 'config')

    async def listed():
        request = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        answer = await client.list_task_push_notification_configs(request)
        return {one.id: one.url for one in answer.configs}

    both = {'first': 'http://127.0.0.1:9/first', 'second': 'http://127.0.0.1:9/second'}
    same(await listed(), both, 'configs')
    await client.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=task.id, id='first')
    )
    same(list(await listed()), ['second'], 'configs after the deletion')


async def delivered(webhook, task_id, headers):
    """Awaits the delivery that says that the task is done."""

    def done(_, body):
        update = body.get('statusUpdate') or body.get('task') or {}
        return update.get('status', {}).get('state') == 'TASK_STATE_COMPLETED'

    got, body = await webhook.until(done)
    event = json_format.ParseDict(body, StreamResponse())
    same(event.status_update.task_id or event.task.id, task_id, 'task id of the delivery')
    for name, value in headers.items():
        same(got.get(name), value, name)


@check
async def push_delivery(peer):
    async with Webhook() as webhook:
        task = await peer.started('slow 1')
        await peer.blocking.create_task_push_notification_config(
            push_config(task.id, webhook.url, token='secret')
        )
        await delivered(webhook, task.id, {'x-a2a-notification-token': 'secret'})


@check
async def push_with_message(peer):
    async with Webhook() as webhook:
        config = TaskPushNotificationConfig(
            url=webhook.url,
            authentication=AuthenticationInfo(scheme='Bearer', credentials='credential'),
        )
        task = await peer.task(
            'echo hello',
            configuration=SendMessageConfiguration(task_push_notification_config=config),
        )
        await delivered(webhook, task.id, {'authorization': 'Bearer credential'})


# -- errors ---------------------------------------------------------------------------------


@check
async def error_unknown_task(peer):
    unknown = str(uuid.uuid4())
    missing = errors.TaskNotFoundError
    await fails_with(missing, peer.get(unknown))
    await fails_with(missing, peer.blocking.cancel_task(CancelTaskRequest(id=unknown)))
    await fails_with(missing, peer.send('hi', task_id=unknown))
    await fails_with(missing, peer.streaming.subscribe(SubscribeToTaskRequest(id=unknown)))
    await fails_with(missing, peer.stream('hi', task_id=unknown))


@check
async def error_cancel_terminal(peer):
    task = await peer.task('echo hello')
    request = CancelTaskRequest(id=task.id)
    await fails_with(errors.TaskNotCancelableError, peer.blocking.cancel_task(request))


@check
async def error_subscribe_terminal(peer):
    task = await peer.task('echo hello')
    request = SubscribeToTaskRequest(id=task.id)
    await fails_with(errors.UnsupportedOperationError, peer.streaming.subscribe(request))


@check
async def error_send_terminal(peer):
    task = await peer.task('echo hello')
    again = {'task_id': task.id, 'context_id': task.context_id}
    await fails_with(errors.UnsupportedOperationError, peer.send('again', **again))
    await fails_with(errors.UnsupportedOperationError, peer.stream('again', **again))


@check
async def error_context(peer):
    task = await peer.task('ask')
    other = {'task_id': task.id, 'context_id': str(uuid.uuid4())}
    await fails_with(errors.InvalidParamsError, peer.send('Ada', **other))


@check
async def error_page_size(peer):
    for size in (0, 101):
        request = ListTasksRequest(page_size=size)
        await fails_with(errors.InvalidParamsError, peer.blocking.list_tasks(request))


@check
async def error_empty_message(peer):
    request = SendMessageRequest(message=Message(role=Role.ROLE_USER, message_id='empty'))
    await fails_with(errors.InvalidParamsError, peer.blocking.send_message(request))


@check
async def error_push_config(peer):
    task = await peer.task('ask')
    unknown = GetTaskPushNotificationConfigRequest(task_id=task.id, id='unknown')
    call = peer.blocking.get_task_push_notification_config(unknown)
    await fails_with(errors.TaskNotFoundError, call)


@check
async def error_version(peer):
    if peer.binding == 'GRPC':
        async with peer.channel(peer.interface.url) as channel:
            stub = a2a_pb2_grpc.A2AServiceStub(channel)
            try:
                await stub.ListTasks(ListTasksRequest(), metadata=[('a2a-version', '9.9')])
            except grpc.aio.AioRpcError as error:
                info = error_details_pb2.ErrorInfo()
                details = status_from_call(error).details
                expect(any(one.Unpack(info) for one in details), 'the details have an ErrorInfo')
                same(info.reason, 'VERSION_NOT_SUPPORTED', 'reason')
                return
            raise AssertionError('version 9.9 was accepted')
    context = ClientCallContext(service_parameters={'A2A-Version': '9.9'})
    call = peer.blocking.list_tasks(ListTasksRequest(), context=context)
    await fails_with(errors.VersionNotSupportedError, call)


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


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--binding', required=True)
    parser.add_argument('--only', action='append')
    arguments = parser.parse_args()
    async with httpx.AsyncClient() as http:
        agent_card = await A2ACardResolver(http, arguments.card).get_agent_card()
    peer = Peer(agent_card, arguments.binding)
    for operation, function in CHECKS.items():
        if not arguments.only or operation in arguments.only:
            await run(operation, function, peer)
    await peer.blocking.close()
    await peer.streaming.close()


if __name__ == '__main__':
    sys.exit(asyncio.run(main()))
