"""The agent of ../server.py on the current Python SDK, with its compatibility with 0.3 on.

Prints one line of JSON with its addresses when it is ready and runs until its standard
input closes.
"""

import asyncio
import json
import os
import socket
import sys
import threading

import grpc
import httpx
import uvicorn
from starlette.applications import Starlette

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..'))

import server as current

from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.request_handlers import DefaultRequestHandlerV2, GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import AgentCard


def card(http, rpc):
    """The card of the agent, with every interface in both revisions."""
    public = current.card(http, rpc)
    for one in list(public.supported_interfaces):
        public.supported_interfaces.add(
            url=one.url, protocol_binding=one.protocol_binding, protocol_version='0.3'
        )
    return public


async def main():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    http = f'http://127.0.0.1:{listener.getsockname()[1]}'
    grpc_server = grpc.aio.server()
    rpc = f"127.0.0.1:{grpc_server.add_insecure_port('127.0.0.1:0')}"

    public = card(http, rpc)
    extended = AgentCard()
    extended.CopyFrom(public)
    extended.skills.append(current.skill('secret'))
    push_configs = InMemoryPushNotificationConfigStore()
    async with httpx.AsyncClient() as webhooks:
        handler = DefaultRequestHandlerV2(
            agent_executor=current.Agent(),
            task_store=InMemoryTaskStore(),
            agent_card=public,
            push_config_store=push_configs,
            push_sender=BasePushNotificationSender(webhooks, push_configs),
            extended_agent_card=extended,
        )
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(
            CompatGrpcHandler(handler), grpc_server
        )
        await grpc_server.start()
        app = Starlette(
            routes=[
                *create_agent_card_routes(public),
                *create_jsonrpc_routes(handler, '/', enable_v0_3_compat=True),
                *create_rest_routes(handler, enable_v0_3_compat=True),
            ]
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level='warning'))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        print(json.dumps({'card': http, 'http': http, 'grpc': rpc}), flush=True)
        await serving


if __name__ == '__main__':
    threading.Thread(target=current.leave_with_parent, daemon=True).start()
    asyncio.run(main())
