"""Every operation that 0.3 has, by the client of the official Python SDK, against one agent.

    client.py --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]

The checks and what they print are in ../older.py.
"""

import asyncio
import os
import sys

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))

import older

from a2a.client import ClientConfig, ClientFactory
from a2a.types import TaskIdParams


class Peer(older.Peer):
    """One agent at one binding, called in the ways the SDK has."""

    def __init__(self, card, binding, http):
        super().__init__(card, binding, http)
        self.blocking = self.connect(streaming=False)
        self.polling = self.connect(streaming=False, polling=True)
        self.streaming = self.connect(streaming=True)

    def connect(self, **settings):
        config = ClientConfig(
            supported_transports=[self.binding],
            use_client_preference=True,
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            **settings,
        )
        return ClientFactory(config).create(self.card.model_copy(deep=True))

    async def extended_card(self):
        return await self.connect(streaming=False).get_card()

    async def send(self, message, waiting, extensions, push):
        client = self.blocking if waiting else self.polling
        if push:
            client = self.connect(streaming=False, push_notification_configs=[push])
        answers = [one async for one in client.send_message(message, extensions=extensions)]
        older.same(len(answers), 1, 'answers')
        return event(answers[0])

    async def events(self, message):
        async for one in self.streaming.send_message(message):
            yield event(one)

    async def resubscribe(self, task_id):
        async for one in self.streaming.resubscribe(TaskIdParams(id=task_id)):
            yield event(one)

    async def query(self, params):
        return await self.blocking.get_task(params)

    async def cancel(self, task_id):
        return await self.blocking.cancel_task(TaskIdParams(id=task_id))

    async def set_callback(self, config):
        return await self.blocking.set_task_callback(config)

    async def get_callback(self, params):
        return await self.blocking.get_task_callback(params)


def event(one):
    """What came, out of the pair of a task and an update that the SDK makes of it."""
    if not isinstance(one, tuple):
        return one
    # A copy: what the SDK gathers into its task is the very object that it hands out.
    task, update = one
    return (task if update is None else update).model_copy(deep=True)


if __name__ == '__main__':
    asyncio.run(older.main(Peer))
