// What 0.2 has, by the client of the official JavaScript SDK of that revision, against one agent.
//
//     client.mjs --card URL --binding JSONRPC [--only OPERATION]
//
// The agent has to know the words of ../../python/server.py.

import { A2AClient } from '@a2a-js/sdk/client';

import { commandLine, run } from '../driver.mjs';
import { checks } from '../older/checks.mjs';

const { card: address, binding, only } = commandLine();
const client = new A2AClient(address);
const card = await client.getAgentCard();

/** An error of JSON-RPC, which the SDK hands out as an answer. */
class RpcError extends Error {
  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

async function result(call) {
  const answer = await call;
  if (client.isErrorResponse(answer)) throw new RpcError(answer.error);
  return answer.result;
}

function code(error) {
  const named = /\(Code: (-\d+)[,)]/.exec(error.message)?.[1];
  return error.code ?? (named && Number(named));
}

await run(
  checks({
    binding,
    card,
    code,
    isLossy: false,
    hasExtensions: false,
    extendedCard: async () => {
      throw new Error('the SDK has no extended card');
    },
    send: (params) => result(client.sendMessage(params)),
    stream: (params) => client.sendMessageStream(params),
    get: (params) => result(client.getTask(params)),
    cancel: (params) => result(client.cancelTask(params)),
    resubscribe: (params) => client.resubscribeTask(params),
    setPush: (params) => result(client.setTaskPushNotificationConfig(params)),
    getPush: (params) => result(client.getTaskPushNotificationConfig(params)),
  }),
  only,
);
