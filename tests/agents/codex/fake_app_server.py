"""A stand-in for Codex's app-server, run as the program: it answers every prompt with the same item ids.

`[ask]` in a prompt asks for an approval first, `[hook]` calls the thread's permission hook, `[stray]` closes stdin and
sends a request for an unknown thread, `[huge]` reports absurd usage, `[crash]` ends it. With BOOM in its environment it
answers `initialize` with an error of a wrong shape; with NO_HOOKS it trusts no hook.
"""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

answered = threading.Event()
hook_commands: dict[str, str] = {}


def send(**message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def turn(number: int, thread: str, text: str) -> None:
    def notify(method: str, **params: object) -> None:
        send(method=method, params={"threadId": thread, "turnId": "t", **params})

    native = {"id": f"turn-{number}", "status": "inProgress"}
    notify("turn/started", turn=native)
    if "[ask]" in text:
        command = {"type": "commandExecution", "id": "call_1", "command": "ls", "status": "inProgress"}
        notify("item/started", item=command)
        asked = {"threadId": thread, "itemId": "call_1", "command": "ls"}
        send(id=0, method="item/commandExecution/requestApproval", params=asked)
        answered.wait()
        answered.clear()
        notify("item/completed", item={**command, "status": "completed", "exitCode": 0, "aggregatedOutput": "a"})
    if "[hook]" in text:
        called = {"session_id": thread, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "call_2"}
        if not subprocess.run(hook_commands[thread], shell=True, input=json.dumps(called).encode()).returncode:
            command = {"type": "commandExecution", "id": "call_2", "command": "ls", "status": "inProgress"}
            notify("item/started", item=command)
            notify("item/completed", item={**command, "status": "completed", "exitCode": 0, "aggregatedOutput": "a"})
    if "[crash]" in text:
        os._exit(3)
    if "[stray]" in text:
        os.close(0)
        send(id=1, method="item/tool/call", params={"threadId": "nobody"})
    message = {"type": "agentMessage", "id": "msg_1", "text": ""}
    notify("item/started", item=message)
    notify("item/agentMessage/delta", itemId="msg_1", delta=f"Reply {number}")
    notify("item/completed", item={**message, "text": f"Reply {number}"})
    count = int("9" * 4300) if "[huge]" in text else 5
    notify("thread/tokenUsage/updated", tokenUsage={"total": {"inputTokens": count, "outputTokens": count}})
    notify("turn/completed", turn={**native, "status": "completed"})


def prompts() -> Iterator[tuple[str, str]]:
    threads = itertools.count(1)
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method is None:
            answered.set()
        elif method == "initialize" and "BOOM" in os.environ:
            send(id=id, error="boom")
        elif method in ("thread/start", "thread/resume"):
            thread = message["params"].get("threadId") or f"thread-{next(threads)}"
            hooks = message["params"].get("config", {}).get("hooks")
            if hooks:
                hook_commands[thread] = hooks["PreToolUse"][0]["hooks"][0]["command"]
            send(id=id, result={"thread": {"id": thread}, "model": "fake"})
        elif method == "hooks/list" and "NO_HOOKS" not in os.environ:
            hook = {"source": "sessionFlags", "enabled": True, "trustStatus": "trusted"}
            send(id=id, result={"data": [{"hooks": [hook]}]})
        elif method == "turn/start":
            send(id=id, result={"turn": {"id": ""}})
            yield message["params"]["threadId"], message["params"]["input"][-1]["text"]
        elif id is not None:
            send(id=id, result={})


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    if "--version" in sys.argv:
        sys.exit("codex-cli 0.166.0")
    for number, (thread, text) in enumerate(prompts(), 1):
        threading.Thread(target=turn, args=(number, thread, text), daemon=True).start()
