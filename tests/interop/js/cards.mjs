// Signs and verifies agent cards with the official JavaScript SDK.
//
//     cards.mjs sign FOLDER ALG      signs each CASE.json as CASE.theirs.json
//     cards.mjs verify FOLDER ALG    verifies each CASE.signed.json
//
// The folder is made by `interop-cards make`. Verifying prints one line of JSON per case:
// {"operation": …, "ok": true|false, "detail": …}.

import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';

const KEY = 'interop-2026';
const [verb, folder, algorithm] = process.argv.slice(2);

const text = (name) => readFileSync(join(folder, name), 'utf8');
const read = (name) => JSON.parse(text(name));
const cases = () =>
  readdirSync(folder)
    .filter((name) => /^[^.]+\.json$/.test(name) && name !== 'jwks.json')
    .map((name) => name.slice(0, -'.json'.length))
    .sort();

const signer = (file, alg, kid) =>
  generateAgentCardSignature(createPrivateKey(text(file)), { alg, kid, typ: 'JOSE' });

async function sign() {
  const ours = signer('key.pem', algorithm, KEY);
  const other = signer('other.pem', 'ES256', 'interop-gone');
  for (const name of cases()) {
    let card = read(`${name}.json`);
    if (name === 'card-rotation') card = await other(card);
    card = await ours(card);
    writeFileSync(join(folder, `${name}.theirs.json`), JSON.stringify(card));
  }
}

async function check(card, key) {
  const verify = verifyAgentCardSignature(async (kid) => {
    if (kid !== KEY) throw new Error(`unknown key ${kid}`);
    return key;
  });
  await verify(card);
  // What a good signature is worth shows in what a bad one is told.
  const changes = [
    (copy) => (copy.name = 'B'),
    (copy) => (copy.supportedInterfaces[0].url = 'https://evil.example'),
    (copy) => (copy.capabilities = {}),
  ];
  for (const change of changes) {
    const tampered = structuredClone(card);
    change(tampered);
    const verified = await verify(tampered).then(
      () => true,
      () => false,
    );
    if (verified) throw new Error('verified though it was tampered with');
  }
}

async function verifyAll() {
  console.debug = () => {};
  const [jwk] = read('jwks.json').keys;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  for (const operation of cases()) {
    let detail = '';
    try {
      await check(read(`${operation}.signed.json`), key);
    } catch (error) {
      detail = String(error.message ?? error) || 'failed without a message';
    }
    console.log(JSON.stringify({ operation, ok: detail === '', detail }));
  }
}

await { sign, verify: verifyAll }[verb]();
