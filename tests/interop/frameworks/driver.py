"""What the drivers of the Python frameworks share.

For agents: what the fake models say (`answer`, `asks`), and `announce` or `serve`. For clients:
`check`, `lacks`, `Lacking` and `run_checks`.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import threading
import time
import traceback
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / 'python'))
from webhook import Webhook  # noqa: E402, F401

# Frameworks print what they do; standard output is for the lines of the drivers.
sys.stdout = sys.stderr

SERVER_ROWS = (
    'card',
    'send',
    'stream',
    'multi-turn',
    'ask',
    'cancel',
    'get',
    'subscribe',
    'files',
    'data',
    'failed',
    'push',
)
CLIENT_ROWS = (
    'card',
    'send',
    'stream',
    'multi-turn',
    'cancel',
    'files',
    'data',
    'failed',
    'push',
    'error',
)
SECONDS = 20

# What the demo agent of `a2a serve` answers.
CHUNKS = ['chunk 1 of 3', 'chunk 2 of 3', 'chunk 3 of 3']
QUESTION = 'What is your name?'
FAILURE = 'Failed, as you asked'
PNG_START = b'\x89PNG\r\n\x1a\n'
DATA = {'city': 'Oslo', 'days': ['Mon', 'Tue'], 'degrees': -3, 'wind': None}


# -- agents ---------------------------------------------------------------------------------


def asks(turns):
    """Whether a fake model asks the user for the name."""
    return bool(turns) and turns[-1] == 'ask'


async def answer(turns, files=(), data=()):
    """Yields what a fake model says to the last of the user's `turns`.

    `files` are pairs of media type and bytes, `data` are JSON values; both are of the last turn.
    """
    last = turns[-1] if turns else ''
    word, _, rest = last.partition(' ')
    if files or data:
        yield ', '.join(
            [f'{media_type} {len(content)} bytes' for media_type, content in files]
            + [json.dumps(value) for value in data]
        )
    elif len(turns) > 1 and turns[-2] == 'ask':
        yield f'hello {last}'
    elif word == 'echo':
        yield rest
    elif word == 'stream':
        for index in range(int(rest)):
            yield f'chunk {index} '
            await asyncio.sleep(0.2)
    elif word == 'remember':
        yield 'remembered'
    elif word == 'recall':
        kept = [turn.partition(' ')[2] for turn in turns if turn.startswith('remember ')]
        yield kept[-1] if kept else 'nothing to recall'
    elif word == 'slow':
        await asyncio.sleep(float(rest))
        yield 'done'
    elif word == 'fail':
        raise RuntimeError('failed as asked')
    else:
        yield last


async def whole_answer(turns, files=(), data=()):
    return ''.join([chunk async for chunk in answer(turns, files, data)])


def listen():
    """A socket on a free port, and the port."""
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    return listener, listener.getsockname()[1]


def free_port():
    listener, port = listen()
    listener.close()
    return port


def announce(card, bindings, version, cannot, **more):
    """Prints the line of the agent once it answers; exits at the end of standard input.

    `card` is the base URL of the agent or the URL of its card.
    """
    address = card if card.endswith('.json') else f'{card}/.well-known/agent-card.json'

    def wait_and_print():
        while True:
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        can = [row for row in SERVER_ROWS if row not in cannot]
        line = {
            'card': card,
            'bindings': bindings,
            'version': version,
            'can': can,
            'cannot': cannot,
            **more,
        }
        print(json.dumps(line), file=sys.__stdout__, flush=True)

    for function in (wait_and_print, leave_with_parent):
        threading.Thread(target=function, daemon=True).start()


async def serve(app, listener, ready):
    """Serves `app` with uvicorn, prints `ready`, and exits at the end of standard input."""
    import uvicorn

    threading.Thread(target=leave_with_parent, daemon=True).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level='warning'))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    print(json.dumps(ready), file=sys.__stdout__, flush=True)
    await serving


def leave_with_parent():
    while os.read(0, 1024):
        pass
    os._exit(0)


# -- clients --------------------------------------------------------------------------------

CHECKS = {}
LACKING = {}


class Lacking(Exception):
    """The framework has no such thing; the text says what it does instead."""


def check(function):
    """Registers `function`, which takes the URL of the card, as the row it is named for."""
    CHECKS[function.__name__.replace('_', '-')] = function
    return function


def lacks(row, reason):
    """Registers that the framework has no such thing."""
    LACKING[row] = reason


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def same(actual, expected, what):
    expect(actual == expected, f'{what}: expected {expected!r}, got {actual!r}')


def contains(actual, expected, what):
    expect(expected in actual, f'{what}: {expected!r} is not in {actual!r}')


def report(row, ok, detail=''):
    print(
        json.dumps({'operation': row, 'ok': ok, 'detail': detail}), file=sys.__stdout__, flush=True
    )


def short(text):
    return text if len(text) <= 600 else text[:600] + '…'


async def run(row, function, card):
    try:
        detail = await asyncio.wait_for(function(card), SECONDS)
    except Lacking as lacking:
        report(row, None, str(lacking))
    except AssertionError as error:
        traceback.print_exc()
        report(row, False, short(str(error)))
    except asyncio.TimeoutError:
        report(row, False, f'no end within {SECONDS} s')
    except Exception as error:
        traceback.print_exc()
        report(row, False, short(repr(error)))
    else:
        report(row, True, detail or '')


def run_checks():
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--only', action='append')
    arguments = parser.parse_args()

    async def every():
        for row in arguments.only or CLIENT_ROWS:
            if row in LACKING:
                report(row, None, LACKING[row])
            else:
                await run(row, CHECKS[row], arguments.card)

    asyncio.run(every())
    # Threads of a row that hung do not keep the process.
    os._exit(0)
