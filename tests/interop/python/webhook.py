"""A webhook receiver that remembers what it was sent."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Webhook:
    """Listens on a free port; `async with` it, then await `until`."""

    async def __aenter__(self):
        self._arrived = asyncio.Queue()
        loop = asyncio.get_running_loop()
        arrived = self._arrived

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get('Content-Length', 0))
                body = json.loads(self.rfile.read(length))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(200)
                self.send_header('Content-Length', '0')
                self.end_headers()
                loop.call_soon_threadsafe(arrived.put_nowait, (headers, body))

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Receiver)
        self.url = f'http://127.0.0.1:{self._server.server_port}/hook'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    async def __aexit__(self, *_):
        await asyncio.to_thread(self._server.shutdown)
        self._server.server_close()

    async def until(self, wanted, seconds=10):
        """Returns the first delivery for which `wanted(headers, body)` is true."""

        async def found():
            while True:
                headers, body = await self._arrived.get()
                if wanted(headers, body):
                    return headers, body

        return await asyncio.wait_for(found(), seconds)
