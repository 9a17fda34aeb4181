"""The JSON lines of `a2a serve --io jsonl`, for programs in Python 3.8 or newer."""
import base64, json, os, pathlib, signal, sys

# print() is for people: it goes to the log of the server.
_lines, sys.stdout = sys.stdout, sys.stderr
# A cancel ends the program as Ctrl-C would: `finally` and `with` blocks run.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def _write(**line):
    print(json.dumps(line), file=_lines, flush=True)


def _read():
    return json.loads(sys.stdin.readline() or sys.exit(0))


def part(value):
    """A part of text, bytes, a file (pathlib.Path) or data."""
    if isinstance(value, pathlib.Path):
        return {**part(value.read_bytes()), "filename": value.name}
    if isinstance(value, bytes):
        return {"raw": base64.b64encode(value).decode()}
    return {"text": value} if isinstance(value, str) else {"data": value}


def text(message):
    return "\n".join(part["text"] for part in message["parts"] if "text" in part)


def data(message):
    return [part["data"] for part in message["parts"] if "data" in part]


def files(message):
    """The names and contents of the files in a message."""
    return [(part.get("filename", ""), base64.b64decode(part["raw"])) for part in message["parts"] if "raw" in part]


def say(text):
    """Adds text to the output, as it comes."""
    _write(text=text)


def progress(share, text=None, **metadata):
    _write(progress=share, **({"text": text} if text else {}), **({"metadata": metadata} if metadata else {}))


def ask(*values, **metadata):
    """Asks the caller, and returns the answer, a message."""
    _write(state="input-required", parts=[part(value) for value in values], **({"metadata": metadata} if metadata else {}))
    return _read()


def history(count=20):
    """The last tasks of the conversation before this one, oldest first."""
    _write(history=count)
    return _read()["tasks"]


def artifact(name, *values, id=None, append=False, last=True):
    """Sends an artifact, or a chunk of the one with this id."""
    _write(artifact={"artifactId": id or name, "name": name, "parts": [part(value) for value in values]}, append=append, lastChunk=last)


def fail(reason):
    """Ends the task; the caller sees the reason."""
    _write(state="failed", text=reason)
    sys.exit(0)


def run(main):
    """Handles the message of this run."""
    main(_read())
    _write(state="completed")
