// An echo agent on the official JavaScript SDK, over JSON-RPC, HTTP+JSON and gRPC.
//
// Prints one line of JSON with its addresses, and serves until it is killed.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { Server, ServerCredentials } from '@grpc/grpc-js';
import express from 'express';
import { AgentCard, Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';

const HOST = '127.0.0.1';

// The SDK wants every field of its types, even in JavaScript.
const textParts = (text) => [
  { content: { $case: 'text', value: text }, mediaType: '', filename: '', metadata: undefined },
];

const status = (state) => ({ state, timestamp: new Date().toISOString(), message: undefined });

const fourDigits = (number) => String(number).padStart(4, '0');

/** The number after the prefix, or undefined. */
function count(text, prefix) {
  const number = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return /^\d+$/.test(number) ? Number(number) : undefined;
}

/** Publishes the events of one task. */
class Updater {
  constructor(bus, taskId, contextId) {
    Object.assign(this, { bus, taskId, contextId });
  }

  /** The SDK wants the task before all updates of it. */
  start(state, history) {
    const { taskId: id, contextId } = this;
    this.bus.publish(
      AgentEvent.task({ id, contextId, status: status(state), artifacts: [], history, metadata: undefined }),
    );
  }

  artifact(text, append, lastChunk) {
    const { taskId, contextId } = this;
    const artifact = {
      artifactId: 'echo',
      name: '',
      description: '',
      parts: textParts(text),
      metadata: undefined,
      extensions: [],
    };
    this.bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }),
    );
  }

  finish(state) {
    const { taskId, contextId } = this;
    this.bus.publish(
      AgentEvent.statusUpdate({ taskId, contextId, status: status(state), metadata: undefined }),
    );
    this.bus.finished();
  }

  message(number) {
    return {
      messageId: `message-${number}`,
      role: Role.ROLE_USER,
      taskId: this.taskId,
      contextId: this.contextId,
      parts: textParts(`message ${fourDigits(number)} of the history`),
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
  }
}

class Agent {
  /** What ends the tasks that wait to be cancelled, by their ids. */
  #held = new Map();

  async execute({ userMessage, taskId, contextId }, bus) {
    const updater = new Updater(bus, taskId, contextId);
    const { content } = userMessage.parts[0];
    const text = content?.$case === 'text' ? content.value : '';

    const messages = count(text, 'history:');
    if (messages !== undefined) {
      const history = Array.from({ length: messages }, (_, number) => updater.message(number));
      // The SDK adds the message of the user to a history that lacks it.
      history[0] = userMessage;
      updater.start(TaskState.TASK_STATE_COMPLETED, history);
      bus.finished();
      return;
    }

    updater.start(TaskState.TASK_STATE_WORKING, [userMessage]);
    if (text === 'hold') {
      await new Promise((resolve) => this.#held.set(taskId, resolve));
      updater.finish(TaskState.TASK_STATE_CANCELED);
      return;
    }
    const chunks = count(text, 'stream:');
    if (chunks === undefined) {
      updater.artifact(`Echo: ${text}`, false, true);
    } else {
      for (let number = 0; number < chunks; number += 1) {
        const chunk = `chunk ${fourDigits(number)} of the streamed answer`;
        updater.artifact(chunk, number > 0, number + 1 === chunks);
      }
    }
    updater.finish(TaskState.TASK_STATE_COMPLETED);
  }

  async cancelTask(taskId) {
    this.#held.get(taskId)?.();
    this.#held.delete(taskId);
  }
}

// Node and the gRPC library turn TCP_NODELAY on for each connection.
const app = express();
const http = app.listen(0, HOST);
await once(http, 'listening');
const grpc = new Server();
const bind = promisify(grpc.bindAsync.bind(grpc));
const grpcPort = await bind(`${HOST}:0`, ServerCredentials.createInsecure());

const httpAddress = `${HOST}:${http.address().port}`;
const grpcAddress = `${HOST}:${grpcPort}`;
const protocolVersion = '1.0';
const card = AgentCard.fromJSON({
  name: 'echo',
  description: 'Echoes text.',
  version: '1',
  capabilities: { streaming: true },
  // The SDK only answers requests in the versions that these name.
  supportedInterfaces: [
    { protocolBinding: 'JSONRPC', url: `http://${httpAddress}/jsonrpc`, protocolVersion },
    { protocolBinding: 'HTTP+JSON', url: `http://${httpAddress}/rest`, protocolVersion },
    { protocolBinding: 'GRPC', url: grpcAddress, protocolVersion },
  ],
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
const bindings = { requestHandler, userBuilder: UserBuilder.noAuthentication };
app.use('/jsonrpc', jsonRpcHandler(bindings));
app.use('/rest', restHandler(bindings));
grpc.addService(A2AService, grpcService(bindings));

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
const addresses = {
  http: httpAddress,
  grpc: grpcAddress,
  jsonrpc: '/jsonrpc',
  rest: '/rest',
  name: 'js',
  version: dependencies['@a2a-js/sdk'],
};
console.log(JSON.stringify(addresses));
