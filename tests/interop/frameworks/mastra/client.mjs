// Mastra's remote agent and its client, against an agent that knows the words of our demo agent.
//
//     client.mjs --card URL [--only ROW]...

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { MastraClient } from '@mastra/client-js';
import { A2AAgent } from '@mastra/core/a2a';
import { SendMessageRequest, StreamResponse, Task, TaskState } from '@mastra/core/a2a/v1';
import { Agent } from '@mastra/core/agent';

import { commandLine, failure, run, withWebhook } from '../driver.mjs';

const { card: address, only } = commandLine();
const remote = new A2AAgent({ url: address, protocolVersion: '1.0', name: 'demo' });

// A2AAgent sends text and reads answers. The rest is in Mastra's client, which calls agents of a
// Mastra server by their ids; given another `fetch`, it calls the address of the card.
const client = new MastraClient({
  baseUrl: address,
  retries: 0,
  fetch: async (_, options) => fetch((await remote.getAgentCard()).url, options),
}).getA2AV1('demo');

async function send({ parts, configuration, messageId = randomUUID() }) {
  const message = { messageId, role: 'ROLE_USER', parts };
  const { payload } = await client.sendMessage(
    SendMessageRequest.fromJSON({ message, configuration }),
  );
  assert.equal(payload.$case, 'task');
  return payload.value;
}

/** The parts that the agent answers when it is sent `parts`, by a word of our demo agent. */
async function echoed(parts) {
  const task = await send({ parts, messageId: `acc-echo-${randomUUID()}` });
  assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
  return Task.toJSON(task).artifacts[0].parts;
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const TOOL = 'agent-remote';

/** A language model that passes the question on to the remote agent and then repeats its answer. */
const delegating = {
  specificationVersion: 'v2',
  provider: 'interop',
  modelId: 'fake',
  supportedUrls: {},
  async doGenerate({ prompt, tools }) {
    const last = prompt.at(-1);
    if (last.role === 'tool') {
      const text = `it said: ${last.content[0].output.value}`;
      return { content: [{ type: 'text', text }], finishReason: 'stop', usage, warnings: [] };
    }
    assert.ok(tools.some(({ name }) => name === TOOL), 'the remote agent is a tool of the model');
    const input = JSON.stringify({ prompt: last.content[0].text });
    const call = { type: 'tool-call', toolCallId: randomUUID(), toolName: TOOL, input };
    return { content: [call], finishReason: 'tool-calls', usage, warnings: [] };
  },
};

const supervisor = new Agent({
  id: 'supervisor',
  name: 'Supervisor',
  instructions: 'Pass each question on.',
  model: delegating,
  agents: { remote },
});

const rows = {
  async card() {
    const card = await remote.getAgentCard();
    assert.equal(card.name, 'Demo agent');
    assert.equal(card.protocolVersion, '1.0');
    assert.equal(card.capabilities.streaming, true);
    assert.ok(card.skills.some(({ id }) => id === 'echo'));
  },

  async send() {
    const { text, task } = await remote.generate('echo plum jam');
    assert.match(text, /plum jam/);
    assert.equal(task.status.state, 'completed');
    const older = await new A2AAgent({ url: address }).generate('echo damson cheese');
    assert.match(older.text, /damson cheese/);
    // It sends the whole conversation, as one text, which our agent then echoes.
    const delegated = await supervisor.generate('echo quince jelly');
    assert.match(delegated.text, /^it said: [^]*user: echo quince jelly$/);
    return 'by 1.0, by its default of 0.3, and as a sub-agent';
  },

  async stream() {
    const output = await remote.stream('stream 3');
    const deltas = [];
    for await (const chunk of output.fullStream) {
      if (chunk.type === 'text-delta') deltas.push(chunk.payload.text);
    }
    assert.deepEqual(deltas, ['chunk 1 of 3', 'chunk 2 of 3', 'chunk 3 of 3']);
    assert.equal(await output.text, deltas.join(''));
    assert.equal((await output.task).status.state, 'completed');
  },

  async 'multi-turn'() {
    const asked = await remote.generate('ask');
    assert.equal(asked.finishReason, 'suspended');
    assert.equal(asked.task.status.state, 'input-required');
    const { text, task } = await remote.resumeGenerate('Ada', { runId: asked.runId });
    assert.equal(task.id, asked.task.id);
    assert.equal(task.status.state, 'completed');
    assert.match(text, /Ada/);
  },

  async cancel() {
    const parts = [{ text: 'slow 30' }];
    const { id } = await send({ parts, configuration: { returnImmediately: true } });
    const task = await client.cancelTask({ tenant: '', id });
    assert.equal(task.status.state, TaskState.TASK_STATE_CANCELED);
    return 'by MastraClient; A2AAgent has no cancel';
  },

  async files() {
    const raw = Buffer.from([0, 255, 128, 10]).toString('base64');
    const file = { raw, filename: 'a.bin', mediaType: 'application/octet-stream' };
    const [{ filename, mediaType, raw: bytes }] = await echoed([file]);
    assert.deepEqual({ raw: bytes, filename, mediaType }, file);
    return 'by MastraClient; A2AAgent replaces files by their names';
  },

  async data() {
    const data = { fruit: 'quince', count: 42, list: [true, null, 0.5] };
    const [part] = await echoed([{ data }]);
    assert.deepEqual(part.data, data);
    return 'by MastraClient; A2AAgent sends data only with an answer to a question';
  },

  async failed() {
    const { text, task } = await remote.generate('fail');
    assert.equal(task.status.state, 'failed');
    assert.match(text, /fail/i);
  },

  async push() {
    await withWebhook(async ({ url, until }) => {
      const taskPushNotificationConfig = { url, token: 'secret' };
      const { id } = await send({
        parts: [{ text: 'slow 1' }],
        configuration: { returnImmediately: true, taskPushNotificationConfig },
      });
      const [headers, body] = await until((_, delivery) => {
        const { status } = StreamResponse.fromJSON(delivery).payload.value;
        return status?.state === TaskState.TASK_STATE_COMPLETED;
      });
      const { value } = StreamResponse.fromJSON(body).payload;
      assert.equal(value.taskId ?? value.id, id);
      assert.equal(headers['x-a2a-notification-token'], 'secret');
    });
    return 'asked for by MastraClient';
  },

  async error() {
    const text = await failure(client.getTask({ tenant: '', id: randomUUID() }), /task not found/);
    await failure(new A2AAgent({ url: `${address}/nowhere` }).generate('echo x'), /status 404/);
    return text;
  },
};

await run(rows, only);
