// The remote agent of Google ADK, against an agent that knows the words of our demo agent.
//
//     client.mjs --card URL [--only ROW]...

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import {
  AgentTool,
  BaseLlm,
  InMemoryRunner,
  LlmAgent,
  RemoteA2AAgent,
  setLogger,
} from '@google/adk';

import { Lacking, commandLine, run, withWebhook } from '../driver.mjs';

const { card: address, only } = commandLine();
setLogger(null); // The logger writes to standard output.

/** A conversation with `agent`: a function that sends parts and returns the events of the reply. */
async function conversation(agent) {
  const runner = new InMemoryRunner({ agent, appName: 'interop' });
  const { id: sessionId } = await runner.sessionService.createSession({
    appName: 'interop',
    userId: 'user',
  });
  return async (...parts) => {
    const events = [];
    const newMessage = { role: 'user', parts };
    for await (const event of runner.runAsync({ userId: 'user', sessionId, newMessage })) {
      events.push(event);
    }
    return events;
  };
}

/** Our agent, as ADK sees it; `change` changes the parameters of a request before it is sent. */
const remote = (options, change = () => {}) =>
  new RemoteA2AAgent({
    name: 'remote',
    description: 'The demo agent.',
    agentCard: address,
    beforeRequestCallbacks: [(_, params) => change(params)],
    ...options,
  });

const say = async (text, ...options) => (await conversation(remote(...options)))({ text });

/** The parts of the answer, without those of partial events, which come again in the whole. */
const partsOf = (events) =>
  events.filter(({ partial }) => !partial).flatMap(({ content }) => content?.parts ?? []);
const textOf = (events) => partsOf(events).map(({ text = '' }) => text).join('');
/** The state of the task after the answer; the last event has what the agent sent. */
const stateOf = (events) => events.at(-1).customMetadata['a2a:response'].status?.state;

const TOOL = 'remote';

/** A language model that passes the question on to the remote agent and then repeats its answer. */
class DelegatingModel extends BaseLlm {
  async *generateContentAsync({ contents, toolsDict }) {
    const [part] = contents.at(-1).parts;
    const { result } = part.functionResponse?.response ?? {};
    assert.ok(toolsDict[TOOL], 'the remote agent is a tool of the model');
    const next = part.functionResponse
      ? { text: `it said: ${result}` }
      : { functionCall: { name: TOOL, args: { request: part.text } } };
    yield { content: { role: 'model', parts: [next] }, turnComplete: true };
  }
}

const rows = {
  async card() {
    const agent = remote();
    await agent.init();
    assert.equal(agent.card.name, 'Demo agent');
    assert.equal(agent.card.protocolVersion, '0.3.0');
    assert.ok(agent.card.skills.some(({ id }) => id === 'echo'));
  },

  async send() {
    assert.equal(textOf(await say('echo plum jam')), 'plum jam');
    const model = new DelegatingModel({ model: 'fake' });
    const tools = [new AgentTool({ agent: remote() })];
    const delegated = await conversation(new LlmAgent({ name: 'supervisor', model, tools }));
    assert.equal(textOf(await delegated({ text: 'echo quince jelly' })), 'it said: quince jelly');
    return 'directly, and as a tool of an agent';
  },

  async stream() {
    const events = await say('stream 3');
    const partial = events.filter((event) => event.partial);
    const chunks = partial.map(({ content }) => content.parts[0].text);
    assert.deepEqual(chunks, ['chunk 1 of 3', 'chunk 2 of 3', 'chunk 3 of 3']);
    assert.equal(textOf(events), chunks.join(''));
  },

  async 'multi-turn'() {
    const send = await conversation(remote());
    const asked = await send({ text: 'ask' });
    assert.equal(stateOf(asked), 'input-required');
    assert.match(textOf(asked), /name\?/);
    const answered = await send({ text: 'Ada' });
    const [before, after] = [asked, answered].map((events) => events.at(-1).customMetadata);
    assert.equal(after['a2a:context_id'], before['a2a:context_id'], 'context');
    assert.equal(after['a2a:task_id'], before['a2a:task_id'], 'task');
    assert.match(textOf(answered), /Ada/);
  },

  async cancel() {
    throw new Lacking('RemoteA2AAgent cancels no tasks');
  },

  async files() {
    const data = Buffer.from([0, 255, 128, 10]).toString('base64');
    const file = { inlineData: { data, mimeType: 'application/octet-stream' } };
    const send = await conversation(
      remote({}, ({ message }) => {
        message.messageId = `acc-echo-${randomUUID()}`;
      }),
    );
    const [part] = partsOf(await send(file));
    assert.deepEqual(part, file);
  },

  async data() {
    const [part] = partsOf(await say('data'));
    assert.deepEqual(JSON.parse(part.text), {
      city: 'Oslo',
      days: ['Mon', 'Tue'],
      degrees: -3,
      wind: null,
    });
    return 'received as a JSON text; the only data it sends are function calls and responses';
  },

  async failed() {
    const events = await say('fail');
    assert.equal(stateOf(events), 'failed');
    assert.match(events.at(-1).errorMessage, /fail/i);
  },

  async push() {
    await withWebhook(async ({ url, until }) => {
      const pushNotificationConfig = { url, token: 'secret' };
      const events = await say('echo plum jam', { messageSendConfig: { pushNotificationConfig } });
      const [headers, body] = await until((_, { status }) => status?.state === 'completed');
      assert.equal(body.id, events.at(-1).customMetadata['a2a:task_id']);
      assert.equal(headers['x-a2a-notification-token'], 'secret');
    });
  },

  async error() {
    const unknown = await say('echo x', {}, ({ message }) => {
      message.taskId = randomUUID();
    });
    assert.match(unknown.at(-1).errorMessage, /not found/i);
    return unknown.at(-1).errorMessage;
  },
};

await run(rows, only);
