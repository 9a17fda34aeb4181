// An agent of Google ADK with a fake model, served by its own `toA2a`.

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  BaseLlm,
  LlmAgent,
  LongRunningFunctionTool,
  getA2AAgentCard,
  setLogger,
  toA2a,
} from '@google/adk';

import { listen, ready } from '../driver.mjs';

setLogger(null); // The logger writes to standard output.

const textOf = ({ parts }) => parts.map(({ text = '' }) => text).join(' ').trim();

/** The texts that a model would stream in answer to `contents`, by the first word of the last. */
async function* answer(contents) {
  const [word, ...rest] = textOf(contents.at(-1)).split(' ');
  const file = contents.at(-1).parts.find(({ inlineData }) => inlineData)?.inlineData;
  if (file) {
    yield `${file.mimeType} ${Buffer.from(file.data, 'base64').length} bytes`;
  } else if (word === 'stream') {
    for (let index = 0; index < Number(rest[0]); index += 1) {
      await sleep(50);
      yield `chunk ${index} `;
    }
  } else if (word === 'slow') {
    await sleep(Number(rest[0]) * 1000);
    yield 'done';
  } else if (word === 'recall') {
    const remembered = contents.map(textOf).findLast((text) => text.startsWith('remember '));
    yield remembered?.slice('remember '.length) ?? 'nothing to recall';
  } else if (word === 'fail') {
    throw new Error('the model failed as asked');
  } else {
    yield rest.join(' ') || word;
  }
}

class FakeModel extends BaseLlm {
  async *generateContentAsync({ contents }) {
    const said = (part, more) => ({ content: { role: 'model', parts: [part] }, ...more });
    const [{ text: word, functionResponse }] = contents.at(-1).parts;
    if (word === 'ask') {
      yield said({ functionCall: { name: 'ask', args: {} } });
    } else if (functionResponse) {
      yield said({ text: functionResponse.response.name });
    } else {
      let whole = '';
      for await (const text of answer(contents)) {
        whole += text;
        yield said({ text }, { partial: true });
      }
      yield said({ text: whole }, { turnComplete: true });
    }
  }
}

const agent = new LlmAgent({
  name: 'interop',
  description: 'Answers by the first word of a message.',
  model: new FakeModel({ model: 'fake' }),
  tools: [
    new LongRunningFunctionTool({
      name: 'ask',
      description: 'Asks the user for a name.',
      execute: () => undefined,
    }),
  ],
});

// The card has the port, so it is taken before there is something to serve.
let app;
const origin = await listen(createServer((request, response) => app(request, response)));
const card = await getA2AAgentCard(agent, [
  { url: `${origin}/jsonrpc`, transport: 'JSONRPC' },
  { url: `${origin}/rest`, transport: 'HTTP+JSON' },
]);
card.capabilities.pushNotifications = true;
app = await toA2a(agent, { agentCard: card, allowUnauthenticated: true });

ready({
  card: origin,
  bindings: ['JSONRPC', 'HTTP+JSON'],
  version: '0.3',
  can: [
    'card',
    'send',
    'stream',
    'multi-turn',
    'get',
    'subscribe',
    'files',
    'data',
    'failed',
    'push',
  ],
  cannot: {
    ask: 'INPUT_REQUIRED takes no text for an answer, only a data part with the function response',
    cancel: 'internal error -32603: "Task cancellation is not supported yet."',
  },
});
