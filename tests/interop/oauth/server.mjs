// An OpenID Connect provider for the tests of `a2a auth login`: the user `ann` agrees to everything.
//
// The lifetime of access tokens is the first argument, in seconds. It ends with its standard input.

import * as crypto from "node:crypto";
import * as http from "node:http";
import { Provider } from "oidc-provider";

const lifetime = Number(process.argv[2] ?? 600);
const agent = "urn:agent";
const deviceCode = "urn:ietf:params:oauth:grant-type:device_code";

const { privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = { ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "one" };

const configuration = {
  clients: [
    {
      client_id: "cli",
      application_type: "native",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token", deviceCode],
      response_types: ["code"],
      redirect_uris: ["http://127.0.0.1/callback"],
      id_token_signed_response_alg: "ES256",
    },
    {
      client_id: "machine",
      client_secret: "s3cret of the machine",
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: "ES256",
    },
  ],
  cookies: { keys: [crypto.randomBytes(16).toString("hex")] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => agent,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        audience: "agent",
        scope: "read write",
        accessTokenFormat: "jwt",
        accessTokenTTL: lifetime,
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  jwks: { keys: [key] },
  pkce: { methods: ["S256"], required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: lifetime, ClientCredentials: lifetime, DeviceCode: 600, Grant: 3600,
    IdToken: 600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
};

/** Logs the user in, and agrees to what the client asks for. */
async function interact(provider, request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  let result = { login: { accountId: "ann" } };
  if (prompt.name === "consent") {
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    grant.addOIDCScope(params.scope ?? "openid");
    grant.addResourceScope(agent, "read write");
    result = { consent: { grantId: await grant.save() } };
  }
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

const server = http.createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration);
  const handle = provider.callback();
  server.on("request", (request, response) => {
    if (!request.url.startsWith("/interaction/")) return handle(request, response);
    interact(provider, request, response).catch((error) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });
  console.log(issuer);
});

process.stdin.resume();
process.stdin.on("end", () => process.exit());
