// An agent on the official JavaScript SDK of 0.3, over JSON-RPC, HTTP+JSON and gRPC.
//
// Prints one line of JSON with its addresses when it is ready and runs until its standard
// input closes. It knows the words of ../../python/server.py, which says what each does.

import grpc from '@grpc/grpc-js';
import express from 'express';
import {
  DefaultExecutionEventBusManager,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService, UserBuilder as GrpcUserBuilder } from '@a2a-js/sdk/server/grpc';

import { Agent, cards } from '../older/agent.mjs';

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

const [card, extended] = cards({
  name: 'Interop agent (JavaScript SDK 0.3)',
  protocolVersion: '0.3.0',
  url: `${http}/rpc`,
  preferredTransport: 'JSONRPC',
  additionalInterfaces: [
    { url: `${http}/rpc`, transport: 'JSONRPC' },
    { url: `${http}/rest`, transport: 'HTTP+JSON' },
    { url: rpc, transport: 'GRPC' },
  ],
});
const pushConfigs = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Agent(),
  new DefaultExecutionEventBusManager(),
  pushConfigs,
  new DefaultPushNotificationSender(pushConfigs),
  // As a function: a plain card is only for callers that the SDK has authenticated.
  async () => extended,
);
const userBuilder = UserBuilder.noAuthentication;
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
app.use('/rest', restHandler({ requestHandler, userBuilder }));
rpcServer.addService(A2AService, grpcService({ requestHandler, userBuilder: GrpcUserBuilder.noAuthentication }));

process.stdin.resume();
process.stdin.on('close', () => process.exit(0));
console.log(JSON.stringify({ card: http, http, grpc: rpc }));
