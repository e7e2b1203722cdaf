"""An MCP server over stdio: `read` is read-only, `write` is not, `book` asks the user for a date and a number.

With the word `stubborn` it stays when its client is gone, for two minutes, and does not listen to polite signals.
"""

import json
import signal
import sys

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
FORM = {
    "type": "object",
    "properties": {"date": {"type": "string", "title": "Date"}, "people": {"type": "integer", "title": "People"}},
    "required": ["date"],
}
TOOLS = [
    {"name": "read", "description": "Reads", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "write", "description": "Writes", "inputSchema": TEXT},
    {"name": "book", "description": "Books", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
]


def send(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": words}]}


def main() -> None:
    stubborn = "stubborn" in sys.argv
    if stubborn:
        signal.alarm(120)
        for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(polite, signal.SIG_IGN)
    serve()
    while stubborn:
        signal.pause()


def serve() -> None:
    calling = None
    for line in sys.stdin:
        message = json.loads(line)
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                info = {"name": "notes", "version": "1"}
                result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
                send(id=message["id"], result={**result, "serverInfo": info})
            case "tools/list":
                send(id=message["id"], result={"tools": TOOLS})
            case "tools/call" if params["name"] == "book":
                calling = message["id"]
                send(id="ask", method="elicitation/create", params={"message": "When?", "requestedSchema": FORM})
            case "tools/call":
                send(id=message["id"], result=text(f"{params['name']}: {params['arguments'].get('text')}"))
            case None if message.get("id") == "ask":
                send(id=calling, result=text(json.dumps(message.get("result"))))
            case _:
                if "id" in message:
                    send(id=message["id"], result={})


if __name__ == "__main__":
    main()
