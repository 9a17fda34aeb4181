"""An agent on the Agent Stack SDK, served over JSON-RPC and HTTP+JSON.

Its agents are functions that bring their own model, so the fake model is called as it is.
"""

import base64
import sys
import uuid
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import driver  # Before the framework, whose logger keeps the standard output it finds.

import httpx
from a2a.server.tasks import BasePushNotificationSender, InMemoryPushNotificationConfigStore
from a2a.types import AgentCapabilities, Message, Role, TextPart
from a2a.utils import get_data_parts, get_file_parts, get_message_text
from agentstack_sdk.a2a.types import ArtifactChunk, InputRequired
from agentstack_sdk.server import Server
from agentstack_sdk.server.context import RunContext

server = Server()


@server.agent(
    name='agent-stack', capabilities=AgentCapabilities(streaming=True, push_notifications=True)
)
async def agent(message: Message, context: RunContext):
    """Answers by the first word of a message."""
    await context.store(message)
    said = [
        one
        async for one in context.load_history()
        if isinstance(one, Message) and one.role == Role.user
    ]
    turns = [get_message_text(one) for one in said]
    if turns[-1] == 'ask':
        message = yield InputRequired(text='what is your name?')
        turns = [get_message_text(message)]
    files = [
        (file.mime_type, base64.b64decode(file.bytes)) for file in get_file_parts(message.parts)
    ]
    artifact_id = str(uuid.uuid4())
    async for chunk in driver.answer(turns, files, get_data_parts(message.parts)):
        yield ArtifactChunk(artifact_id=artifact_id, name='answer', parts=[TextPart(text=chunk)])


if __name__ == '__main__':
    port = driver.free_port()
    push_configs = InMemoryPushNotificationConfigStore()
    driver.announce(f'http://127.0.0.1:{port}', ['JSONRPC', 'HTTP+JSON'], '0.3', {})
    server.run(
        host='127.0.0.1',
        port=port,
        self_registration=False,
        push_config_store=push_configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), push_configs),
    )
