// An agent on the official JavaScript SDK, over JSON-RPC, HTTP+JSON and gRPC.
//
// Prints one line of JSON with its addresses when it is ready and runs until its standard
// input closes. With --compat it answers clients of 0.3, too. It knows the words of
// ../python/server.py, which says what each does; with --echo it answers each message with its text.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';
import express from 'express';
import {
  AgentCard,
  Artifact,
  Message,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from '@a2a-js/sdk/server/grpc';
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc';

const EXTENSION = 'https://example.com/extensions/interop/v1';
const TICK_MS = 50;
const BINDINGS = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

const compat = process.argv.includes('--compat');
const legacyCompat = { enabled: compat };

const textParts = (text) => [{ text }];

/** Publishes the events of one task in the shapes the SDK wants. */
class Updater {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, taskId, contextId });
  }

  message(text) {
    return Message.fromJSON({
      messageId: randomUUID(),
      role: 'ROLE_AGENT',
      taskId: this.taskId,
      contextId: this.contextId,
      parts: textParts(text),
    });
  }

  status(state, text) {
    const timestamp = new Date().toISOString();
    const event = TaskStatusUpdateEvent.fromJSON({
      taskId: this.taskId,
      contextId: this.contextId,
      status: { state: `TASK_STATE_${state}`, timestamp },
    });
    event.status.message = text === undefined ? undefined : this.message(text);
    this.bus.publish(AgentEvent.statusUpdate(event));
  }

  artifact(parts, { id = randomUUID(), name = '', append = false, lastChunk = true } = {}) {
    const event = TaskArtifactUpdateEvent.fromJSON({
      taskId: this.taskId,
      contextId: this.contextId,
      append,
      lastChunk,
    });
    event.artifact = Artifact.fromJSON({ artifactId: id, name });
    event.artifact.parts = parts;
    this.bus.publish(AgentEvent.artifactUpdate(event));
  }
}

/** The words, as an executor of the SDK. */
class Agent {
  constructor() {
    this.canceled = new Set();
    this.contexts = new Map();
  }

  async execute(request, bus) {
    const { userMessage, taskId, contextId, task } = request;
    const input = userMessage.parts
      .filter((part) => part.content?.$case === 'text')
      .map((part) => part.content.value)
      .join('\n');
    const [word = '', ...others] = input.split(/\s+/).filter(Boolean);
    const rest = others.join(' ');
    const updater = new Updater(bus, taskId, contextId);
    if (word === 'message') {
      const answer = updater.message(`message: ${rest}`);
      answer.taskId = '';
      bus.publish(AgentEvent.message(answer));
      return;
    }

    this.contexts.set(taskId, contextId);
    // The SDK wants a task as the first event of every turn.
    const first = task ?? Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } });
    if (!task) {
      first.status.timestamp = new Date().toISOString();
      first.history = [userMessage];
    }
    bus.publish(AgentEvent.task(first));
    updater.status('WORKING');

    const parts = (text) => textParts(text).map(Part.fromJSON);
    if (userMessage.messageId.startsWith('acc-echo')) {
      updater.artifact(userMessage.parts, { name: 'echo' });
      updater.status('COMPLETED', 'echoed');
    } else if (task) {
      updater.artifact(parts(input), { name: 'answer' });
      updater.status('COMPLETED', 'thank you');
    } else if (word === 'stream') {
      const count = Number(rest);
      for (let index = 0; index < count; index += 1) {
        const lastChunk = index + 1 === count;
        updater.artifact(parts(`chunk ${index} `), { id: 'stream', append: index > 0, lastChunk });
        await sleep(TICK_MS);
      }
      updater.status('COMPLETED', 'streamed');
    } else if (word === 'ask') {
      updater.status('INPUT_REQUIRED', 'what is your name?');
    } else if (word === 'slow') {
      const end = Date.now() + Number(rest) * 1000;
      while (Date.now() < end && !this.canceled.has(taskId)) {
        await sleep(TICK_MS);
      }
      if (!this.canceled.has(taskId)) {
        updater.artifact(parts('done'), { name: 'slow' });
        updater.status('COMPLETED', 'done');
      }
    } else if (word === 'fail') {
      updater.status('FAILED', 'failed as asked');
    } else if (word === 'panic') {
      throw new Error('the executor crashed as asked');
    } else if (word === 'extensions') {
      const named = [...(request.context.requestedExtensions ?? [])].sort().join(',');
      updater.status('COMPLETED', `extensions: ${named}`);
    } else {
      updater.artifact(parts(rest), { name: 'echo' });
      updater.status('COMPLETED', `echoed ${rest}`);
    }
  }

  async cancelTask(taskId, bus) {
    this.canceled.add(taskId);
    new Updater(bus, taskId, this.contexts.get(taskId) ?? '').status('CANCELED', 'canceled as asked');
  }
}

/** The smallest agent. */
class Echo {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    const first = task ?? Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } });
    bus.publish(AgentEvent.task(first));
    const updater = new Updater(bus, taskId, contextId);
    updater.status('WORKING');
    updater.artifact(userMessage.parts);
    updater.status('COMPLETED');
  }

  async cancelTask(taskId, bus) {
    new Updater(bus, taskId, '').status('CANCELED');
  }
}

const skill = (name) => ({ id: name, name, description: `The word ${name}.`, tags: ['interop'] });

function cards(http, rpc) {
  const urls = [`${http}/rpc`, `${http}/rest`, rpc];
  const current = BINDINGS.map((protocolBinding, index) => ({
    protocolBinding,
    url: urls[index],
    tenant: '',
    protocolVersion: '1.0',
  }));
  const card = {
    name: 'Interop agent (JavaScript SDK)',
    description: 'Answers by the first word of a message.',
    version: '1.0.0',
    supportedInterfaces: compat ? duplicateInterfacesForLegacy(current, BINDINGS) : current,
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: [{ uri: EXTENSION, description: 'Named back to the client.' }],
    },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [skill('echo')],
  };
  const extended = { ...card, skills: [...card.skills, skill('secret')] };
  return [AgentCard.fromJSON(card), AgentCard.fromJSON(extended)];
}

const app = express();
const listener = await new Promise((resolve) => {
  const server = app.listen(0, '127.0.0.1', () => resolve(server));
});
const http = `http://127.0.0.1:${listener.address().port}`;
const rpcServer = new grpc.Server();
const rpcPort = await new Promise((resolve, reject) => {
  rpcServer.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
    error ? reject(error) : resolve(port),
  );
});
const rpc = `127.0.0.1:${rpcPort}`;

const [card, extended] = cards(http, rpc);
const pushConfigs = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  process.argv.includes('--echo') ? new Echo() : new Agent(),
  new DefaultExecutionEventBusManager(),
  pushConfigs,
  compat ? createLegacyAwarePushNotificationSender(pushConfigs) : new DefaultPushNotificationSender(pushConfigs),
  // As a function: a plain card is only for callers that the SDK has authenticated.
  async () => extended,
);
const userBuilder = UserBuilder.noAuthentication;
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
app.use('/rest', restHandler({ requestHandler, userBuilder, legacyCompat }));
const overGrpc = { requestHandler, userBuilder: GrpcUserBuilder.noAuthentication };
rpcServer.addService(A2AService, grpcService(overGrpc));
if (compat) rpcServer.addService(LegacyA2AService, legacyGrpcService(overGrpc));

process.stdin.resume();
process.stdin.on('close', () => process.exit(0));
console.log(JSON.stringify({ card: http, http, grpc: rpc }));
