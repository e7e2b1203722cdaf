"""A web page whose text streams in from an agent. Nothing but the standard library and the client.

python examples/web_backend.py --agent claude --port 8000

Each visitor gets a session. The page never sees the daemon's token: only this program talks to the daemon.
"""

import argparse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from everyagent.client import Client, ClientError, Session

PAGE = b"""<!doctype html><meta charset="utf-8"><title>Ask</title>
<form><input name="q" size="60" autofocus> <button>Ask</button></form><pre style="white-space: pre-wrap"></pre>
<script type="module">
const form = document.querySelector("form"), out = document.querySelector("pre"), visitor = crypto.randomUUID();
form.onsubmit = async (event) => {
  event.preventDefault();
  out.textContent = "";
  const query = new URLSearchParams({ q: form.q.value, visitor });
  const body = (await fetch("/ask?" + query, { method: "POST" })).body.pipeThrough(new TextDecoderStream());
  for (const reader = body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    out.textContent += value;
  }
};
</script>"""


class Backend(ThreadingHTTPServer):
    def __init__(self, port: int, client: Client, agent: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self._client = client
        self._agent = agent
        self._sessions: dict[str, Session] = {}

    def session(self, visitor: str) -> Session:
        if visitor not in self._sessions:
            self._sessions[visitor] = self._client.use(self._client.create(agent=self._agent))
        return self._sessions[visitor]


class Handler(BaseHTTPRequestHandler):
    server: Backend

    def do_GET(self) -> None:
        self._begin("text/html; charset=utf-8")
        self.wfile.write(PAGE)

    def do_POST(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        self._begin("text/plain; charset=utf-8")
        try:
            for text in self.server.session(query["visitor"][0]).stream_text(query["q"][0]):
                self.wfile.write(text.encode())
                self.wfile.flush()
        except ClientError as error:
            self.wfile.write(f"\n[{error}]".encode())

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--agent", required=True)
    parser.add_argument("--port", type=int, default=8000)
    asked = parser.parse_args()
    with Client() as client, Backend(asked.port, client, asked.agent) as backend:
        print(f"http://127.0.0.1:{asked.port}/", flush=True)
        backend.serve_forever()


if __name__ == "__main__":
    main()
