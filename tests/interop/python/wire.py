"""Where deployed SDKs differ on the wire, and that we take each of their ways, as raw HTTP.

    wire.py --card URL --binding JSONRPC|HTTP+JSON [--only OPERATION]

No SDK takes part: the requests are what one or another SDK sends, or what its server answers
in another way than others. Prints one line of JSON per check:
`{"operation": …, "ok": true|false, "detail": …}`. Against our server only: some rules are ours.
"""

import argparse
import itertools
import json
import sys
import traceback
import uuid

import httpx

JSON = 'application/json'
A2A_JSON = 'application/a2a+json'

CHECKS = {}


def check(*bindings):
    """Registers a function as the operation it is named for, at `bindings` or at both."""

    def register(function):
        name = function.__name__.replace('_', '-')
        for binding in bindings or ('JSONRPC', 'HTTP+JSON'):
            CHECKS[name, binding] = function
        return function

    return register


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def same(actual, expected, what):
    expect(actual == expected, f'{what}: expected {expected!r}, got {actual!r}')


def message(text, **fields):
    fields.setdefault('messageId', str(uuid.uuid4()))
    return {'role': 'ROLE_USER', 'parts': [{'text': text}], **fields}


# Method, path and the members of the request that the path has, as the proto binds them.
REST = {
    'SendMessage': ('POST', '/message:send', ()),
    'SendStreamingMessage': ('POST', '/message:stream', ()),
    'GetTask': ('GET', '/tasks/{id}', ('id',)),
    'ListTasks': ('GET', '/tasks', ()),
    'CancelTask': ('POST', '/tasks/{id}:cancel', ('id',)),
    'SubscribeToTask': ('POST', '/tasks/{id}:subscribe', ('id',)),
    'CreateTaskPushNotificationConfig': ('POST', '/tasks/{taskId}/pushNotificationConfigs', ('taskId',)),
    'DeleteTaskPushNotificationConfig': (
        'DELETE',
        '/tasks/{taskId}/pushNotificationConfigs/{id}',
        ('taskId', 'id'),
    ),
}


class Refused(Exception):
    """An error of the peer: the reason in its ErrorInfo, and the response it came in."""

    def __init__(self, reason, response):
        super().__init__(f'{reason}: HTTP {response.status_code} {response.text}')
        self.reason = reason
        self.response = response


class Peer:
    def __init__(self, http, base, binding):
        self.http = http
        self.base = base
        self.binding = binding
        card = http.get(f'{base}/.well-known/agent-card.json').json()
        self.ids = itertools.count(1)
        interface = next(
            one
            for one in card['supportedInterfaces']
            if one['protocolBinding'] == binding and one['protocolVersion'] == '1.0'
        )
        self.url = interface['url']

    @property
    def is_rpc(self):
        return self.binding == 'JSONRPC'

    def request(self, method, params, headers=None, query=None):
        """The request for an operation, version 1.0 unless `headers` say otherwise."""
        sent = {'A2A-Version': '1.0'} if headers is None else headers
        if self.is_rpc:
            body = {'jsonrpc': '2.0', 'id': next(self.ids), 'method': method, 'params': params}
            return self.http.build_request('POST', self.url, json=body, headers=sent, params=query)
        verb, path, in_path = REST[method]
        url = self.url.rstrip('/') + path.format(**params)
        rest = {name: value for name, value in params.items() if name not in in_path}
        if verb == 'POST':
            sent = {'Content-Type': A2A_JSON, **dict(sent)} if isinstance(sent, dict) else sent
            content = json.dumps(rest)
            return self.http.build_request(verb, url, content=content, headers=sent, params=query)
        return self.http.build_request(verb, url, params={**rest, **(query or {})}, headers=sent)

    def answer(self, response):
        """What an operation answered; raises `Refused` for an error."""
        body = response.json()
        error = body.get('error')
        if error is None:
            return body.get('result') if self.is_rpc else body
        details = error.get('data') if self.is_rpc else error.get('details')
        infos = [one for one in details or [] if one['@type'].endswith('google.rpc.ErrorInfo')]
        expect(infos, f'the error has an ErrorInfo: {body}')
        same(infos[0]['domain'], 'a2a-protocol.org', 'domain')
        raise Refused(infos[0]['reason'], response)

    def call(self, method, params, headers=None, query=None):
        return self.answer(self.http.send(self.request(method, params, headers, query)))

    def refused(self, reason, method, params, headers=None, query=None):
        try:
            answer = self.call(method, params, headers, query)
        except Refused as refused:
            same(refused.reason, reason, 'reason')
            return refused.response
        raise AssertionError(f'expected {reason}, got {answer}')

    def task(self, text='echo hello', **fields):
        return self.call('SendMessage', {'message': message(text, **fields)})['task']

    def started(self, text):
        params = {'message': message(text), 'configuration': {'returnImmediately': True}}
        return self.call('SendMessage', params)['task']

    def post(self, content, content_type=JSON):
        """A body as it is, to where JSON-RPC goes or messages are sent."""
        url = self.url if self.is_rpc else self.url.rstrip('/') + '/message:send'
        headers = {'A2A-Version': '1.0', **({'Content-Type': content_type} if content_type else {})}
        return self.http.post(url, content=content, headers=headers)


