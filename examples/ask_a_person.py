"""Tell a person where to answer what an agent asks: a webhook receiver that hands each link on.

python examples/ask_a_person.py --port 8001          # then: everyagent run claude "Delete what is not used"

It adds itself as a webhook of the daemon, which must allow it: `everyagent serve --webhook-networks 127.0.0.1`. Replace
`notify` by an e-mail, a chat message, or whatever reaches your people: the link needs no sign-in, and works once.
"""

import argparse
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

from everyagent.client import Client


def notify(asked: dict[str, object]) -> None:
    print(f"{asked['agent']} asks ({asked['type']}). Answer here: {asked['answer_url']}", flush=True)


class Receiver(HTTPServer):
    def __init__(self, port: int, secret: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.webhook = Webhook(secret)
        self.seen: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            message = self.server.webhook.verify(body, dict(self.headers.items()))
        except WebhookVerificationError:
            self.send_response(401)
        else:
            if message["id"] not in self.server.seen:  # a message may come twice
                self.server.seen.add(message["id"])
                notify(message["data"])
            self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--port", type=int, default=8001)
    asked = parser.parse_args()
    with Client() as client:
        made = client.create_webhook(
            f"http://127.0.0.1:{asked.port}/",
            events=["permission.requested", "question.requested"],
            name="ask a person",
            answer_links=True,
        )
        try:
            with Receiver(asked.port, made.secret) as receiver:
                print("waiting for asks", flush=True)
                receiver.serve_forever()
        finally:
            client.remove_webhook(made.webhook.webhook_id)


if __name__ == "__main__":
    main()
