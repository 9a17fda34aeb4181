"""What a schema can't say of a request, for schemathesis."""

import uuid

import schemathesis

# An address that the server may call. All others are refused: that is a setting of the server.
WEBHOOK = 'http://127.0.0.1:9/'


def webhook(operation, body):
    """The webhook in a body."""
    if not isinstance(body, dict):
        return None
    if operation == 'CreateTaskPushNotificationConfig':
        return body
    configuration = body.get('configuration')
    return configuration.get('taskPushNotificationConfig') if isinstance(configuration, dict) else None


@schemathesis.hook
def before_call(context, case, kwargs):
    found = webhook(case.operation.definition.raw['operationId'], case.body)
    if isinstance(found, dict):
        if isinstance(found.get('url'), str) and found['url']:
            found['url'] = WEBHOOK
        # The task is that of the message, or of the path; naming another one is refused.
        if isinstance(found.get('taskId'), str):
            del found['taskId']
    # A key is good for one body.
    if case.headers and case.headers.get('Idempotency-Key'):
        case.headers['Idempotency-Key'] = str(uuid.uuid4())
    # Tokens come from the answers of the server, and no other text is one.
    if case.query and isinstance(case.query.get('pageToken'), str):
        del case.query['pageToken']
