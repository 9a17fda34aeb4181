// The Vercel AI SDK with its A2A provider, against an agent that knows the words of our demo agent.
// To the AI SDK the agent is a language model whose id is the address of the card.
//
//     client.mjs --card URL [--only ROW]...

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { a2a } from 'a2a-ai-provider';
import { generateText, streamText } from 'ai';

import { Lacking, commandLine, failure, run } from '../driver.mjs';

const { card: address, only } = commandLine();
const CARD = '.well-known/agent-card.json';
const model = a2a(`${address}/${CARD}`);

globalThis.AI_SDK_LOG_WARNINGS = false;
console.log = () => {}; // The provider logs to standard output.

const generate = (prompt, options) => generateText({ model, prompt, maxRetries: 0, ...options });
const generateFrom = (...content) => generate(undefined, { messages: [{ role: 'user', content }] });

/** Streams the answer: its texts as they came, and how it finished. */
async function stream(prompt) {
  const result = streamText({ model, prompt, maxRetries: 0 });
  const texts = [];
  for await (const text of result.textStream) texts.push(text);
  return { texts, finishReason: await result.finishReason };
}

const rows = {
  async card() {
    await failure(generate('echo x', { model: a2a(`${address}/nowhere/${CARD}`) }), /card.*404/i);
    assert.equal((await generate('echo plum jam')).response.body.kind, 'task');
    return 'fetched by the provider; the user has no view of it';
  },

  async send() {
    const contextId = randomUUID();
    const result = await generate('echo plum jam', { providerOptions: { a2a: { contextId } } });
    assert.equal(result.text, 'plum jam');
    assert.equal(result.response.body.contextId, contextId);
    assert.equal((await generate('message hi')).text, 'A message, and no task');
  },

  async stream() {
    const { texts, finishReason } = await stream('stream 3');
    assert.deepEqual(texts, ['chunk 1 of 3', 'chunk 2 of 3', 'chunk 3 of 3']);
    assert.equal(finishReason, 'stop');
  },

  async 'multi-turn'() {
    const asked = await generate('ask');
    assert.match(asked.text, /name\?/);
    throw new Lacking('the question arrives, but no task can be named: an answer starts another');
  },

  async cancel() {
    throw new Lacking('the provider cancels no tasks, and ignores `abortSignal`');
  },

  async files() {
    const data = Uint8Array.from([0, 255, 128, 10]);
    const file = { type: 'file', data, mediaType: 'application/octet-stream', filename: 'a.bin' };
    const { response } = await generateFrom(file, { type: 'text', text: 'echo x' });
    assert.deepEqual(response.body.history[0].parts[0].file, {
      bytes: Buffer.from(data).toString('base64'),
      mimeType: 'application/octet-stream',
      name: 'a.bin',
    });
    const { files } = await generate('file');
    assert.deepEqual(
      files.map(({ mediaType }) => mediaType),
      ['image/png', 'text/plain'],
    );
    assert.equal(Buffer.from(files[0].uint8Array).toString('latin1', 1, 4), 'PNG');
  },

  async data() {
    throw new Lacking('the provider sends no data parts, and drops those of answers');
  },

  async failed() {
    assert.equal((await stream('fail')).finishReason, 'error', 'finish reason of streamText');
    assert.equal((await generate('fail')).finishReason, 'error', 'finish reason of generateText');
  },

  async push() {
    throw new Lacking('the provider configures no webhooks');
  },

  async error() {
    return failure(generateFrom(), /message\.parts is required/);
  },
};

await run(rows, only);
