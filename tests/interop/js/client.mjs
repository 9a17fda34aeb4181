// Every operation, by the client of the official JavaScript SDK, against one agent.
//
//     client.mjs --card URL --binding JSONRPC|HTTP+JSON|GRPC [--compat] [--only OPERATION]
//
// With --compat it takes the agent for one of 0.3, and does what that revision has.
// The agent has to know the words of ../python/server.py.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';
import {
  A2A_VERSION_HEADER,
  GetTaskRequest,
  ListTasksRequest,
  Message,
  Role,
  SendMessageRequest,
  StreamResponse,
  TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import {
  LEGACY_HTTP_EXTENSION_HEADER,
  legacyPushNotificationToV1StreamResponse,
} from '@a2a-js/sdk/compat/v0_3';

import { commandLine, run } from './driver.mjs';
import { withWebhook } from './webhook.mjs';

const EXTENSION = 'https://example.com/extensions/interop/v1';
/** What 0.3 has not, or does not say in a way that can be relied on. */
const CURRENT = [
  'send-large',
  'send-history-length',
  'tenant',
  'stream-silence',
  'stream-cut',
  'subscribe-input',
  'list-pages',
  'list-filters',
  'list-since',
  'error-subscribe-terminal',
  'error-page-size',
  'error-empty-message',
  'error-push-config',
  'error-version',
];

const { card: address, binding, compat = false, only } = commandLine();
const legacyCompat = { enabled: compat };
// Where it makes its objects from protobuf of 0.3, names of files, metadata of parts and `append`
// don't come through.
const isLossy = compat && binding !== 'JSONRPC';

// TLS with the roots of the environment if the card has an https address.
const grpcChannelCredentials = address.startsWith('https:') ? grpc.credentials.createSsl() : undefined;

const transports = {
  JSONRPC: () => new JsonRpcTransportFactory({ legacyCompat }),
  'HTTP+JSON': () => new RestTransportFactory({ legacyCompat }),
  GRPC: () => new GrpcTransportFactory({ legacyCompat, grpcChannelCredentials }),
};

/** Reads a card as an agent of 0.3 would have written it: without the members of 1.0. */
async function fetchOlder(...request) {
  const { supportedInterfaces, ...older } = await (await fetch(...request)).json();
  assert.ok(supportedInterfaces.some((one) => one.protocolVersion === '0.3'), 'an interface of 0.3');
  return Response.json(older);
}

const resolver = new DefaultAgentCardResolver(compat ? { legacyCompat, fetchImpl: fetchOlder } : {});
const card = await resolver.resolve(address);
// With TLS on a loopback host the address of gRPC is a URL, which grpc-js does not accept.
for (const one of card.supportedInterfaces) {
  if (one.protocolBinding === 'GRPC') one.url = one.url.replace(/^https:\/\//, '');
}
const connect = () =>
  new ClientFactory({ transports: [transports[binding]()] }).createFromAgentCard(card);
const client = await connect();

// -- what the checks are made of ----------------------------------------------------------

const stateIs = (status, name) => assert.equal(TaskState[status?.state], `TASK_STATE_${name}`);
const textOf = (parts) =>
  parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('');

const request = ({ text, parts, messageId = randomUUID(), configuration, ...fields }) =>
  SendMessageRequest.fromJSON({
    message: { messageId, role: 'ROLE_USER', parts: parts ?? [{ text }], ...fields },
    configuration,
  });

const send = (message, call) => client.sendMessage(request(message), call);

async function task(message, call) {
  const answer = await send(message, call);
  assert.ok('status' in answer, `the answer is a task: ${JSON.stringify(answer)}`);
  return answer;
}

const started = (text) => task({ text, configuration: { returnImmediately: true } });
const get = (id, historyLength) => client.getTask(GetTaskRequest.fromJSON({ id, historyLength }));
const listed = (fields) => client.listTasks(ListTasksRequest.fromJSON(fields));

async function all(events) {
  const seen = [];
  for await (const event of events) {
    seen.push(event.payload);
  }
  return seen;
}

const stream = (message) => all(client.sendMessageStream(request(message)));
const subscribe = (id) => all(client.resubscribeTask({ tenant: '', id }));

async function until(id, name) {
  for (;;) {
    const found = await get(id);
    if (found.status.state === TaskState[`TASK_STATE_${name}`]) return found;
    await sleep(50);
  }
}

/** Awaits `call`, which has to fail with an error of the SDK that has this `reason`. */
async function failsWith(reason, call) {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    // In a stream of 0.3 the SDK wraps it.
    const actual = error.reason ?? error.cause?.reason;
    assert.equal(actual, reason, `expected ${reason}, got ${error.stack}`);
    return;
  }
  assert.fail(`expected ${reason}, got an answer: ${JSON.stringify(answer)}`);
}

async function delivered(webhook, taskId, header, value) {
  const read = compat ? legacyPushNotificationToV1StreamResponse : StreamResponse.fromJSON;
  const [headers, body] = await webhook.until((_, delivery) => {
    const { status } = read(delivery).payload.value;
    return status?.state === TaskState.TASK_STATE_COMPLETED;
  });
  const { value: event } = read(body).payload;
  assert.equal(event.taskId ?? event.id, taskId, 'task id of the delivery');
  assert.equal(headers[header], value, header);
}

const pushConfig = (fields) => TaskPushNotificationConfig.fromJSON(fields);

async function several(count) {
  const contextId = randomUUID();
  const ids = [];
  for (let index = 0; index < count; index += 1) {
    ids.push((await task({ text: `echo ${index}`, contextId })).id);
  }
  return [contextId, ids];
}

// -- the checks, by operation -------------------------------------------------------------

const checks = {
  async card() {
    const bindings = card.supportedInterfaces
      .filter((one) => one.protocolVersion.startsWith(compat ? '0.3' : '1.0'))
      .map((one) => one.protocolBinding);
    assert.deepEqual(new Set(bindings), new Set(['JSONRPC', 'HTTP+JSON', 'GRPC']));
    assert.ok(card.name && card.version, 'the card has a name and a version');
    assert.equal(card.capabilities.streaming, true);
    assert.equal(card.capabilities.pushNotifications, true);
    assert.ok(card.skills.length >= 1, 'the card has a skill');
  },

  async 'extended-card'() {
    const extended = await (await connect()).getAgentCard();
    assert.equal(extended.name, card.name);
    assert.ok(extended.skills.length > card.skills.length, 'the extended card has more skills');
  },

  async send() {
    const contextId = randomUUID();
    const done = await task({ text: 'echo hello', contextId });
    stateIs(done.status, 'COMPLETED');
    assert.equal(done.contextId, contextId);
    assert.equal(done.artifacts.length, 1);
    assert.match(textOf(done.artifacts[0].parts), /hello/);
    assert.ok(done.status.timestamp, 'the status has a timestamp');
    assert.equal(done.history[0].role, Role.ROLE_USER);
    assert.equal(textOf(done.history[0].parts), 'echo hello');
  },

  async 'send-message'() {
    const answer = await send({ text: 'message hi' });
    assert.ok('messageId' in answer && answer.messageId, 'the answer is a message');
    assert.equal(answer.role, Role.ROLE_AGENT);
    assert.ok(textOf(answer.parts), 'the message has text');
  },

  async 'send-parts'() {
    const data = {
      whole: 7,
      big: 9007199254740991,
      fraction: 0.25,
      text: 'Grüße, 世界 🌍',
      null: null,
      list: [true, { deep: [1, 2] }],
    };
    const parts = [
      // 0.3 has a type for files alone.
      { text: 'Grüße, 世界 🌍\n"quoted"', ...(compat ? {} : { mediaType: 'text/plain' }) },
      { data, ...(isLossy ? {} : { metadata: { note: 'a' } }) },
      {
        raw: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64'),
        ...(isLossy ? {} : { filename: 'bytes.bin' }),
        mediaType: 'application/octet-stream',
      },
      {
        url: 'https://example.com/a%20b?c=d',
        ...(isLossy ? {} : { filename: 'b' }),
        mediaType: 'text/html',
      },
    ];
    const done = await task({ parts, messageId: `acc-echo-${randomUUID()}` });
    stateIs(done.status, 'COMPLETED');
    // In JSON, where a buffer of one transport and that of another look the same.
    const echoed = Message.toJSON(Message.fromJSON({ parts: [] }));
    const json = (list) => Message.toJSON({ ...Message.fromJSON(echoed), parts: list }).parts;
    assert.deepEqual(json(done.artifacts[0].parts), parts);
    assert.deepEqual(json(done.history[0].parts), parts);
  },

  async 'send-large'() {
    const raw = Buffer.alloc(1 << 20, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
    const parts = [{ raw: raw.toString('base64'), mediaType: 'application/octet-stream' }];
    const { artifacts } = await task({ parts, messageId: `acc-echo-${randomUUID()}` });
    assert.ok(raw.equals(artifacts[0].parts[0].content.value), 'the same bytes');
  },

  async 'send-immediately'() {
    const working = await started('slow 1');
    const states = [TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING];
    assert.ok(states.includes(working.status.state), `answered at ${TaskState[working.status.state]}`);
    await until(working.id, 'COMPLETED');
  },

  async 'send-history-length'() {
    const done = await task({ text: 'echo hello', configuration: { historyLength: 0 } });
    stateIs(done.status, 'COMPLETED');
    assert.equal(done.history.length, 0);
  },

  async 'multi-turn'() {
    const first = await task({ text: 'ask' });
    stateIs(first.status, 'INPUT_REQUIRED');
    assert.ok(textOf(first.status.message.parts), 'the question has text');
    const second = await task({ text: 'Ada', taskId: first.id, contextId: first.contextId });
    assert.equal(second.id, first.id);
    assert.equal(second.contextId, first.contextId);
    stateIs(second.status, 'COMPLETED');
    const said = second.history.filter((one) => one.role === Role.ROLE_USER).map((one) => textOf(one.parts));
    assert.deepEqual(said, ['ask', 'Ada']);
  },

  async tenant() {
    const tenant = `acme-${randomUUID()}`;
    const sent = await client.sendMessage({ ...request({ text: 'echo hello' }), tenant });
    const found = await client.getTask({ ...GetTaskRequest.fromJSON({ id: sent.id }), tenant });
    assert.deepEqual(found, sent);
    const { tasks } = await client.listTasks({ ...ListTasksRequest.fromJSON({}), tenant });
    assert.deepEqual(tasks.map((one) => one.id), [sent.id], 'tasks of the tenant');
    await failsWith('TASK_NOT_FOUND', get(sent.id));
    const other = { ...GetTaskRequest.fromJSON({ id: sent.id }), tenant: 'other' };
    await failsWith('TASK_NOT_FOUND', client.getTask(other));
  },

  async 'failed-task'() {
    const failed = await task({ text: 'fail' });
    stateIs(failed.status, 'FAILED');
    assert.ok(textOf(failed.status.message.parts), 'the failure has a message');
  },

  async 'crashed-task'() {
    const crashed = await task({ text: 'panic' });
    stateIs(crashed.status, 'FAILED');
    assert.doesNotMatch(textOf(crashed.status.message.parts), /on purpose/, 'internal text stays inside');
  },

  async extensions() {
    const header = compat ? LEGACY_HTTP_EXTENSION_HEADER : 'A2A-Extensions';
    const serviceParameters = { [header]: EXTENSION };
    const done = await task(
      { text: 'extensions', messageId: `acc-ext-${randomUUID()}` },
      { serviceParameters },
    );
    stateIs(done.status, 'COMPLETED');
    assert.equal(textOf(done.status.message.parts), `extensions: ${EXTENSION}`);
  },

  async stream() {
    const events = await stream({ text: 'stream 5' });
    assert.equal(events[0].$case, 'task');
    assert.equal(events.filter((one) => one.$case === 'task').length, 1, 'tasks in the stream');
    const last = events.at(-1);
    assert.equal(last.$case, 'statusUpdate');
    stateIs(last.value.status, 'COMPLETED');
    const updates = events.filter((one) => one.$case === 'artifactUpdate').map((one) => one.value);
    if (!isLossy) assert.deepEqual(updates.map((one) => one.append), [false, true, true, true, true]);
    assert.equal(new Set(updates.map((one) => one.artifact.artifactId)).size, 1, 'artifacts');
    assert.equal(updates.at(-1).lastChunk, true);
    const taskId = events[0].value.id;
    assert.ok(updates.every((one) => one.taskId === taskId), 'task id of the chunks');
    const stored = await get(taskId);
    assert.equal(stored.artifacts.length, 1, 'stored artifacts');
    const chunks = updates.map((one) => textOf(one.artifact.parts)).join('');
    assert.equal(textOf(stored.artifacts[0].parts), chunks, 'stored text');
  },

  async 'stream-message'() {
    const events = await stream({ text: 'message hi' });
    assert.deepEqual(events.map((one) => one.$case), ['message']);
    assert.ok(textOf(events[0].value.parts), 'the message has text');
  },

  async 'stream-input'() {
    const asking = await stream({ text: 'ask' });
    stateIs(asking.at(-1).value.status, 'INPUT_REQUIRED');
    const { id: taskId, contextId } = asking[0].value;
    const answered = await stream({ text: 'Ada', taskId, contextId });
    stateIs(answered.at(-1).value.status, 'COMPLETED');
  },

  async 'stream-crash'() {
    const events = await stream({ text: 'panic' });
    stateIs(events.at(-1).value.status, 'FAILED');
  },

  // An agent that thinks for longer than some clients wait for a word from a server that died.
  async 'stream-silence'() {
    const messageId = `acc-slow-${randomUUID()}`;
    const events = await stream({ text: 'think', messageId, metadata: { delayMs: 7000 } });
    stateIs(events.at(-1).value.status, 'COMPLETED');
  },

  // A client that disconnects and subscribes again misses no event.
  async 'stream-cut'() {
    const before = [];
    for await (const { payload } of client.sendMessageStream(request({ text: 'stream 40' }))) {
      before.push(payload);
      if (before.length === 6) break;
    }
    const { id } = before[0].value;
    const events = await subscribe(id);
    assert.equal(events[0].$case, 'task');
    stateIs(events.at(-1).value.status, 'COMPLETED');
    const texts = (artifact) => artifact.parts.map((part) => part.content.value);
    const parts = texts(events[0].value.artifacts[0]);
    assert.ok(parts.length >= 3 && parts.length < 40, `some of the text was there: ${parts}`);
    for (const { $case, value } of events) {
      if ($case === 'artifactUpdate') parts.push(...texts(value.artifact));
    }
    const [stored] = (await get(id)).artifacts;
    assert.equal(stored.parts.length, 40);
    assert.deepEqual(parts, texts(stored));
  },

  async subscribe() {
    const working = await started('slow 2');
    const events = await subscribe(working.id);
    assert.equal(events[0].$case, 'task');
    assert.equal(events[0].value.id, working.id);
    stateIs(events.at(-1).value.status, 'COMPLETED');
  },

  // A subscription to a task that waits stays open and sees the answer.
  async 'subscribe-input'() {
    const { id: taskId, contextId } = await task({ text: 'ask' });
    const events = client.resubscribeTask({ tenant: '', id: taskId });
    const { value: first } = await events.next();
    stateIs(first.payload.value.status, 'INPUT_REQUIRED');
    await task({ text: 'Ada', taskId, contextId });
    stateIs((await all(events)).at(-1).value.status, 'COMPLETED');
  },

  async get() {
    const sent = await task({ text: 'echo stored' });
    assert.deepEqual(await get(sent.id), sent);
    if (!compat) assert.equal((await get(sent.id, 0)).history.length, 0);
    assert.equal((await get(sent.id, 1)).history.length, 1);
  },

  async 'list-pages'() {
    const [contextId, ids] = await several(5);
    const seen = [];
    const sizes = [];
    let pageToken = '';
    for (let page = 0; page < 3; page += 1) {
      const answer = await listed({ contextId, pageSize: 2, pageToken });
      assert.equal(answer.totalSize, 5);
      assert.equal(answer.pageSize, 2);
      seen.push(...answer.tasks.map((one) => one.id));
      sizes.push(answer.tasks.length);
      pageToken = answer.nextPageToken;
    }
    assert.deepEqual(sizes, [2, 2, 1]);
    assert.equal(pageToken, '');
    assert.deepEqual(seen, ids.reverse(), 'tasks, newest first');
  },

  async 'list-filters'() {
    const [contextId, ids] = await several(2);
    const asking = await task({ text: 'ask', contextId });
    const tasks = async (fields) => (await listed({ contextId, ...fields })).tasks;
    const done = await tasks({ status: 'TASK_STATE_COMPLETED' });
    assert.deepEqual(new Set(done.map((one) => one.id)), new Set(ids));
    assert.ok(done.every((one) => one.artifacts.length === 0), 'artifacts are left out unless asked for');
    const full = await tasks({ status: 'TASK_STATE_COMPLETED', includeArtifacts: true });
    assert.ok(full.every((one) => one.artifacts.length > 0), 'artifacts are there when asked for');
    const waiting = await tasks({ status: 'TASK_STATE_INPUT_REQUIRED' });
    assert.deepEqual(waiting.map((one) => one.id), [asking.id]);
    const bare = await tasks({ historyLength: 0 });
    assert.ok(bare.every((one) => one.history.length === 0), 'no history was asked for');
  },

  async 'list-since'() {
    const [contextId] = await several(2);
    const asking = await task({ text: 'ask', contextId });
    const after = await listed({ contextId, statusTimestampAfter: asking.status.timestamp });
    assert.deepEqual(after.tasks.map((one) => one.id), [asking.id]);
  },

  async cancel() {
    const working = await started('slow 30');
    const canceled = await client.cancelTask({ tenant: '', id: working.id, metadata: undefined });
    assert.equal(canceled.id, working.id);
    stateIs(canceled.status, 'CANCELED');
    stateIs((await get(working.id)).status, 'CANCELED');
  },

  async 'push-configs'() {
    const { id: taskId } = await task({ text: 'ask' });
    const first = pushConfig({
      taskId,
      id: 'first',
      url: 'http://127.0.0.1:9/first',
      token: 'secret',
      authentication: { scheme: 'Bearer', credentials: 'credential' },
    });
    const place = ({ id, url, ...config }) => [config.taskId, id, url];
    const created = await client.createTaskPushNotificationConfig(first);
    assert.deepEqual(place(created), place(first));
    await client.createTaskPushNotificationConfig(
      pushConfig({ taskId, id: 'second', url: 'http://127.0.0.1:9/second' }),
    );
    const got = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'first' });
    assert.deepEqual(place(got), place(first));
    const urls = async () => {
      const fields = { tenant: '', taskId, pageSize: 0, pageToken: '' };
      const { configs } = await client.listTaskPushNotificationConfig(fields);
      return configs.map((one) => one.url).sort();
    };
    assert.deepEqual(await urls(), ['http://127.0.0.1:9/first', 'http://127.0.0.1:9/second']);
    await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'first' });
    assert.deepEqual(await urls(), ['http://127.0.0.1:9/second']);
  },

  async 'push-delivery'() {
    await withWebhook(async (webhook) => {
      const { id: taskId } = await started('slow 1');
      const config = pushConfig({ taskId, id: 'first', url: webhook.url, token: 'secret' });
      await client.createTaskPushNotificationConfig(config);
      await delivered(webhook, taskId, 'x-a2a-notification-token', 'secret');
    });
  },

  async 'push-with-message'() {
    await withWebhook(async (webhook) => {
      const authentication = { scheme: 'Bearer', credentials: 'credential' };
      const taskPushNotificationConfig = { url: webhook.url, authentication };
      const done = await task({ text: 'echo hello', configuration: { taskPushNotificationConfig } });
      await delivered(webhook, done.id, 'authorization', 'Bearer credential');
    });
  },

  async 'error-unknown-task'() {
    const taskId = randomUUID();
    const missing = 'TASK_NOT_FOUND';
    await failsWith(missing, get(taskId));
    await failsWith(missing, client.cancelTask({ tenant: '', id: taskId, metadata: undefined }));
    await failsWith(missing, send({ text: 'hi', taskId }));
    await failsWith(missing, subscribe(taskId));
    await failsWith(missing, stream({ text: 'hi', taskId }));
  },

  async 'error-cancel-terminal'() {
    const { id } = await task({ text: 'echo hello' });
    await failsWith('TASK_NOT_CANCELABLE', client.cancelTask({ tenant: '', id, metadata: undefined }));
  },

  async 'error-subscribe-terminal'() {
    const { id } = await task({ text: 'echo hello' });
    await failsWith('UNSUPPORTED_OPERATION', subscribe(id));
  },

  async 'error-send-terminal'() {
    const { id: taskId, contextId } = await task({ text: 'echo hello' });
    await failsWith('UNSUPPORTED_OPERATION', send({ text: 'again', taskId, contextId }));
    await failsWith('UNSUPPORTED_OPERATION', stream({ text: 'again', taskId, contextId }));
  },

  async 'error-context'() {
    const { id: taskId } = await task({ text: 'ask' });
    await failsWith(INVALID_PARAMS, send({ text: 'Ada', taskId, contextId: randomUUID() }));
  },

  async 'error-page-size'() {
    await failsWith(INVALID_PARAMS, listed({ pageSize: 0 }));
    await failsWith(INVALID_PARAMS, listed({ pageSize: 101 }));
  },

  async 'error-empty-message'() {
    await failsWith(INVALID_PARAMS, send({ parts: [] }));
  },

  async 'error-push-config'() {
    const { id: taskId } = await task({ text: 'ask' });
    const unknown = { tenant: '', taskId, id: 'unknown' };
    await failsWith('TASK_NOT_FOUND', client.getTaskPushNotificationConfig(unknown));
  },

  async 'error-version'() {
    // The transport below the client: the client itself puts its own version in.
    const serviceParameters = { [A2A_VERSION_HEADER]: '9.9' };
    const call = client.transport.listTasks(ListTasksRequest.fromJSON({}), { serviceParameters });
    await failsWith('VERSION_NOT_SUPPORTED', call);
  },
};

const INVALID_PARAMS = 'INVALID_PARAMS';

for (const operation of compat ? CURRENT : []) delete checks[operation];
await run(checks, only);