# -- versions and extensions ----------------------------------------------------------------


@check()
def missing_version(peer):
    params = {'message': message('echo hello')}
    response = peer.refused('VERSION_NOT_SUPPORTED', 'SendMessage', params, headers={})
    expect('A2A-Version' in response.text, 'the error says what to send')


@check()
def patch_version(peer):
    params = {'message': message('echo hello')}
    same(list(peer.call('SendMessage', params, {'A2A-Version': '1.0.7'})), ['task'], 'answer')


@check()
def query_version(peer):
    params = {'message': message('echo hello')}
    query = {'A2A-Version': '1.0'}
    same(list(peer.call('SendMessage', params, {}, query)), ['task'], 'answer')
    # The header wins.
    peer.refused('VERSION_NOT_SUPPORTED', 'ListTasks', {}, {'A2A-Version': '9.9'}, query)


@check()
def extension_headers(peer):
    uris = [f'https://example.com/{name}' for name in 'abc']
    for lines in (
        [('A2A-Extensions', ', '.join(uris))],
        [('A2A-Extensions', uri) for uri in uris],
        [('X-A2A-Extensions', uris[0]), ('a2a-extensions', ','.join(uris[1:]))],
    ):
        headers = [('A2A-Version', '1.0'), ('Content-Type', JSON), *lines]
        text = message('extensions', messageId=f'acc-ext-{uuid.uuid4()}')
        task = peer.call('SendMessage', {'message': text}, headers)['task']
        status = task['status']['message']['parts'][0]['text']
        same(status, f'extensions: {",".join(uris)}', f'extensions of {lines}')


# -- envelopes ------------------------------------------------------------------------------


def rpc(peer, body):
    response = peer.post(json.dumps(body))
    return response, response.json()


@check('JSONRPC')
def request_ids(peer):
    for identity in ('one', '', 0, -7, 9007199254740993, None):
        call = {'jsonrpc': '2.0', 'id': identity, 'method': 'ListTasks', 'params': {}}
        _, body = rpc(peer, call)
        same(body['id'], identity, 'id')
        expect('result' in body and 'error' not in body, f'a result and no error: {body}')
    for call in (
        {'jsonrpc': '2.0', 'method': 'ListTasks', 'params': {}},
        {'jsonrpc': '2.0', 'id': True, 'method': 'ListTasks', 'params': {}},
        {'jsonrpc': '2.0', 'id': {}, 'method': 'ListTasks', 'params': {}},
        {'jsonrpc': '1.0', 'id': 1, 'method': 'ListTasks', 'params': {}},
    ):
        _, body = rpc(peer, call)
        same(body['error']['code'], -32600, f'code for {call}')


