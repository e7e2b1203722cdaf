"""An ACP agent without a model: it follows the first word of a prompt. For what real agents do not do on demand.

Arguments: `version N` answers with that protocol version, `mute` never answers, `locked` needs a login, `keyed` too and
takes `authenticate` for it. `choosy` lists models, and refuses each. `forgetful` cannot load sessions; `lost`,
`garbled`, `dying`, `silent` and `expired` fail to. Sessions are kept in the file that FAKE_ACP_SESSIONS names.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "yolo", "name": "Yolo"}]}
INFO = {"name": "fake", "version": "0.3.1"}
CHOICE = {"id": "m", "category": "model", "currentValue": "small", "options": [{"value": "small"}, {"value": "large"}]}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Agent:
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.session = "s-1"
        self.requests = 0
        self.answers: dict[object, dict[str, Any]] = {}
        self.news = threading.Condition()
        self.cancelled = threading.Event()
        self.lock = threading.Lock()
        self.reading = threading.Event()
        self.reading.set()
        self.kept = Path(os.environ.get("FAKE_ACP_SESSIONS", "/dev/null"))
        self.history: list[str] = []
        self.key = ""
        self.servers: list[dict[str, Any]] = []

    # -- lines ----------------------------------------------------------------------------------------------------

    def send(self, **message: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}))

    def write(self, line: str) -> None:
        with self.lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def update(self, name: str, **fields: object) -> None:
        self.send(
            method="session/update", params={"sessionId": self.session, "update": {"sessionUpdate": name, **fields}}
        )

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def request(self, method: str, params: object, id: object = None) -> dict[str, Any]:
        """Sends a request and waits for the answer."""
        self.requests += 1
        id = id or f"r{self.requests}"
        self.send(id=id, method=method, params=params)
        with self.news:
            self.news.wait_for(lambda: id in self.answers or self.cancelled.is_set(), 60)
            return self.answers.pop(id, {})

    def run(self) -> None:
        for line in sys.stdin:
            self.reading.wait()
            message = json.loads(line)
            if "method" in message:
                self.serve(message)
            else:
                with self.news:
                    self.answers[message["id"]] = message
                    self.news.notify_all()

    # -- requests of the client -----------------------------------------------------------------------------------

    def serve(self, message: dict[str, Any]) -> None:
        id, params = message.get("id"), message.get("params") or {}
        match message["method"]:
            case "initialize":
                if "mute" not in self.words:
                    version = int(self.words[1]) if self.words[:1] == ["version"] else 1
                    load = {
                        "loadSession": "forgetful" not in self.words,
                        "mcpCapabilities": {"http": True},
                        "sessionCapabilities": {"close": {}},
                    }
                    self.send(id=id, result={"protocolVersion": version, "agentCapabilities": load, "agentInfo": INFO})
            case "authenticate":
                self.key = params["methodId"]
                self.send(id=id, result={})
            case "session/new" if "locked" in self.words or ("keyed" in self.words and not self.key):
                self.send(id=id, error={"code": -32000, "message": "Authentication required"})
            case "session/new":
                self.servers = params["mcpServers"]
                self.kept.write_text("[]") if self.kept.name != "null" else None
                options = [CHOICE] if "choosy" in self.words else None
                self.send(id=id, result={"sessionId": self.session, "modes": MODES, "configOptions": options})
                self.update("available_commands_update", availableCommands=[{"name": "help", "description": "Helps."}])
            case "session/load":
                self.load(id)
            case "session/close":
                self.kept.with_suffix(".closed").write_text(params["sessionId"])
                self.send(id=id, result={})
            case "session/set_mode":
                self.send(id=id, result={})
            case "session/prompt":
                text = "".join(block.get("text", "") + "\n" for block in params["prompt"]).strip()
                self.cancelled.clear()
                threading.Thread(target=self.prompt, args=(id, text), daemon=True).start()
            case "session/cancel":
                self.cancelled.set()
                with self.news:
                    self.news.notify_all()
            case method:
                self.send(id=id, error={"code": -32601, "message": f"Method not found: {method}"})

    def load(self, id: object) -> None:
        match self.words:
            case ["lost"]:
                self.kept.unlink()
            case ["garbled"]:
                self.send(id=id, result={"modes": 7})
                return
            case ["dying"]:
                os._exit(3)
            case ["silent"]:
                return
            case ["expired"]:
                self.send(id=id, error={"code": -32000, "message": "Authentication required"})
                return
            case _:
                pass
        try:
            self.history = json.loads(self.kept.read_text())
        except (OSError, ValueError):
            self.send(id=id, error={"code": -32602, "message": "Session not found"})
            return
        for text in self.history:
            self.update("user_message_chunk", content={"type": "text", "text": text})
            self.say(f"Replayed {text}")
        self.send(id=id, result={"modes": MODES})

    def prompt(self, id: object, text: str) -> None:
        self.history.append(text)
        if self.kept.name != "null":
            self.kept.write_text(json.dumps(self.history))
        *_, last = text.split("\n")
        word, _, rest = self.understood(last).partition(" ")
        stop = getattr(self, f"do_{word}", self.do_say)(rest) or "end_turn"
        if stop != "never":
            self.send(id=id, result={"stopReason": "cancelled" if self.cancelled.is_set() else stop})
        if word == "late":
            self.say("I am late.")
            self.update("tool_call_update", toolCallId="c1", status="completed")

    def understood(self, prompt: str) -> str:
        return prompt

    # -- what a prompt asks for -------------------------------------------------------------------------------------

    def do_say(self, rest: str) -> None:
        self.say(rest or "Hello.")

    def do_history(self, rest: str) -> None:
        self.say(f"{len(self.history)} prompts: {' | '.join(self.history)}")

    def do_attached(self, rest: str) -> None:
        """Reads the files that the prompt names."""
        named = [line.partition(": ")[2] for line in self.history[-1].split("\n") if "attached this file" in line]
        self.say(" | ".join(Path(path).read_text() for path in named))

    def do_late(self, rest: str) -> None:
        self.update("tool_call", toolCallId="c1", title="slow", kind="execute", rawInput={"command": "slow"})
        self.say("On time.")

    def do_early(self, rest: str) -> None:
        """A result whose call was never announced."""
        content = [{"type": "content", "content": {"type": "text", "text": "the result"}}]
        self.update("tool_call_update", toolCallId="c9", status="completed", title="unannounced", content=content)

    def do_hologram(self, rest: str) -> None:
        """An update of a type that nobody knows."""
        self.update("hologram", depth={"z": 3})

    def do_twice(self, rest: str) -> None:
        """Two permission requests with one id."""
        call = {"toolCallId": "c1", "title": "one", "kind": "execute", "rawInput": {"command": "one"}}
        other = {**call, "toolCallId": "c2", "title": "two"}
        self.send(
            id=7,
            method="session/request_permission",
            params={"toolCall": other | {"toolCallId": "c1"}, "options": OPTIONS},
        )
        answer = self.request("session/request_permission", {"toolCall": other, "options": OPTIONS}, id=7)
        self.say(f"Answered {json.dumps(answer.get('result'))}")

    def do_ask(self, command: str) -> None:
        self.allowed(command)

    def allowed(self, command: str) -> bool:
        call = {
            "toolCallId": f"c{len(self.history)}",
            "title": command,
            "kind": "execute",
            "rawInput": {"command": command},
        }
        self.update("tool_call", **call, status="pending")
        answer = self.request("session/request_permission", {"toolCall": call, "options": OPTIONS})
        chosen = answer.get("result", {}).get("outcome", {})
        allowed = chosen.get("optionId") in ("yes", "always")
        self.update("tool_call_update", toolCallId=call["toolCallId"], status="completed" if allowed else "failed")
        self.say(f"Outcome {chosen.get('optionId') or chosen.get('outcome')}")
        return allowed

    def do_big(self, size: str) -> None:
        self.say("x" * int(size))

    def do_flood(self, count: str) -> None:
        for number in range(int(count)):
            self.say(f"{number} ")

    def do_odd(self, rest: str) -> None:
        """Messages that nobody knows."""
        self.write("this is no JSON")
        self.write('{"jsonrpc": "2.0"}')
        self.write('{"jsonrpc": "2.0", "id": 4711, "result": {}}')
        self.update("telepathy", thought="?")
        self.send(method="vendor/news", params={})
        answer = self.request("vendor/question", {})
        self.say(f"Refused {answer.get('error', {}).get('code')}")

    def do_hang(self, rest: str) -> str:
        self.say("Hanging.")
        self.cancelled.wait(60)
        return "end_turn"

    def do_deaf(self, rest: str) -> str:
        """Does not even listen to a cancel."""
        self.say("Deaf.")
        return "never"

    def do_die(self, code: str) -> None:
        self.say("Dying.")
        sys.stderr.write("the fake agent dies\n")
        sys.stderr.flush()
        os._exit(int(code))

    def do_read(self, path: str) -> None:
        answer = self.request("fs/read_text_file", {"sessionId": self.session, "path": path})
        self.say(f"Read {json.dumps(answer.get('result') or answer.get('error'))}")

    def do_write(self, rest: str) -> None:
        path, _, content = rest.partition(" ")
        answer = self.request("fs/write_text_file", {"sessionId": self.session, "path": path, "content": content})
        self.say(f"Wrote {json.dumps(answer.get('result') or answer.get('error') or {})}")

    def do_call(self, rest: str) -> None:
        """Any request of the client's side, with its parameters as JSON."""
        method, _, params = rest.partition(" ")
        answer = self.request(method, {"sessionId": self.session, **json.loads(params or "{}")})
        self.say(json.dumps(answer.get("error") or answer.get("result")))

    def do_withdraw(self, command: str) -> None:
        """A request for permission that it withdraws, and then gets an answer to."""
        call = {"toolCallId": "w1", "title": command, "kind": "execute", "rawInput": {"command": command}}
        self.send(id="w", method="session/request_permission", params={"toolCall": call, "options": OPTIONS})
        self.send(method="$/cancel_request", params={"requestId": "w"})
        self.send(method="$/cancel_request", params={"requestId": "nothing"})
        with self.news:
            self.news.wait_for(lambda: "w" in self.answers, 60)
        self.say(f"Withdrawn {json.dumps(self.answers.pop('w', {}).get('result'))}")

    def do_mode(self, mode: str) -> None:
        """Changes its mode by itself."""
        self.update("current_mode_update", currentModeId=mode)

    def do_options(self, model: str) -> None:
        """Changes its options by itself."""
        options = [
            {"id": "m", "category": "model", "currentValue": model, "options": []},
            {"id": "t", "category": "thought_level", "currentValue": "high", "options": []},
            {"id": "x", "name": "Extra", "currentValue": True},
        ]
        self.update("config_option_update", configOptions=options)

    def do_parts(self, rest: str) -> None:
        """A result with content that is no text."""
        blocks = [
            {"type": "text", "text": "Made."},
            {"type": "resource_link", "name": "a", "uri": "file:///src/a.py"},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "x:1", "mimeType": "a/b", "blob": "BBBB"}},
            {"type": "resource", "resource": {"uri": "x:2", "text": " Quoted."}},
        ]
        content = [{"type": "content", "content": block} for block in blocks]
        self.update("tool_call", toolCallId="p1", title="parts", kind="other", rawInput={"a": 1})
        self.update("tool_call_update", toolCallId="p1", status="completed", content=content)

    def do_stuffed(self, count: str) -> str:
        """Sends requests without reading the answers, and goes on."""
        self.reading.clear()
        for number in range(int(count)):
            self.send(id=f"s{number}", method="vendor/question", params={})
        self.say("Unread.")
        return "never"

    def do_asked(self, command: str) -> None:
        """A command in a terminal, for which it asks first. It runs the command whatever the answer is."""
        self.do_ask(command)
        self.do_terminal(command)

    def do_terminal(self, command: str) -> None:
        made = self.request("terminal/create", {"sessionId": self.session, "command": command})
        if "error" in made:
            self.say(f"Refused {made['error']['message']}")
            return
        terminal = made["result"]
        shown = [{"type": "terminal", **terminal}]
        self.update(
            "tool_call", toolCallId="t1", title=command, kind="execute", rawInput={"command": command}, content=shown
        )
        done = self.request("terminal/wait_for_exit", {"sessionId": self.session, **terminal})["result"]
        output = self.request("terminal/output", {"sessionId": self.session, **terminal})["result"]
        self.request("terminal/release", {"sessionId": self.session, **terminal})
        self.update("tool_call_update", toolCallId="t1", status="completed")
        self.say(f"Exit {done['exitCode']}: {output['output']}")

    def do_terminals(self, outside: str) -> None:
        """Terminals that are killed, that write too much, and in a directory of another."""
        session = {"sessionId": self.session}

        def run(command: str, **more: object) -> dict[str, Any]:
            answer = self.request("terminal/create", {**session, "command": command, **more})
            return {**session, **(answer.get("result") or answer)}

        endless = run("echo begun; tail -f /dev/null")
        while "begun" not in self.request("terminal/output", endless)["result"]["output"]:
            pass
        self.request("terminal/kill", endless)
        killed = self.request("terminal/wait_for_exit", endless)["result"]
        loud = run("head -c 5000 /dev/zero | tr '\\0' x; echo", outputByteLimit=10)
        self.request("terminal/wait_for_exit", loud)
        output = self.request("terminal/output", loud)["result"]
        unknown = self.request("terminal/output", {**session, "terminalId": "no-such"})
        told = [killed, output["output"], output["truncated"], run("pwd", cwd=outside)["error"], unknown["error"]]
        self.say(json.dumps(told))

    def do_outputs(self, rest: str) -> None:
        """A terminal that waits for input after a partial line, and outputs that end without a line end."""
        session = {"sessionId": self.session}

        def run(command: str) -> dict[str, Any]:
            return {**session, **self.request("terminal/create", {**session, "command": command})["result"]}

        waiting = run("printf 'Sure? '; tail -f /dev/null")
        while (
            "Sure? " not in self.request("terminal/output", waiting)["result"]["output"] and not self.cancelled.is_set()
        ):
            time.sleep(0.05)
        self.request("terminal/release", waiting)
        told: list[object] = [self.request("terminal/output", waiting)["error"]["message"]]
        for command in ("printf no-end", "printf 'a\\r\\nb\\n'", "seq 200000 | tail -c 10"):
            done = run(command)
            self.request("terminal/wait_for_exit", done)
            told.append(self.request("terminal/output", done)["result"]["output"])
            self.request("terminal/release", done)
        self.say(json.dumps(told))

    def do_many(self, rest: str) -> None:
        """More terminals than may be open, though their commands have ended; then again after one is released."""
        session = {"sessionId": self.session}
        made: list[str] = []
        while True:
            answer = self.request("terminal/create", {**session, "command": "true"})
            if "error" in answer:
                break
            made.append(answer["result"]["terminalId"])
            self.request("terminal/wait_for_exit", {**session, "terminalId": made[-1]})
        self.request("terminal/release", {**session, "terminalId": made[0]})
        again = self.request("terminal/create", {**session, "command": "true"})
        self.say(json.dumps([len(made), answer["error"]["message"], again.get("result")]))

    def do_environment(self, name: str) -> None:
        self.say(f"{name}={os.environ.get(name)}")


if __name__ == "__main__":
    Agent(sys.argv[1:]).run()
