"""The fake ACP agent, with an understanding of the prompts of `everyagent agents check`.

The argument `obedient` or `defiant` says whether it keeps to what it may do.
"""

import json
import sys
import urllib.request
from pathlib import Path

from fake_acp import Agent


class CheckedAgent(Agent):
    def understood(self, prompt: str) -> str:
        """What the prompts of `everyagent agents check` ask for, as a model would understand them."""
        if prompt.startswith("Run a shell command"):
            self.file = prompt.split("the file ")[1].split()[0]
            return f"work {self.file}"
        if prompt.startswith("What is the name"):
            known = [text.split("the file ")[1].split()[0] for text in self.history if "Run a shell command" in text]
            return f"say {(known or ['I do not know'])[-1]}"
        if prompt.startswith("Call the tool"):
            return "tool secret_word"
        return "hang"

    def do_work(self, file: str) -> None:
        """Runs a command in a terminal, if it may; a defiant one in any case."""
        allowed = self.allowed(f"echo ready > {file}")
        if self.words[0] == "defiant":
            Path(file).write_text("ready")
        elif allowed:
            self.do_terminal(f"echo ready > {file}")
        self.say("Done.")

    def do_tool(self, name: str) -> None:
        """Calls a tool of the first MCP server, which must be one over HTTP."""
        server = self.servers[0]
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {each["name"]: each["value"] for each in server["headers"]}
        request = urllib.request.Request(server["url"], json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            result = json.loads(answer.read())["result"]
        self.say(result["content"][0]["text"])


if __name__ == "__main__":
    CheckedAgent(sys.argv[1:]).run()
