// What the drivers of the TypeScript frameworks have in common.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const SECONDS = 20;

/** Why the framework has no such operation; a row that throws it is neither passed nor failed. */
export class Lacking extends Error {}

/** Reads `--card URL [--only ROW]...`. */
export const commandLine = () =>
  parseArgs({
    options: { card: { type: 'string' }, only: { type: 'string', multiple: true } },
  }).values;

/**
 * Runs the rows, or those that are named, and prints a line of JSON for each:
 * `{"operation": ROW, "ok": true|false|null, "detail": "…"}`. A row returns its detail, if any.
 * Then leaves.
 */
export async function run(rows, only) {
  for (const [operation, row] of Object.entries(rows)) {
    if (only && !only.includes(operation)) continue;
    let timer;
    const timeout = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end after ${SECONDS} s`)), SECONDS * 1000);
    });
    let ok = true;
    let detail;
    try {
      detail = (await Promise.race([row(), timeout])) ?? '';
    } catch (error) {
      ok = error instanceof Lacking ? null : false;
      detail = error?.message || `failed without a message: ${error}`;
      if (ok === false) console.error(operation, error);
    }
    clearTimeout(timer);
    process.stdout.write(`${JSON.stringify({ operation, ok, detail })}\n`);
  }
  process.exit(0);
}

/** Awaits `call`, which has to fail with a text that matches `pattern`; returns that text. */
export async function failure(call, pattern) {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    assert.match(String(error.message), pattern);
    return error.message;
  }
  assert.fail(`expected an error, got ${JSON.stringify(answer)}`);
}

/** Listens with an HTTP server on a free port of 127.0.0.1 and returns its origin. */
export async function listen(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

/** Receives webhooks while `use` runs; its `until` awaits the first one that is `wanted`. */
export async function withWebhook(use) {
  const arrived = [];
  const server = createServer(async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    response.end();
    arrived.push([incoming.headers, JSON.parse(Buffer.concat(chunks).toString())]);
  });
  const url = `${await listen(server)}/hook`;
  const until = async (wanted) => {
    for (;;) {
      const found = arrived.find(([headers, body]) => wanted(headers, body));
      if (found) return found;
      await sleep(20);
    }
  };
  try {
    return await use({ url, until });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Prints what the agent is, and leaves when standard input closes. */
export function ready(description) {
  console.log(JSON.stringify(description));
  process.stdin.on('end', () => process.exit(0)).resume();
}
