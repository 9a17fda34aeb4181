// The JSON lines of `a2a serve --io jsonl`, for programs in Node.js 20 or newer. The types are JSDoc,
// so that TypeScript checks the programs that import this file, and nothing has to be built.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";

/** @typedef {{ text?: string, raw?: string, url?: string, data?: unknown, filename?: string, mediaType?: string }} Part */
/** @typedef {{ messageId: string, parts: Part[], metadata?: Record<string, unknown> }} Message */

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
// console.log() is for people: it goes to the log of the server.
console.log = console.info = console.error;

const write = (/** @type {object} */ line) => process.stdout.write(JSON.stringify(line) + "\n");

/** @returns {Promise<any>} */
const read = async () => {
  const { value, done } = await lines.next();
  return done ? process.exit(0) : JSON.parse(value);
};

/** A part of text, bytes or data. @returns {Part} */
export const part = (/** @type {unknown} */ value) =>
  typeof value === "string" ? { text: value }
    : value instanceof Uint8Array ? { raw: Buffer.from(value).toString("base64") } : { data: value };

/** A part with a file. */
export const file = (/** @type {string} */ path) => ({ ...part(readFileSync(path)), filename: basename(path) });

export const text = (/** @type {Message} */ message) => message.parts.flatMap((part) => part.text ?? []).join("\n");
export const data = (/** @type {Message} */ message) => message.parts.flatMap((part) => ("data" in part ? [part.data] : []));

/** Adds text to the output, as it comes. */
export const say = (/** @type {string} */ text) => write({ text });

export const progress = (/** @type {number} */ share, /** @type {string=} */ text, /** @type {object=} */ metadata) =>
  write({ progress: share, text, metadata });

/** Asks the caller, and returns the answer. @returns {Promise<Message>} */
export const ask = (/** @type {unknown[]} */ ...values) => {
  write({ state: "input-required", parts: values.map(part) });
  return read();
};

/** The last tasks of the conversation before this one, oldest first. */
export const history = async (count = 20) => {
  write({ history: count });
  return (await read()).tasks;
};

/** Sends an artifact, or a chunk of the one with the same name. */
export const artifact = (/** @type {string} */ name, /** @type {Part[]} */ parts, { append = false, lastChunk = !append } = {}) =>
  write({ artifact: { artifactId: name, name, parts }, append, lastChunk });

/** Ends the task; the caller sees the reason. @returns {never} */
export const fail = (/** @type {string} */ reason) => { write({ state: "failed", text: reason }); process.exit(0); };

/** Calls `stop` when the task is canceled: the program has 4 s to end. */
export const onCancel = (/** @type {() => unknown} */ stop) =>
  process.once("SIGTERM", async () => { await stop(); process.exit(143); });

/** Handles the message of this run. */
export const run = async (/** @type {(message: Message) => unknown} */ main) => {
  await main(await read());
  write({ state: "completed" });
  lines.return?.();
  process.stdin.destroy();
};
