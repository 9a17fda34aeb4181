// A webhook receiver for the drivers of all versions.

import { createServer } from 'node:http';

/** Listens while `use` runs; its `until` awaits the first delivery that is `wanted`. */
export async function withWebhook(use) {
  const arrived = [];
  let wake = () => {};
  const server = createServer(async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    response.end();
    arrived.push([incoming.headers, JSON.parse(Buffer.concat(chunks).toString())]);
    wake();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const until = async (wanted) => {
    for (;;) {
      const found = arrived.find(([headers, body]) => wanted(headers, body));
      if (found) return found;
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
  };
  try {
    return await use({ url: `http://127.0.0.1:${server.address().port}/hook`, until });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
