// What the clients of all versions have in common: their arguments, and a line for each check.

import { parseArgs } from 'node:util';

const SECONDS = 30;

/** Reads `--card URL --binding JSONRPC|HTTP+JSON|GRPC [--compat] [--only OPERATION]`. */
export const commandLine = () =>
  parseArgs({
    options: {
      card: { type: 'string' },
      binding: { type: 'string' },
      compat: { type: 'boolean' },
      only: { type: 'string', multiple: true },
    },
  }).values;

/**
 * Runs the checks, or those that are named, and prints one line of JSON for each:
 * {"operation": …, "ok": true|false, "detail": …}. Then leaves.
 */
export async function run(checks, only) {
  for (const [operation, check] of Object.entries(checks)) {
    if (only && !only.includes(operation)) continue;
    let late;
    let detail = '';
    const timeout = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error(`no end after ${SECONDS} s`)), SECONDS * 1000);
    });
    try {
      await Promise.race([check(), timeout]);
    } catch (error) {
      console.error(operation, error);
      detail = String(error.message ?? error) || 'failed without a message';
    }
    clearTimeout(late);
    console.log(JSON.stringify({ operation, ok: detail === '', detail }));
  }
  process.exit(0);
}
