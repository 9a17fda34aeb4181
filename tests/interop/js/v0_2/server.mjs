// An agent on the official JavaScript SDK of 0.2, which has JSON-RPC alone.
//
// Prints one line of JSON with its address when it is ready and runs until its standard
// input closes. It knows the words of ../../python/server.py, which says what each does.

import express from 'express';
import { A2AExpressApp, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';

import { Agent, cards } from '../older/agent.mjs';

const app = express();
const listener = await new Promise((resolve) => {
  const server = app.listen(0, '127.0.0.1', () => resolve(server));
});
const http = `http://127.0.0.1:${listener.address().port}`;

const [card] = cards({
  name: 'Interop agent (JavaScript SDK 0.2)',
  protocolVersion: '0.2.5',
  url: `${http}/`,
});
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
new A2AExpressApp(requestHandler).setupRoutes(app);

process.stdin.resume();
process.stdin.on('close', () => process.exit(0));
console.log(JSON.stringify({ card: http, http }));