@check('JSONRPC')
def batch(peer):
    for calls in ([], [{'jsonrpc': '2.0', 'id': 1, 'method': 'ListTasks', 'params': {}}]):
        response, body = rpc(peer, calls)
        same((response.status_code, body['error']['code'], body['id']), (200, -32600, None), 'batch')


@check('JSONRPC')
def missing_params(peer):
    for call in ({}, {'params': None}):
        call = {'jsonrpc': '2.0', 'id': 1, 'method': 'ListTasks', **call}
        _, body = rpc(peer, call)
        expect('tasks' in body['result'], f'a result: {body}')


@check('JSONRPC')
def unknown_method(peer):
    for method in ('NoSuchMethod', 'sendmessage'):
        call = {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': {}}
        response, body = rpc(peer, call)
        same((response.status_code, body['error']['code'], body['id']), (200, -32601, 1), method)


@check()
def parse_error(peer):
    response = peer.post('{"jsonrpc": "2.0", ')
    if peer.is_rpc:
        same((response.status_code, response.json()['error']['code']), (200, -32700), 'error')
    else:
        same((response.status_code, response.json()['error']['code']), (400, 400), 'error')
    peer.task()


@check()
def error_status(peer):
    response = peer.refused('TASK_NOT_FOUND', 'GetTask', {'id': 'unknown'})
    error = response.json()['error']
    if peer.is_rpc:
        same((response.status_code, error['code']), (200, -32001), 'status and code')
    else:
        same((response.status_code, error['code'], error['status']), (404, 404, 'NOT_FOUND'), 'error')


@check()
def content_types(peer):
    call = {'message': message('echo hello')}
    if peer.is_rpc:
        call = {'jsonrpc': '2.0', 'id': 1, 'method': 'SendMessage', 'params': call}
    for content_type in (JSON, A2A_JSON, f'{JSON}; charset=utf-8', None):
        response = peer.post(json.dumps(call), content_type)
        same(response.status_code, 200, f'status for {content_type}')
    response = peer.post(json.dumps(call), 'text/plain')
    same(response.status_code, 415, 'status for text/plain')


@check('HTTP+JSON')
def accepted_types(peer):
    for accept, content_type in (
        (None, A2A_JSON),
        ('*/*', A2A_JSON),
        (f'{A2A_JSON}, {JSON}', A2A_JSON),
        (JSON, JSON),
        ('text/event-stream', JSON),
    ):
        headers = {'A2A-Version': '1.0', 'Accept': accept or ''}
        for task_id in (peer.task()['id'], 'unknown'):
            request = peer.request('GetTask', {'id': task_id}, headers)
            if accept is None:
                del request.headers['Accept']
            got = peer.http.send(request).headers['content-type']
            same(got.split(';')[0], content_type, f'type for {accept}, task {task_id}')


# -- the JSON of messages -------------------------------------------------------------------


@check()
def unknown_members(peer):
    task = peer.task(future={'member': 1}, parts=[{'text': 'echo hello', 'kind': 'text'}])
    same(task['status']['state'], 'TASK_STATE_COMPLETED', 'state')


@check()
def unknown_enum(peer):
    params = {'message': message('echo hello', role='ROLE_OF_THE_FUTURE')}
    peer.refused('INVALID_PARAMS', 'SendMessage', params)
    peer.refused('INVALID_PARAMS', 'ListTasks', {'status': 'TASK_STATE_OF_THE_FUTURE'})


@check()
def snake_case(peer):
    context_id = str(uuid.uuid4())
    sent = {'message_id': 'm', 'context_id': context_id, 'role': 'ROLE_USER', 'parts': [{'text': 'echo a'}]}
    task = peer.call('SendMessage', {'message': sent})['task']
    same(task['contextId'], context_id, 'context id')
    same(task['history'][0]['messageId'], 'm', 'message id')
    listed = peer.call('ListTasks', {'context_id': context_id, 'page_size': 1})
    same([one['id'] for one in listed['tasks']], [task['id']], 'tasks')


@check()
def enum_integers(peer):
    task = peer.task(role=1)
    same(task['history'][0]['role'], 'ROLE_USER', 'role')


@check()
def two_contents(peer):
    params = {'message': message('', parts=[{'text': 'a', 'url': 'https://example.com'}])}
    peer.refused('INVALID_PARAMS', 'SendMessage', params)


@check()
def required_members(peer):
    page = peer.call('ListTasks', {'contextId': 'nobody has this'})
    expected = {'tasks': [], 'nextPageToken': '', 'pageSize': 50, 'totalSize': 0}
    same(page, expected, 'an empty page')
    response = peer.refused('INVALID_PARAMS', 'SendMessage', {'message': {'parts': []}})
    details = response.json()['error']['data' if peer.is_rpc else 'details']
    broken = [one for one in details if one['@type'].endswith('google.rpc.BadRequest')]
    fields = {one['field'] for one in broken[0]['fieldViolations']}
    expect({'message.messageId', 'message.role', 'message.parts'} <= fields, f'fields {fields}')


@check()
def absent_members(peer):
    task = peer.task(contextId=str(uuid.uuid4()))
    without = peer.call('GetTask', {'id': task['id'], 'historyLength': 0})
    expect('history' not in without, 'a history of length 0 is no member')
    listed = peer.call('ListTasks', {'contextId': task['contextId']})['tasks'][0]
    expect('artifacts' not in listed, 'artifacts that were not asked for are no member')
    expect('null' not in json.dumps([task, listed]), 'nothing is null')


# -- streams --------------------------------------------------------------------------------


def read_events(response):
    """The events of a stream: a list of their lines, by field."""
    events, event = [], {}
    for line in response.iter_lines():
        if line == '':
            if event:
                events.append(event)
            event = {}
        elif not line.startswith(':'):
            field, _, value = line.partition(':')
            expect(field not in event, f'one {field} per event')
            event[field] = value.removeprefix(' ')
    return events


def streamed(peer, method, params, headers=None):
    request = peer.request(method, params, headers)
    request.headers['Accept'] = 'text/event-stream'
    response = peer.http.send(request, stream=True)
    same(response.status_code, 200, 'status')
    try:
        events = read_events(response)
    finally:
        response.close()
    results = [json.loads(event['data']) for event in events]
    if peer.is_rpc:
        results = [result['result'] for result in results]
    return response, events, results


@check()
def event_stream(peer):
    response, events, results = streamed(peer, 'SendStreamingMessage', {'message': message('stream 3')})
    same(response.headers['content-type'].split(';')[0], 'text/event-stream', 'type')
    expect('no-cache' in response.headers['cache-control'], 'nothing is cached')
    same(response.headers['x-accel-buffering'], 'no', 'buffering')
    positions = [int(event['id']) for event in events]
    same(positions, sorted(set(positions)), 'positions grow')
    same(list(results[0]), ['task'], 'first event')
    same(results[-1]['statusUpdate']['status']['state'], 'TASK_STATE_COMPLETED', 'last event')


@check()
def last_event_id(peer):
    _, events, results = streamed(peer, 'SendStreamingMessage', {'message': message('stream 3')})
    task_id = results[0]['task']['id']
    headers = {'A2A-Version': '1.0', 'Last-Event-ID': events[2]['id']}
    _, _, rest = streamed(peer, 'SubscribeToTask', {'id': task_id}, headers)
    same(rest, results[3:], 'events after the third')


@check()
def refused_stream(peer):
    for method, params in (
        ('SubscribeToTask', {'id': 'unknown'}),
        ('SendStreamingMessage', {'message': message('hi', taskId='unknown')}),
    ):
        response = peer.refused('TASK_NOT_FOUND', method, params)
        same(response.status_code, 200 if peer.is_rpc else 404, 'status')
        expect('json' in response.headers['content-type'], 'no stream was opened')


@check('HTTP+JSON')
def subscribe_verbs(peer):
    for verb in ('GET', 'POST'):
        task = peer.started('slow 1')
        url = f"{peer.url.rstrip('/')}/tasks/{task['id']}:subscribe"
        # Without a body and without a type, as SDK clients send it.
        with peer.http.stream(verb, url, headers={'A2A-Version': '1.0'}) as response:
            same(response.status_code, 200, verb)
            last = json.loads(read_events(response)[-1]['data'])
            same(last['statusUpdate']['status']['state'], 'TASK_STATE_COMPLETED', verb)


@check('HTTP+JSON')
def empty_bodies(peer):
    task = peer.started('slow 30')
    url = f"{peer.url.rstrip('/')}/tasks/{task['id']}:cancel"
    response = peer.http.post(url, headers={'A2A-Version': '1.0'})
    same(response.status_code, 200, 'status')
    same(response.json()['status']['state'], 'TASK_STATE_CANCELED', 'state')


# -- webhooks -------------------------------------------------------------------------------


@check()
def webhook_status(peer):
    task = peer.task('ask')
    config = {'taskId': task['id'], 'id': 'first', 'url': 'http://127.0.0.1:9/hook'}
    response = peer.http.send(peer.request('CreateTaskPushNotificationConfig', config))
    same(response.status_code, 200, 'status of the creation')
    created = peer.answer(response)
    same((created['taskId'], created['id']), (task['id'], 'first'), 'created webhook')
    for _ in range(2):
        request = peer.request('DeleteTaskPushNotificationConfig', {'taskId': task['id'], 'id': 'first'})
        response = peer.http.send(request)
        same(response.status_code, 200, 'status of the deletion')
        same(peer.answer(response), {}, 'answer to the deletion')


# -- paths and the card ---------------------------------------------------------------------


@check('JSONRPC')
def trailing_slash(peer):
    body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'ListTasks', 'params': {}})
    headers = {'A2A-Version': '1.0', 'Content-Type': JSON}
    for url in (peer.url.rstrip('/'), peer.url.rstrip('/') + '/'):
        response = peer.http.post(url, content=body, headers=headers)
        same(response.status_code, 200, url)
        expect('result' in response.json(), f'a result: {response.text}')


