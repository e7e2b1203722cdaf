"""Replies of the agent on the scripted Amp server (`amp_thread.py`)."""

import secrets
import string
from collections.abc import Mapping

from msgspec import Struct, field

from tests.scripted.script import DEFAULT_TEXT, Script, ScriptedReply

_LETTERS = string.ascii_letters + string.digits


def amp_id(prefix: str) -> str:
    """A random id in the form that Amp's program accepts."""
    return f"{prefix}-{''.join(secrets.choice(_LETTERS) for _ in range(22))}"


class Call(Struct, frozen=True):
    tool: str
    input: Mapping[str, object]


class Reply(ScriptedReply, kw_only=True):
    """One message of the agent, and the tools it calls.

    `held`: it waits for `release`. `retries`: the server reports a retry first. `drops`: the connection is cut
    first. `subagent_text` and `subagent_call` are a sub-agent's message and tool call before it.
    """

    thought: str = ""
    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    failure: str | None = None
    cut_short: bool = False
    held: bool = False
    retries: bool = False
    drops: bool = False
    subagent_text: str = ""
    subagent_call: Call | None = None

    @property
    def blocks(self) -> list[dict[str, object]]:
        """The message in the form of Amp's server. Each call gets a new id."""
        blocks: list[dict[str, object]] = []
        if self.thought:
            blocks.append({"type": "thinking", "thinking": self.thought, "signature": "c2NyaXB0ZWQ="})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        for call in self.calls:
            use = {"type": "tool_use", "id": amp_id("TU"), "name": call.tool, "input": dict(call.input)}
            blocks.append({**use, "complete": True})
        return blocks


def say(text: str, *, when: str = "", held: bool = False) -> Reply:
    return Reply(text=text, when=when, held=held)


def think(thought: str, text: str, *, when: str = "") -> Reply:
    return Reply(thought=thought, text=text, when=when)


def call(tool: str, input: Mapping[str, object], *, text: str = "", when: str = "") -> Reply:
    """A call of one tool, with `text` before it."""
    return calls((tool, input), text=text, when=when)


def calls(*tools: tuple[str, Mapping[str, object]], text: str = "", when: str = "") -> Reply:
    return Reply(calls=[Call(tool, input) for tool, input in tools], text=text, when=when)


def fail(message: str, *, when: str = "") -> Reply:
    return Reply(failure=message, when=when)


class AmpRequest(Struct, frozen=True):
    """An inference of the scripted agent. `new_text` is the text since its last message."""

    new_text: str


class AmpScript(Script[AmpRequest, Reply]):
    def __init__(self) -> None:
        super().__init__(say(DEFAULT_TEXT))
