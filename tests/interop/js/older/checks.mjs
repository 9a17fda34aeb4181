// Every operation that 0.2 and 0.3 have, as checks of one agent. The SDKs of both have the same
// objects; how one calls is its `peer`, with what it lacks left out. A peer is lossy where the SDK
// makes its objects from protobuf: names of files and `append` don't come through.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { withWebhook } from '../webhook.mjs';
import { EXTENSION } from './agent.mjs';

/** Errors, by their codes at JSON-RPC. */
const NOT_FOUND = [-32001];
const NOT_CANCELABLE = [-32002];
const INVALID = [-32602];
// There is no rule for it.
const NOT_AGAIN = [-32600, -32602, -32004];

const textOf = ({ parts }) => parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');

/** Asserts that the last event is final and says `state`. */
function ends(events, state) {
  const last = events.at(-1);
  assert.equal(last?.kind, 'status-update', `the last event is ${JSON.stringify(last)}`);
  assert.equal(last.status.state, state);
  assert.equal(last.final, true, 'final of the last event');
  assert.ok(events.slice(0, -1).every((one) => !one.final), 'final events before the last');
}

async function all(events) {
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** What is said of an object with members that are set to nothing. */
const plain = (value) => JSON.parse(JSON.stringify(value));

/** The checks by operation. */
export function checks(peer) {
  const params = ({ text, parts, messageId = randomUUID(), taskId, contextId, ...configuration }) => ({
    message: {
      kind: 'message',
      role: 'user',
      messageId,
      parts: parts ?? [{ kind: 'text', text }],
      taskId,
      contextId,
    },
    configuration: { blocking: true, ...configuration },
  });
  const send = (message, extensions) => peer.send(params(message), extensions);
  const stream = (message) => all(peer.stream(params(message)));
  const resubscribe = (id) => all(peer.resubscribe({ id }));

  async function task(message, extensions) {
    const answer = await send(message, extensions);
    assert.equal(answer.kind, 'task', `the answer is a task: ${JSON.stringify(answer)}`);
    return answer;
  }
  const started = (text) => task({ text, blocking: false });

  async function until(id, state) {
    for (;;) {
      const found = await peer.get({ id });
      if (found.status.state === state) return found;
      await sleep(50);
    }
  }

  /** Awaits `call`, which has to fail with one of the `codes`. */
  async function failsWith(codes, call) {
    let answer;
    try {
      answer = await call;
    } catch (error) {
      const code = peer.code(error);
      assert.ok(codes.includes(code), `expected ${codes}, got ${code}: ${error.stack}`);
      return;
    }
    assert.fail(`expected ${codes}, got an answer: ${JSON.stringify(answer)}`);
  }

  /** Awaits the delivery of the task, done. */
  async function delivered(webhook, taskId, header, value) {
    const [headers, body] = await webhook.until((_, task) => task.status?.state === 'completed');
    assert.equal(body.kind, 'task');
    assert.equal(body.id, taskId, 'task id of the delivery');
    assert.equal(headers[header], value, header);
  }

  const pushConfig = (taskId, url, id = 'first', fields = {}) => ({
    taskId,
    pushNotificationConfig: { id, url, ...fields },
  });
  const authentication = { schemes: ['Bearer'], credentials: 'credential' };

  return {
    async card() {
      const { card } = peer;
      assert.ok(card.protocolVersion.startsWith('0.3'), `version ${card.protocolVersion}`);
      const bindings = (card.additionalInterfaces ?? []).map((one) => one.transport);
      assert.ok([card.preferredTransport, ...bindings].includes(peer.binding), `${bindings}`);
      assert.ok(card.name && card.version && card.url, 'the card has a name, a version and a URL');
      assert.equal(card.capabilities.streaming, true);
      assert.equal(card.capabilities.pushNotifications, true);
      assert.equal(card.supportsAuthenticatedExtendedCard, true);
      assert.ok(card.skills.length >= 1, 'the card has a skill');
    },

    async 'extended-card'() {
      const extended = await peer.extendedCard();
      assert.equal(extended.name, peer.card.name);
      assert.ok(extended.skills.length > peer.card.skills.length, 'the extended card has more skills');
    },

    async send() {
      const contextId = randomUUID();
      const done = await task({ text: 'echo hello', contextId });
      assert.equal(done.status.state, 'completed');
      assert.equal(done.contextId, contextId);
      assert.equal(done.artifacts.length, 1);
      assert.match(textOf(done.artifacts[0]), /hello/);
      assert.ok(done.status.timestamp, 'the status has a timestamp');
      assert.equal(done.history[0].role, 'user');
      assert.equal(textOf(done.history[0]), 'echo hello');
    },

    async 'send-message'() {
      const answer = await send({ text: 'message hi' });
      assert.equal(answer.kind, 'message');
      assert.equal(answer.role, 'agent');
      assert.ok(answer.messageId, 'the message has an id');
      assert.ok(textOf(answer), 'the message has text');
    },

    async 'send-parts'() {
      const data = { whole: 7, fraction: 0.25, text: 'Grüße, 世界 🌍', list: [true, { deep: [1, 2] }] };
      const file = { bytes: 'AAECA/8=', mimeType: 'application/octet-stream', name: 'bytes.bin' };
      const link = { uri: 'https://example.com/a%20b?c=d', mimeType: 'text/html', name: 'b' };
      const parts = [
        { kind: 'text', text: 'Grüße, 世界 🌍\n"quoted"' },
        { kind: 'data', data },
        { kind: 'file', file },
        { kind: 'file', file: link },
      ];
      if (peer.isLossy) {
        delete file.name;
        delete link.name;
      }
      const done = await task({ parts, messageId: `acc-echo-${randomUUID()}` });
      assert.equal(done.status.state, 'completed');
      assert.deepEqual(plain(done.artifacts[0].parts), parts);
    },

    async 'send-immediately'() {
      const { id, status } = await started('slow 1');
      assert.ok(['submitted', 'working'].includes(status.state), `answered at ${status.state}`);
      await until(id, 'completed');
    },

    async 'multi-turn'() {
      const first = await task({ text: 'ask' });
      assert.equal(first.status.state, 'input-required');
      assert.ok(textOf(first.status.message), 'the question has text');
      const second = await task({ text: 'Ada', taskId: first.id, contextId: first.contextId });
      assert.equal(second.id, first.id);
      assert.equal(second.contextId, first.contextId);
      assert.equal(second.status.state, 'completed');
      const said = second.history.filter((one) => one.role === 'user').map(textOf);
      assert.deepEqual(said, ['ask', 'Ada']);
    },

    async 'failed-task'() {
      const failed = await task({ text: 'fail' });
      assert.equal(failed.status.state, 'failed');
      assert.ok(textOf(failed.status.message), 'the failure has a message');
    },

    async 'crashed-task'() {
      const crashed = await task({ text: 'panic' });
      assert.equal(crashed.status.state, 'failed');
      assert.doesNotMatch(textOf(crashed.status.message), /on purpose/, 'internal text stays inside');
    },

    async extensions() {
      assert.ok(peer.hasExtensions, 'the SDK has no way to name extensions');
      const done = await task({ text: 'extensions', messageId: `acc-ext-${randomUUID()}` }, [EXTENSION]);
      assert.equal(done.status.state, 'completed');
      assert.equal(textOf(done.status.message), `extensions: ${EXTENSION}`);
    },

    async stream() {
      const events = await stream({ text: 'stream 5' });
      assert.equal(events[0].kind, 'task');
      ends(events, 'completed');
      const updates = events.filter((one) => one.kind === 'artifact-update');
      if (!peer.isLossy) {
        assert.deepEqual(updates.map((one) => Boolean(one.append)), [false, true, true, true, true]);
      }
      assert.equal(updates.at(-1).lastChunk, true);
      assert.ok(updates.every((one) => one.taskId === events[0].id), 'task id of the chunks');
      const stored = await peer.get({ id: events[0].id });
      assert.equal(stored.artifacts.length, 1, 'stored artifacts');
      const text = updates.map((one) => textOf(one.artifact)).join('');
      assert.equal(textOf(stored.artifacts[0]), text, 'stored text');
    },

    async 'stream-message'() {
      const events = await stream({ text: 'message hi' });
      assert.deepEqual(events.map((one) => one.kind), ['message']);
      assert.ok(textOf(events[0]), 'the message has text');
    },

    async 'stream-input'() {
      const asking = await stream({ text: 'ask' });
      ends(asking, 'input-required');
      const { id: taskId, contextId } = asking[0];
      ends(await stream({ text: 'Ada', taskId, contextId }), 'completed');
    },

    async 'stream-crash'() {
      ends(await stream({ text: 'panic' }), 'failed');
    },

    async subscribe() {
      const { id } = await started('slow 2');
      const events = await resubscribe(id);
      assert.ok(events.every((one) => (one.taskId ?? one.id) === id), 'ids');
      ends(events, 'completed');
    },

    async get() {
      const sent = await task({ text: 'echo stored' });
      assert.deepEqual(await peer.get({ id: sent.id }), sent);
      const { history } = await peer.get({ id: sent.id, historyLength: 1 });
      assert.equal(history.length, 1);
    },

    async cancel() {
      const { id } = await started('slow 30');
      const canceled = await peer.cancel({ id });
      assert.equal(canceled.id, id);
      assert.equal(canceled.status.state, 'canceled');
      assert.equal((await peer.get({ id })).status.state, 'canceled');
    },

    async 'push-configs'() {
      const { id } = await task({ text: 'ask' });
      const place = ({ taskId, pushNotificationConfig: config }) => [taskId, config.id, config.url];
      const first = pushConfig(id, 'http://127.0.0.1:9/first', 'first', { token: 'secret', authentication });
      assert.deepEqual(place(await peer.setPush(first)), place(first));
      const second = pushConfig(id, 'http://127.0.0.1:9/second', 'second');
      assert.deepEqual(place(await peer.setPush(second)), place(second));
      const named = { id, pushNotificationConfigId: 'first' };
      assert.deepEqual(place(await peer.getPush(named)), place(first));
      // The SDK of 0.2 has no more.
      if (!peer.listPush) return;
      const urls = async () =>
        (await peer.listPush({ id })).map((one) => one.pushNotificationConfig.url).sort();
      assert.deepEqual(await urls(), ['http://127.0.0.1:9/first', 'http://127.0.0.1:9/second']);
      await peer.deletePush(named);
      assert.deepEqual(await urls(), ['http://127.0.0.1:9/second']);
    },

    async 'push-delivery'() {
      await withWebhook(async (webhook) => {
        const { id } = await started('slow 1');
        await peer.setPush(pushConfig(id, webhook.url, 'first', { token: 'secret' }));
        await delivered(webhook, id, 'x-a2a-notification-token', 'secret');
      });
    },

    async 'push-with-message'() {
      await withWebhook(async (webhook) => {
        const pushNotificationConfig = { id: 'first', url: webhook.url, authentication };
        const done = await task({ text: 'echo hello', pushNotificationConfig });
        await delivered(webhook, done.id, 'authorization', 'Bearer credential');
      });
    },

    async 'error-unknown-task'() {
      const id = randomUUID();
      await failsWith(NOT_FOUND, peer.get({ id }));
      await failsWith(NOT_FOUND, peer.cancel({ id }));
      await failsWith(NOT_FOUND, send({ text: 'hi', taskId: id }));
      await failsWith(NOT_FOUND, stream({ text: 'hi', taskId: id }));
      await failsWith(NOT_FOUND, resubscribe(id));
    },

    async 'error-cancel-terminal'() {
      const { id } = await task({ text: 'echo hello' });
      await failsWith(NOT_CANCELABLE, peer.cancel({ id }));
    },

    async 'error-send-terminal'() {
      const { id: taskId, contextId } = await task({ text: 'echo hello' });
      await failsWith(NOT_AGAIN, send({ text: 'again', taskId, contextId }));
    },

    async 'error-context'() {
      const { id: taskId } = await task({ text: 'ask' });
      await failsWith(INVALID, send({ text: 'Ada', taskId, contextId: randomUUID() }));
    },
  };
}
