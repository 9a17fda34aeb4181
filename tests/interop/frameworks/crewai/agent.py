"""An agent of CrewAI with a fake model, run by crewai.a2a on the A2A SDK over JSON-RPC."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

os.environ.update(
    CREWAI_DISABLE_TELEMETRY='true', OTEL_SDK_DISABLED='true', CREWAI_TRACING_ENABLED='false'
)

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.types import AgentCapabilities
from crewai import Agent, BaseLLM
from crewai.a2a import A2AServerConfig
from crewai.a2a.utils.task import cancel, execute

sys.path.append(str(Path(__file__).parents[1]))
import driver

CANNOT = {
    'stream': 'crewai.a2a.utils.task.execute emits one event, the completed task',
    'multi-turn': 'every message becomes a crewai.Task of its own, without the earlier messages',
    'ask': 'execute has no INPUT_REQUIRED: every task is completed or fails',
    'cancel': 'the only event is the completed task, so a running task has no id',
    'files': 'media types outside the input modes are refused; other files become input_files of a '
    'crewai.Task, which only a Crew passes to the model',
    'subscribe': 'the only event is the completed task, so a running task has no id',
}


class Model(BaseLLM):
    """Answers to the task in the prompt."""

    def call(self, messages, *_, **__):
        prompt = messages[-1]['content']
        text = re.search(
            r'Current Task: (.*?)(?:\n\nStructured Data:\n(.*?))?\n\nThis is the expected',
            prompt,
            re.S,
        )
        data = json.loads(text[2]) if text[2] else []
        return asyncio.run(driver.whole_answer([text[1]], data=data))


class Executor(AgentExecutor):
    def __init__(self, agent):
        self.agent = agent

    async def execute(self, context, event_queue):
        await execute(self.agent, context, event_queue)

    async def cancel(self, context, event_queue):
        await cancel(context, event_queue)


if __name__ == '__main__':
    port = driver.free_port()
    url = f'http://127.0.0.1:{port}'
    agent = Agent(
        role='crewai',
        goal='answer by the first word of a message',
        backstory='a program',
        llm=Model(model='fake'),
        max_retry_limit=0,
        a2a=A2AServerConfig(
            url=url,
            capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        ),
    )
    push_configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Executor(agent),
        task_store=InMemoryTaskStore(),
        push_config_store=push_configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), push_configs),
    )
    app = A2AStarletteApplication(agent_card=agent.to_agent_card(url), http_handler=handler).build()
    driver.announce(url, ['JSONRPC'], '0.3', CANNOT)
    uvicorn.run(app, host='127.0.0.1', port=port, log_level='warning')
