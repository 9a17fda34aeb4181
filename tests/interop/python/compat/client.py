"""Every operation that 0.3 has, by the client of the current Python SDK in its mode for 0.3.

    client.py --card URL --binding JSONRPC|HTTP+JSON|GRPC [--proxied] [--only OPERATION]

The checks are those of ../client.py, where 0.3 has no other answer. The SDK takes that mode for
a card without interfaces of 1.0, so they are taken off the card. With --proxied they are not:
then the agent is one of 0.3 behind a gateway, which is spoken to in 1.0.
"""

import argparse
import asyncio
import os
import sys
import uuid

import httpx
from google.protobuf import json_format

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))

import client as current
from client import check, expect, fails_with, same, state_is
from webhook import Webhook

from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.compat.v0_3.types import Task
from a2a.types.a2a_pb2 import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    Part,
)
from a2a.utils import errors

# What 0.3 does not have, or says in another way below.
for operation in (
    'send-large',
    'send-history-length',
    'tenant',
    'stream-silence',
    'stream-cut',
    'subscribe-input',
    'list-pages',
    'list-filters',
    'list-since',
    'error-subscribe-terminal',
    'error-page-size',
    'error-empty-message',
    'error-push-config',
    'error-version',
):
    del current.CHECKS[operation]


@check
async def card(peer):
    interfaces = peer.card.supported_interfaces
    expect(peer.binding in [one.protocol_binding for one in interfaces], f'{interfaces}')
    expect(peer.spoken in {one.protocol_version[:3] for one in interfaces}, f'{interfaces}')
    expect(peer.card.name and peer.card.version, 'the card has a name and a version')
    expect(peer.card.capabilities.streaming, 'streaming is declared')
    expect(peer.card.capabilities.push_notifications, 'push notifications are declared')
    expect(len(peer.card.skills) >= 1, 'the card has a skill')


@check
async def send_parts(peer):
    data = {'whole': 7, 'fraction': 0.25, 'list': [True, {'deep': [1, 2]}]}
    parts = [
        Part(text='Grüße, 世界 🌍\n"quoted"'),
        json_format.ParseDict({'data': data}, Part()),
        Part(raw=bytes(range(256)), filename='bytes.bin', media_type='application/octet-stream'),
        Part(url='https://example.com/a%20b?c=d', filename='b', media_type='text/html'),
    ]
    task = await peer.task(parts=parts, message_id=f'acc-echo-{uuid.uuid4()}')
    state_is(task.status, 'COMPLETED')
    same(list(task.artifacts[0].parts), parts, 'parts')
    same(list(task.history[0].parts), parts, 'parts of the history')


@check
async def get(peer):
    sent = await peer.task('echo stored')
    same(await peer.get(sent.id), sent, 'task')
    same(len((await peer.get(sent.id, history_length=1)).history), 1, 'history of length 1')


@check
async def push_configs(peer):
    task = await peer.task('ask')
    client = peer.blocking
    urls = {'first': 'http://127.0.0.1:9/first', 'second': 'http://127.0.0.1:9/second'}
    for name, url in urls.items():
        config = current.push_config(task.id, url, name)
        created = await client.create_task_push_notification_config(config)
        same((created.task_id, created.id, created.url), (task.id, name, url), 'created')
    got = await client.get_task_push_notification_config(
        GetTaskPushNotificationConfigRequest(task_id=task.id, id='first')
    )
    same((got.task_id, got.id, got.url), (task.id, 'first', urls['first']), 'config')
    if peer.binding == 'HTTP+JSON' and peer.spoken == '0.3':
        # The SDK has no more over this binding.
        return

    async def listed():
        request = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        answer = await client.list_task_push_notification_configs(request)
        return {one.id: one.url for one in answer.configs}

    same(await listed(), urls, 'configs')
    await client.delete_task_push_notification_config(
        DeleteTaskPushNotificationConfigRequest(task_id=task.id, id='first')
    )
    same(list(await listed()), ['second'], 'configs after the deletion')


async def delivered(webhook, task_id, headers):
    """Awaits the delivery of the task, done, as 0.3 has it."""

    def done(_, body):
        return (body.get('status') or {}).get('state') == 'completed'

    got, body = await webhook.until(done)
    same(Task.model_validate(body).id, task_id, 'task id of the delivery')
    for name, value in headers.items():
        same(got.get(name), value, name)


# The checks of deliveries look it up there.
current.delivered = delivered


@check
async def error_send_terminal(peer):
    task = await peer.task('echo hello')
    again = {'task_id': task.id, 'context_id': task.context_id}
    # There is no rule for it.
    refused = (errors.InvalidParamsError, errors.UnsupportedOperationError)
    await fails_with(refused, peer.send('again', **again))


@check
async def crashed_task(peer):
    # The SDK of 0.3 answers with an error.
    try:
        task = await peer.task('panic')
    except A2AClientError as error:
        expect('internal' in str(error).lower(), f'expected an internal error, got {error!r}')
    except errors.InternalError:
        pass
    else:
        state_is(task.status, 'FAILED')


class Peer(current.Peer):
    """One agent at one binding, spoken to in 0.3 or, by a gateway, in 1.0."""

    def __init__(self, card, binding, spoken):
        self.card = card
        self.binding = binding
        self.spoken = spoken
        self.blocking = self.connect(streaming=False)
        self.streaming = self.connect(streaming=True)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--binding', required=True)
    parser.add_argument('--proxied', action='store_true')
    parser.add_argument('--only', action='append')
    arguments = parser.parse_args()
    async with httpx.AsyncClient() as http:
        document = (await http.get(f'{arguments.card}/.well-known/agent-card.json')).json()
    if not arguments.proxied:
        document.pop('supportedInterfaces')
    spoken = '1.0' if arguments.proxied else '0.3'
    peer = Peer(parse_agent_card(document), arguments.binding, spoken)
    for operation, function in current.CHECKS.items():
        if not arguments.only or operation in arguments.only:
            await current.run(operation, function, peer)
    await peer.blocking.close()
    await peer.streaming.close()


if __name__ == '__main__':
    sys.exit(asyncio.run(main()))
