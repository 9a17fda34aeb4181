// The words of ../../python/server.py, as an executor of the SDKs of 0.2 and 0.3: they have the
// same objects and the same bus.

import { randomUUID } from 'node:crypto';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

export const EXTENSION = 'https://example.com/extensions/interop/v1';
const TICK_MS = 50;

const textParts = (text) => [{ kind: 'text', text }];

/** Publishes the events of one task. */
class Updater {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, ids: { taskId, contextId } });
  }

  status(state, { text, final = true } = {}) {
    const status = { state, timestamp: new Date().toISOString() };
    if (text !== undefined) status.message = message(text, this.ids);
    this.bus.publish({ kind: 'status-update', ...this.ids, status, final });
  }

  artifact(parts, { id = randomUUID(), name, append = false, lastChunk = true } = {}) {
    const artifact = { artifactId: id, name, parts };
    this.bus.publish({ kind: 'artifact-update', ...this.ids, artifact, append, lastChunk });
  }
}

const message = (text, ids) => ({
  kind: 'message',
  role: 'agent',
  messageId: randomUUID(),
  parts: textParts(text),
  ...ids,
});

/** The words. */
export class Agent {
  constructor() {
    this.canceled = new Set();
    this.running = new Map();
  }

  async execute(request, bus) {
    const run = this.answer(request, bus);
    this.running.set(request.taskId, run.catch(() => {}));
    await run;
    bus.finished();
  }

  async answer(request, bus) {
    const { userMessage, taskId, contextId, task } = request;
    const input = userMessage.parts
      .filter((part) => part.kind === 'text')
      .map((part) => part.text)
      .join('\n');
    const [word = '', ...others] = input.split(/\s+/).filter(Boolean);
    const rest = others.join(' ');
    if (word === 'message') {
      bus.publish(message(`message: ${rest}`, { contextId }));
      return;
    }

    // One of the two SDKs leaves it to the agent to keep what the user says later.
    const history = (task?.history ?? []).filter((one) => one.messageId !== userMessage.messageId);
    const status = task?.status ?? { state: 'submitted', timestamp: new Date().toISOString() };
    bus.publish({ kind: 'task', ...task, id: taskId, contextId, status, history: [...history, userMessage] });
    const updater = new Updater(bus, taskId, contextId);
    updater.status('working', { final: false });

    if (userMessage.messageId.startsWith('acc-echo')) {
      updater.artifact(userMessage.parts, { name: 'echo' });
      updater.status('completed', { text: 'echoed' });
    } else if (task) {
      updater.artifact(textParts(input), { name: 'answer' });
      updater.status('completed', { text: 'thank you' });
    } else if (word === 'stream') {
      const count = Number(rest);
      for (let index = 0; index < count; index += 1) {
        const lastChunk = index + 1 === count;
        updater.artifact(textParts(`chunk ${index} `), { id: 'stream', append: index > 0, lastChunk });
        await sleep(TICK_MS);
      }
      updater.status('completed', { text: 'streamed' });
    } else if (word === 'ask') {
      updater.status('input-required', { text: 'what is your name?' });
    } else if (word === 'slow') {
      const end = Date.now() + Number(rest) * 1000;
      while (Date.now() < end && !this.canceled.has(taskId)) {
        await sleep(TICK_MS);
      }
      if (this.canceled.has(taskId)) {
        updater.status('canceled', { text: 'canceled as asked' });
      } else {
        updater.artifact(textParts('done'), { name: 'slow' });
        updater.status('completed', { text: 'done' });
      }
    } else if (word === 'fail') {
      updater.status('failed', { text: 'failed as asked' });
    } else if (word === 'panic') {
      throw new Error('the executor crashed as asked');
    } else if (word === 'extensions') {
      const named = [...(request.context?.requestedExtensions ?? [])].sort().join(',');
      updater.status('completed', { text: `extensions: ${named}` });
    } else {
      updater.artifact(textParts(rest), { name: 'echo' });
      updater.status('completed', { text: `echoed ${rest}` });
    }
  }

  async cancelTask(taskId) {
    this.canceled.add(taskId);
    await this.running.get(taskId);
    // What was published is in the store only after those have run that listen.
    await turn();
  }
}

const skill = (name) => ({ id: name, name, description: `The word ${name}.`, tags: ['interop'] });

/** The card, and the extended one, with the members of the SDK's own revision added. */
export function cards(members) {
  const card = {
    description: 'Answers by the first word of a message.',
    version: '1.0.0',
    supportsAuthenticatedExtendedCard: true,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extensions: [{ uri: EXTENSION, description: 'Named back to the client.' }],
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [skill('echo')],
    ...members,
  };
  return [card, { ...card, skills: [...card.skills, skill('secret')] }];
}
