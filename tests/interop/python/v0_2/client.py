"""Every operation that 0.2 has, by the client of the official Python SDK, against one agent.

    client.py --card URL --binding JSONRPC|GRPC [--only OPERATION]

The checks and what they print are in ../older.py.
"""

import asyncio
import json
import os
import sys
import uuid

import grpc
from httpx_sse import aconnect_sse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))

import older

from a2a.client import A2ACardResolver, A2AClient, A2AGrpcClient
from a2a.grpc import a2a_pb2, a2a_pb2_grpc
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    JSONRPCErrorResponse,
    MessageSendConfiguration,
    MessageSendParams,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SendStreamingMessageResponse,
    SetTaskPushNotificationConfigRequest,
    TaskIdParams,
    TaskResubscriptionRequest,
)
from a2a.utils.constants import EXTENDED_AGENT_CARD_PATH
from a2a.utils.proto_utils import FromProto


class Refused(Exception):
    """An error of JSON-RPC, which the SDK returns."""

    def __init__(self, error):
        super().__init__(repr(error))
        self.error = error


def result(response):
    root = response.root
    if isinstance(root, JSONRPCErrorResponse):
        raise Refused(root.error)
    return root.result


def ask(request, params):
    return request(id=str(uuid.uuid4()), params=params)


def sending(message, **configuration):
    configuration = MessageSendConfiguration(accepted_output_modes=['text/plain'], **configuration)
    return MessageSendParams(message=message, configuration=configuration)


class RpcPeer(older.Peer):
    """One agent over JSON-RPC."""

    def __init__(self, card, binding, http):
        super().__init__(card, binding, http)
        self.client = A2AClient(http, card)

    async def extended_card(self):
        base = self.card.url.rstrip('/')
        return await A2ACardResolver(self.http, base).get_agent_card(EXTENDED_AGENT_CARD_PATH)

    async def send(self, message, waiting, extensions, push):
        params = sending(message, blocking=waiting, push_notification_config=push)
        headers = {'X-A2A-Extensions': ','.join(extensions)} if extensions else {}
        asked = ask(SendMessageRequest, params)
        return result(await self.client.send_message(asked, http_kwargs={'headers': headers}))

    async def events(self, message):
        asked = ask(SendStreamingMessageRequest, sending(message))
        async for one in self.client.send_message_streaming(asked):
            yield result(one)

    async def resubscribe(self, task_id):
        # The client of the SDK has no method for it, its server has.
        asked = ask(TaskResubscriptionRequest, TaskIdParams(id=task_id))
        body = asked.model_dump(mode='json', exclude_none=True)
        async with aconnect_sse(self.http, 'POST', self.card.url, json=body) as events:
            async for one in events.aiter_sse():
                yield result(SendStreamingMessageResponse.model_validate(json.loads(one.data)))

    async def query(self, params):
        return result(await self.client.get_task(ask(GetTaskRequest, params)))

    async def cancel(self, task_id):
        asked = ask(CancelTaskRequest, TaskIdParams(id=task_id))
        return result(await self.client.cancel_task(asked))

    async def set_callback(self, config):
        asked = ask(SetTaskPushNotificationConfigRequest, config)
        return result(await self.client.set_task_callback(asked))

    async def get_callback(self, params):
        asked = ask(GetTaskPushNotificationConfigRequest, params)
        return result(await self.client.get_task_callback(asked))


class GrpcPeer(older.Peer):
    """One agent over gRPC."""

    def __init__(self, card, binding, http):
        super().__init__(card, binding, http)
        url = next(one.url for one in card.additional_interfaces if one.transport == binding)
        self.stub = a2a_pb2_grpc.A2AServiceStub(grpc.aio.insecure_channel(url))
        self.client = A2AGrpcClient(self.stub, card)

    async def extended_card(self):
        return FromProto.agent_card(await self.stub.GetAgentCard(a2a_pb2.GetAgentCardRequest()))

    async def send(self, message, waiting, extensions, push):
        older.expect(not extensions, 'the client of the SDK sends no metadata over gRPC')
        params = sending(message, blocking=waiting, push_notification_config=push)
        return await self.client.send_message(params)

    def events(self, message):
        return self.client.send_message_streaming(sending(message))

    async def resubscribe(self, task_id):
        # The client of the SDK has no method for it, its server has.
        asked = a2a_pb2.TaskSubscriptionRequest(name=f'tasks/{task_id}')
        async for one in self.stub.TaskSubscription(asked):
            match one.WhichOneof('payload'):
                case 'task':
                    yield FromProto.task(one.task)
                case 'status_update':
                    yield FromProto.task_status_update_event(one.status_update)
                case 'artifact_update':
                    yield FromProto.task_artifact_update_event(one.artifact_update)

    async def query(self, params):
        return await self.client.get_task(params)

    async def cancel(self, task_id):
        return await self.client.cancel_task(TaskIdParams(id=task_id))

    async def set_callback(self, config):
        return await self.client.set_task_callback(config)

    async def get_callback(self, params):
        return await self.client.get_task_callback(TaskIdParams(id=params.id))


PEERS = {'JSONRPC': RpcPeer, 'GRPC': GrpcPeer}


def connect(card, binding, http):
    return PEERS[binding](card, binding, http)


if __name__ == '__main__':
    asyncio.run(older.main(connect))
