"""Shared by drivers beside this file.

For agents: the words of the fake models (`answer`) and `announce`. For clients: `check`, `lacks`
and `run_checks`.
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


async def answer(turns, files=(), data=()):
    """Yields what a fake model says to the last of the user's `turns`.

    `files` are pairs of media type and bytes, `data` are JSON values; both are of the last turn.
    """
    last = turns[-1] if turns else ''
    word, _, rest = last.partition(' ')
    if files:
        yield ', '.join(f'{media_type} {len(content)} bytes' for media_type, content in files)
    elif data:
        yield ', '.join(json.dumps(value) for value in data)
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


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


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

    def leave_with_parent():
        while os.read(0, 1024):
            pass
        os._exit(0)

    for function in (wait_and_print, leave_with_parent):
        threading.Thread(target=function, daemon=True).start()


# -- clients --------------------------------------------------------------------------------

CHECKS = {}
LACKING = {}


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
