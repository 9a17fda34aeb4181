// Every operation that 0.3 has, by the client of the official JavaScript SDK of that revision,
// against one agent.
//
//     client.mjs --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]
//
// The agent has to know the words of ../../python/server.py.

import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { HTTP_EXTENSION_HEADER } from '@a2a-js/sdk';

import { commandLine, run } from '../driver.mjs';
import { checks } from '../older/checks.mjs';

const { card: address, binding, only } = commandLine();

const transports = {
  JSONRPC: new JsonRpcTransportFactory(),
  'HTTP+JSON': new RestTransportFactory(),
  GRPC: new GrpcTransportFactory(),
};
const card = await new DefaultAgentCardResolver().resolve(address);
const connect = () => new ClientFactory({ transports: [transports[binding]] }).createFromAgentCard(card);
const client = await connect();

/** The code at JSON-RPC of what the SDK has thrown; at gRPC it has errors for some statuses. */
function code(error) {
  const { message, cause } = error;
  if (error instanceof TaskNotFoundError) return -32001;
  if (error instanceof TaskNotCancelableError) return -32002;
  if (error instanceof UnsupportedOperationError) return -32004;
  const named = /\(Code: (-\d+)\)/.exec(message)?.[1];
  if (named) return Number(named);
  return { 3: -32602, 12: -32004 }[cause?.code];
}

await run(
  checks({
    binding,
    card,
    code,
    isLossy: binding !== 'JSONRPC',
    hasExtensions: true,
    extendedCard: async () => (await connect()).getAgentCard(),
    send: (params, extensions = []) => {
      const serviceParameters = extensions.length
        ? { [HTTP_EXTENSION_HEADER]: extensions.join(',') }
        : undefined;
      return client.sendMessage(params, { serviceParameters });
    },
    stream: (params) => client.sendMessageStream(params),
    get: (params) => client.getTask(params),
    cancel: (params) => client.cancelTask(params),
    resubscribe: (params) => client.resubscribeTask(params),
    setPush: (params) => client.setTaskPushNotificationConfig(params),
    getPush: (params) => client.getTaskPushNotificationConfig(params),
    listPush: (params) => client.listTaskPushNotificationConfig(params),
    deletePush: (params) => client.deleteTaskPushNotificationConfig(params),
  }),
  only,
);
