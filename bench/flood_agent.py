"""A program that speaks the Agent Client Protocol and sends as many chunks of text as it is asked for.

Usage: flood_agent.py SIZE. The prompt is the number of chunks; each has SIZE letters. Only the standard library.
"""

import json
import sys

out = sys.stdout.buffer


def send(id: object, result: object) -> None:
    out.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")
    out.flush()


def main() -> None:
    text = {"type": "text", "text": "x" * int(sys.argv[1])}
    update = {"sessionId": "flood", "update": {"sessionUpdate": "agent_message_chunk", "content": text}}
    chunk = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": update}).encode() + b"\n"
    for line in sys.stdin:
        asked = json.loads(line)
        match asked.get("method"):
            case "initialize":
                send(asked["id"], {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})
            case "session/new":
                send(asked["id"], {"sessionId": "flood"})
            case "session/prompt":
                out.write(chunk * int(asked["params"]["prompt"][0]["text"]))
                send(asked["id"], {"stopReason": "end_turn"})
            case _:
                continue


if __name__ == "__main__":
    main()
