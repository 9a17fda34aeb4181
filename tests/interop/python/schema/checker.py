"""Checks the OpenAPI document, and with schemathesis that a server keeps to it.

    checker.py --card URL --binding HTTP+JSON [--only OPERATION]

Each operation of the document is called with requests made from its schema, good and bad ones,
and every answer is held against the document. Bad requests may be taken, as readers of ProtoJSON
take more than its writers write: `null`, numbers as texts, members in snake_case. So the one
check that is left out is that all of them are refused; `hooks.py` has what a schema can't say.
Prints one line of JSON per operation: `{"operation": …, "ok": true|false, "detail": …}`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import requests
from openapi_spec_validator import OpenAPIV31SpecValidator

HERE = Path(__file__).parent
VERSION = {'A2A-Version': '1.0'}

# Requests made for each operation, beyond those of its boundary values.
EXAMPLES = 50

# How long schemathesis may take for one operation, in seconds.
LIMIT = 120


def say(operation, problem):
    print(json.dumps({'operation': operation, 'ok': not problem, 'detail': problem}), flush=True)


def operations(document):
    """The id of each operation, without those that repeat one below a tenant."""
    for item in document['paths'].values():
        for operation in item.values():
            if 'OfTenant' not in operation['operationId']:
                yield operation['operationId']


def find(url, document, operation):
    """What schemathesis finds at one operation."""
    command = [
        Path(sys.executable).with_name('st'), 'run', document, '--url', url,
        *(f'--header={name}: {value}' for name, value in VERSION.items()),
        '--include-operation-id', operation, '--phases', 'examples,coverage,fuzzing',
        '--max-examples', str(EXAMPLES), '--seed', '2026', '--continue-on-failure',
        '--checks', 'all', '--exclude-checks', 'negative_data_rejection',
        '--request-timeout', '10', '--no-color',
    ]  # fmt: skip
    environment = {**os.environ, 'SCHEMATHESIS_HOOKS': str(HERE / 'hooks.py')}
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT
        )
    print(ran.stdout, ran.stderr, file=sys.stderr)
    if ran.returncode == 0:
        return ''
    _, _, failures = ran.stdout.partition(' FAILURES ')
    return failures or f'schemathesis ended with {ran.returncode}: {ran.stdout} {ran.stderr}'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--binding', required=True)
    parser.add_argument('--only', action='append', default=[])
    arguments = parser.parse_args()
    read = lambda path: requests.get(arguments.card + path, headers=VERSION, timeout=10)
    interfaces = read('/.well-known/agent-card.json').json()['supportedInterfaces']
    url = next(i['url'] for i in interfaces if i['protocolBinding'] == arguments.binding)
    document = read('/openapi.json').json()

    def wanted(operation):
        return not arguments.only or operation in arguments.only

    if wanted('openapi-document'):
        errors = OpenAPIV31SpecValidator(document).iter_errors()
        say('openapi-document', '; '.join(str(error.message) for error in errors))
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        json.dump(document, file)
        file.flush()
        for operation in filter(wanted, operations(document)):
            say(operation, find(url, file.name, operation))


if __name__ == '__main__':
    main()