@check('HTTP+JSON')
def tenant_paths(peer):
    url = f"{peer.url.rstrip('/')}/acme"
    headers = {'A2A-Version': '1.0'}
    sent = {'message': message('echo hello')}
    task = peer.http.post(f'{url}/message:send', json=sent, headers=headers).json()['task']
    same(peer.http.get(f"{url}/tasks/{task['id']}", headers=headers).status_code, 200, 'its tenant')
    elsewhere = peer.http.get(f"{peer.url.rstrip('/')}/tasks/{task['id']}", headers=headers)
    same(elsewhere.status_code, 404, 'no tenant')


@check('HTTP+JSON')
def card_document(peer):
    url = f'{peer.base}/.well-known/agent-card.json'
    response = peer.http.get(url)
    same(response.headers['content-type'].split(';')[0], JSON, 'type')
    expect('max-age' in response.headers['cache-control'], 'the card can be cached')
    tag = response.headers['etag']
    same(peer.http.get(url, headers={'If-None-Match': tag}).status_code, 304, 'status with its tag')
    same(peer.http.head(url).status_code, 200, 'status of HEAD')


# -- driver ---------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--card', required=True)
    parser.add_argument('--binding', required=True)
    parser.add_argument('--only', action='append')
    arguments = parser.parse_args()
    with httpx.Client(timeout=30) as http:
        peer = Peer(http, arguments.card, arguments.binding)
        for (operation, binding), function in CHECKS.items():
            if binding != arguments.binding or arguments.only and operation not in arguments.only:
                continue
            detail = ''
            try:
                function(peer)
            except Exception as error:
                traceback.print_exc()
                detail = str(error) if isinstance(error, (AssertionError, Refused)) else repr(error)
            print(json.dumps({'operation': operation, 'ok': not detail, 'detail': detail}), flush=True)


if __name__ == '__main__':
    sys.exit(main())
