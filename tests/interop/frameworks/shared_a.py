"""What the drivers of the Python frameworks beside this file share.

For agents: the words of their fake models (`answer`) and `serve`. For clients: `Lacking`,
`expect` and `run`.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
import threading
import traceback

import uvicorn

# -- agents ---------------------------------------------------------------------------------

QUESTION = 'What is your name?'


def asks(turns):
    """Whether the fake model asks the user, given the texts of the user so far."""
    return bool(turns) and turns[-1] == 'ask'


async def answer(turns, files=(), data=()):
    """Yields what the fake model says, in chunks.

    `turns` are the texts of the user in this conversation, oldest first; `files`, pairs of a
    media type and bytes, and `data`, JSON values, are those of the newest message.
    """
    text = turns[-1] if turns else ''
    word, _, rest = text.partition(' ')
    if files or data:
        yield ' '.join(
            [f'{media_type} {len(content)} bytes' for media_type, content in files]
            + [json.dumps(value, sort_keys=True) for value in data]
        )
    elif len(turns) > 1 and turns[-2] == 'ask':
        yield f'hello {text}'
    elif word == 'stream':
        for index in range(int(rest)):
            yield f'chunk {index} '
            await asyncio.sleep(0.05)
    elif word == 'slow':
        await asyncio.sleep(float(rest))
        yield f'slept {rest} s'
    elif word == 'remember':
        yield 'noted'
    elif word == 'recall':
        told = [one.partition(' ')[2] for one in turns if one.startswith('remember ')]
        yield told[-1] if told else 'nothing to recall'
    elif word == 'fail':
        raise RuntimeError('the model failed as asked')
    else:
        yield rest or text


def listen():
    """A socket on a free port of the loopback, and its port."""
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    return listener, listener.getsockname()[1]


async def serve(app, listener, ready):
    """Serves `app`, prints `ready` as JSON once it accepts, and exits with standard input."""

    def leave_with_parent():
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=leave_with_parent, daemon=True).start()
    server = uvicorn.Server(uvicorn.Config(app, log_level='warning'))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    print(json.dumps(ready), flush=True)
    await serving


# -- clients --------------------------------------------------------------------------------

SECONDS = 20


class Lacking(Exception):
    """The framework has no such thing; the text says what it does instead."""


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def run(checks):
    """Runs the coroutine functions `checks`, by row, against `--card`; prints a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--only', action='append', choices=list(checks))
    options = parser.parse_args()

    async def all_of_them():
        for row in options.only or checks:
            try:
                detail = await asyncio.wait_for(checks[row](options.card), SECONDS)
                ok, detail = True, detail or ''
            except Lacking as lacking:
                ok, detail = None, str(lacking)
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                ok, detail = False, f'{type(error).__name__}: {error}'
            print(json.dumps({'operation': row, 'ok': ok, 'detail': detail}), flush=True)

    asyncio.run(all_of_them())
