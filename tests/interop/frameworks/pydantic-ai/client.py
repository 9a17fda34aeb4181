"""The client of fasta2a, the A2A library of Pydantic AI, against our demo agent.

Pydantic AI has no class for remote agents beside it.
"""

import asyncio
import base64
import sys
import uuid
from pathlib import Path

import httpx
from fasta2a.client import A2AClient

sys.path.append(str(Path(__file__).parents[1]))
from driver import (
    CHUNKS,
    DATA,
    FAILURE,
    PNG_START,
    QUESTION,
    check,
    contains,
    expect,
    lacks,
    run_checks,
    same,
)

lacks('cancel', 'A2AClient can send, stream and get, nothing else')
lacks(
    'push',
    'A2AClient can name a webhook, but its agents have no such thing and there is no receiver',
)


def message(text, **fields):
    return {'role': 'user', 'parts': [{'text': text}], 'message_id': str(uuid.uuid4()), **fields}


async def settled(url, text, **fields):
    """Returns the settled task that answers `text`."""
    client = A2AClient(url)
    answer = await client.send_message(message(text, **fields))
    expect('error' not in answer, f'error: {answer}')
    expect('task' in answer['result'], f'no task in the result: {answer}')
    task_id = answer['result']['task']['id']
    while True:
        answer = await client.get_task(task_id)
        expect('error' not in answer, f'error: {answer}')
        if answer['result']['status']['state'] not in ('submitted', 'working'):
            return answer['result']
        await asyncio.sleep(0.1)


def parts(task):
    return [part for artifact in task.get('artifacts', []) for part in artifact['parts']]


@check
async def card(url):
    def fetch():
        return A2AClient(url, http_client=httpx.AsyncClient(), fetch_card=True)

    client = await asyncio.to_thread(fetch)
    same(client.agent_card['name'], 'Demo agent', 'name')


@check
async def send(url):
    task = await settled(url, 'echo hello')
    same(task['status']['state'], 'completed', 'state')
    same([part['text'] for part in parts(task)], ['hello'], 'texts')


@check
async def stream(url):
    events = [event['result'] async for event in A2AClient(url).stream_message(message('stream 3'))]
    updates = [event['artifact_update'] for event in events if 'artifact_update' in event]
    expect(len(updates) >= 2, f'no artifact updates: {events}')
    same(
        [part['text'] for update in updates for part in update['artifact']['parts']],
        CHUNKS,
        'texts',
    )


@check
async def multi_turn(url):
    task = await settled(url, 'ask')
    same(task['status']['state'], 'input-required', 'state')
    same(task['status']['message']['parts'][0]['text'], QUESTION, 'question')
    task = await settled(url, 'Ada', task_id=task['id'], context_id=task['context_id'])
    same(task['status']['state'], 'completed', 'state')
    contains(str(parts(task)), 'Ada', 'answer')


@check
async def files(url):
    part = parts(await settled(url, 'file'))[0]
    same(part['media_type'], 'image/png', 'media type')
    expect(
        base64.b64decode(part['raw']).startswith(PNG_START), 'the bytes are not those of the image'
    )


@check
async def data(url):
    same([part['data'] for part in parts(await settled(url, 'data'))], [DATA], 'data')


@check
async def failed(url):
    task = await settled(url, 'fail')
    same(task['status']['state'], 'failed', 'state')
    same(task['status']['message']['parts'][0]['text'], FAILURE, 'failure')


@check
async def error(url):
    answer = await A2AClient(url).get_task(str(uuid.uuid4()))
    same(answer['error']['code'], -32001, 'code')


if __name__ == '__main__':
    run_checks()
