"""An MCP server over stdio with one tool, which elicits a date and a number from the user and returns them."""

import json
import sys

SCHEMA = {
    "type": "object",
    "properties": {"date": {"type": "string", "title": "Date"}, "people": {"type": "integer", "title": "People"}},
    "required": ["date"],
}
TOOL = {"name": "book", "description": "Books a table", "inputSchema": {"type": "object", "properties": {}}}


def send(**message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    calling = None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "calendar", "version": "1"}
                send(
                    id=message["id"],
                    result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                )
            case "tools/list":
                send(id=message["id"], result={"tools": [TOOL]})
            case "tools/call":
                calling = message["id"]
                send(
                    id="ask", method="elicitation/create", params={"message": "Which date?", "requestedSchema": SCHEMA}
                )
            case None if message.get("id") == "ask":
                text = json.dumps(message.get("result"))
                send(id=calling, result={"content": [{"type": "text", "text": text}]})
            case _:
                if "id" in message:
                    send(id=message["id"], result={})


if __name__ == "__main__":
    main()
