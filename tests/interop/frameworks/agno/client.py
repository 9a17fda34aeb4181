"""RemoteAgent of Agno, with its JSON-RPC binding, against our demo agent."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
# Before the framework, whose logger keeps the standard output it finds.
from driver import CHUNKS, FAILURE, QUESTION, check, contains, lacks, run_checks, same

from agno.agent import RemoteAgent
from agno.run.agent import RunContentEvent
from agno.run.base import RunStatus

lacks('cancel', 'RemoteAgent cancels runs of AgentOS only')
lacks('data', 'results are text; data parts are dropped')
lacks('files', 'files are sent by URL alone, and files of answers are dropped')
lacks('push', 'there are no webhooks')


def remote(url):
    return RemoteAgent(
        base_url=url, agent_id='demo', protocol='a2a', a2a_protocol='json-rpc', timeout=15
    )


@check
async def card(url):
    config = await remote(url).get_agent_config()
    same(config.name, 'Demo agent', 'name')


@check
async def send(url):
    output = await remote(url).arun('echo hello')
    same(output.content, 'hello', 'content')


@check
async def stream(url):
    events = [
        event async for event in remote(url).arun('stream 3', stream=True, stream_events=True)
    ]
    same(
        [event.content for event in events if isinstance(event, RunContentEvent)],
        CHUNKS,
        'contents',
    )


@check
async def multi_turn(url):
    agent = remote(url)
    asked = await agent.arun('ask')
    contains(str(asked.content), QUESTION, 'question')
    answered = await agent.arun('Ada', session_id=asked.session_id)
    contains(str(answered.content), 'You said: Ada', 'answer')


@check
async def failed(url):
    output = await remote(url).arun('fail')
    same(output.status, RunStatus.error, 'status')
    contains(str(output.content), FAILURE, 'content')


@check
async def error(url):
    try:
        output = await remote(url).arun('panic')
    except Exception as error:
        return f'raised {error!r}'
    same(output.status, RunStatus.error, 'status')


if __name__ == '__main__':
    run_checks()
