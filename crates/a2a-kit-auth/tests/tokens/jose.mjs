// Writes jose.json: tokens by npm jose, as clients of agents present them.
//
//     npm ci && node jose.mjs

import { readFileSync, writeFileSync } from 'node:fs'
import { SignJWT, UnsecuredJWT, exportJWK, generateKeyPair } from 'jose'

const claims = { iss: 'https://issuer.example', aud: 'agent', sub: 'ann', exp: 4102444800, scope: 'read' }

const rsaAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
const rsa = { public: await exportJWK(publicKey), private: await exportJWK(privateKey) }
const pairs = { ES256: ['p256', 'ES256'], ES384: ['p384', 'ES384'], EdDSA: ['ed25519', 'EdDSA'] }

const sign = (alg, key, kid) => new SignJWT(claims).setProtectedHeader({ alg, ...(kid && { kid }) }).sign(key)

const keys = [{ ...rsa.public, kid: 'rsa' }]
const accepted = []
const rejected = []
for (const alg of rsaAlgorithms) {
  for (const kid of ['rsa', null]) accepted.push({ alg, kid, token: await sign(alg, rsa.private, kid) })
}
for (const [alg, [id, type]] of Object.entries(pairs)) {
  const pair = await generateKeyPair(type)
  keys.push({ ...(await exportJWK(pair.publicKey)), kid: id })
  for (const kid of [id, null]) accepted.push({ alg, kid, token: await sign(alg, pair.privateKey, kid) })
  const elsewhere = id === 'p384' ? 'p256' : 'p384'
  rejected.push({ alg, token: await sign(alg, pair.privateKey, elsewhere) })
}
rejected.push({ alg: 'none', token: new UnsecuredJWT(claims).encode() })
const secret = new TextEncoder().encode(JSON.stringify(keys[0]))
for (const alg of ['HS256', 'HS384', 'HS512']) {
  for (const kid of ['rsa', null]) rejected.push({ alg, token: await sign(alg, secret, kid) })
}
rejected.push({ alg: 'ES512', token: await sign('ES512', (await generateKeyPair('ES512')).privateKey) })
const other = (await generateKeyPair('PS256')).privateKey
rejected.push({ alg: 'PS256', token: await sign('PS256', other, 'rsa') })
rejected.push({ alg: 'PS256', token: await sign('PS256', other) })

const { version } = JSON.parse(readFileSync(new URL('node_modules/jose/package.json', import.meta.url)))
const document = { producer: `jose ${version}`, jwks: { keys }, accepted, rejected }
writeFileSync(new URL('jose.json', import.meta.url), JSON.stringify(document, null, 1) + '\n')
