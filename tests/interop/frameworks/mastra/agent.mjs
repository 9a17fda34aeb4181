// An agent of Mastra with a fake model, served by Mastra's own A2A routes.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { MastraServer } from '@mastra/express';
import { Memory } from '@mastra/memory';
import { InMemoryTaskStore } from '@mastra/server/a2a/store';
import express from 'express';
import { z } from 'zod';

import { listen, ready } from '../driver.mjs';

const textOf = ({ content }) =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** The content parts that a model would answer to `prompt`, by the first word of the last turn. */
async function* answer({ prompt, abortSignal }) {
  const last = prompt.at(-1);
  if (last.role === 'tool') {
    yield { type: 'text', text: last.content[0].output.value };
    return;
  }
  const said = prompt.filter(({ role }) => role === 'user').map(textOf);
  const [word, ...rest] = said.at(-1).split(' ');
  const file = last.content.find((part) => part.type === 'file');
  if (file) {
    const bytes = typeof file.data === 'string' ? Buffer.from(file.data, 'base64') : file.data;
    yield { type: 'text', text: `${file.mediaType} ${bytes.length} bytes` };
  } else if (word === 'stream') {
    for (let index = 0; index < Number(rest[0]); index += 1) {
      await sleep(50);
      yield { type: 'text', text: `chunk ${index} ` };
    }
  } else if (word === 'slow') {
    await sleep(Number(rest[0]) * 1000, undefined, { signal: abortSignal });
    yield { type: 'text', text: 'done' };
  } else if (word === 'recall') {
    const remembered = said.findLast((text) => text.startsWith('remember '));
    yield { type: 'text', text: remembered?.slice('remember '.length) ?? 'nothing to recall' };
  } else if (word === 'ask') {
    yield { type: 'tool-call', toolCallId: randomUUID(), toolName: 'ask', input: '{}' };
  } else if (word === 'fail') {
    throw new Error('the model failed as asked');
  } else {
    yield { type: 'text', text: rest.join(' ') };
  }
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const finishReason = ({ type }) => (type === 'tool-call' ? 'tool-calls' : 'stop');

/** A language model by the interface of the AI SDK, which Mastra takes its models by. */
const model = {
  specificationVersion: 'v2',
  provider: 'interop',
  modelId: 'fake',
  supportedUrls: {},
  async doGenerate(options) {
    const content = [];
    for await (const part of answer(options)) content.push(part);
    return { content, finishReason: finishReason(content.at(-1)), usage, warnings: [] };
  },
  async doStream(options) {
    async function* parts() {
      yield { type: 'stream-start', warnings: [] };
      let part;
      let id;
      for await (part of answer(options)) {
        if (part.type !== 'text') {
          yield part;
          continue;
        }
        if (!id) yield { type: 'text-start', id: (id = randomUUID()) };
        yield { type: 'text-delta', id, delta: part.text };
      }
      if (id) yield { type: 'text-end', id };
      yield { type: 'finish', finishReason: finishReason(part), usage };
    }
    return { stream: ReadableStream.from(parts()) };
  },
};

/** Mastra's way to wait for a person: a tool that suspends the run of its agent. */
const ask = createTool({
  id: 'ask',
  description: 'Asks the user for a name.',
  inputSchema: z.object({}),
  suspendSchema: z.object({ message: z.string() }),
  resumeSchema: z.string(),
  execute: async (_, { agent: { resumeData, suspend } }) =>
    resumeData ?? suspend({ message: 'what is your name?' }),
});

const mastra = new Mastra({
  logger: false,
  storage: new InMemoryStore(),
  agents: {
    interop: new Agent({
      id: 'interop',
      name: 'Interop agent (Mastra)',
      instructions: 'Answers by the first word of a message.',
      model,
      memory: new Memory(),
      tools: { ask },
      maxRetries: 0,
    }),
  },
});

const app = express();
app.use(express.json({ limit: '10mb' }));
await new MastraServer({ app, mastra, taskStore: new InMemoryTaskStore() }).init();
const origin = await listen(createServer(app));

ready({
  card: `${origin}/api/.well-known/interop/agent-card.json`,
  bindings: ['JSONRPC'],
  version: '1.0',
  can: [
    'card',
    'send',
    'stream',
    'multi-turn',
    'ask',
    'cancel',
    'get',
    'subscribe',
    'files',
    'failed',
  ],
  cannot: {
    data: 'the task fails: "Data parts are not supported in core messages"',
    push: 'it takes the configuration, but its sender refuses loopback and private addresses',
  },
});
