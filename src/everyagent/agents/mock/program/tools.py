"""The directives that are tool calls. Adjacent ones are sent in one message and run concurrently.

Modules that are slow to import are imported by the tool that needs them, so that the program starts fast.
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

from everyagent.agents.mock.directives import Directive
from everyagent.agents.mock.program.command import run_command
from everyagent.agents.mock.program.outcome import ToolOutcome
from everyagent.agents.mock.program.policies import refusal, verdict
from everyagent.agents.mock.program.turn import MockTurn, TurnInterrupted

#: The server of the session's custom tools, to which the daemon applies the policies.
CUSTOM = "everyagent"
_STOPPED = "The sub-agent was interrupted."


class MockCall(NamedTuple):
    """A call that was announced. `asks`: it needs permission, unless that was granted already."""

    id: str
    message: str
    result: str
    name: str
    input: dict[str, object]
    run: Callable[[MockTurn, "MockCall"], ToolOutcome]
    asks: bool = False
    mcp_server: str | None = None
    subagent: str | None = None


def play_tools(turn: MockTurn, directives: Sequence[Directive], *, subagent: str | None = None) -> None:
    message = turn.new_id("msg")
    turn.say("message.start", id=message, subagent=subagent)
    text = turn.stream(message, f"Calling {', '.join(directive.name for directive in directives)}.")
    calls = [_announce(turn, message, directive, subagent) for directive in directives]
    turn.finish(message, [{"type": "text", "text": text}], subagent=subagent)
    turn.together([lambda call=call: _carry_out(turn, call) for call in calls])


def _announce(turn: MockTurn, message: str, directive: Directive, subagent: str | None) -> MockCall:
    made = MockCall(turn.new_id("call"), message, turn.new_id("res"), *TOOLS[directive.name](directive))
    call = made._replace(subagent=subagent)
    facts = {"id": call.id, "message": message, "name": call.name, "mcp_server": call.mcp_server, "subagent": subagent}
    turn.say("call.start", **facts)
    arguments = json.dumps(call.input, ensure_ascii=False)
    for start in range(0, len(arguments), 16):
        turn.say("call.input", id=call.id, text=arguments[start : start + 16])
    turn.say("call.end", **facts, input=arguments)
    return call


def _carry_out(turn: MockTurn, call: MockCall) -> None:
    refused = _refusal(turn, call)
    facts = {"id": call.result, "call": call.id, "message": call.message, "name": call.name, "subagent": call.subagent}
    turn.say("result.start", **facts)
    try:
        outcome = ToolOutcome(refused, is_error=True) if refused else call.run(turn, call)
    except TurnInterrupted:
        turn.last_words("result.end", **facts, **ToolOutcome(_STOPPED, is_error=True).fields())
        raise
    turn.say("result.end", **facts, **outcome.fields())
    if refused:
        turn.message(f"I did not run {call.name}: {refused}", subagent=call.subagent)


def _refusal(turn: MockTurn, call: MockCall) -> str | None:
    """The reason for a denial, or None to allow. Asks for permission if necessary."""
    if turn.settings.planning:
        return "refused: nothing is changed in plan mode"
    ruled = "allow" if call.mcp_server == CUSTOM else verdict(turn.settings.policies, call.name, call.mcp_server)
    if ruled == "deny":
        return f"refused: {refusal(call.name)}"
    if ruled == "allow" or (ruled == "auto" and not _would_ask(turn, call)):
        return None
    ask = turn.new_id("perm")
    try:
        reply = turn.ask(
            "permission",
            ask,
            call=call.id,
            tool=call.name,
            action=f"{call.name}: {next(iter(call.input.values()))}",
            input=call.input,
            suggestions=[{"always": call.name}] if ruled == "auto" else [],
            options=["once", "always", "reject"] if ruled == "auto" else ["once", "reject"],
        )
    except TurnInterrupted:
        turn.last_words("withdrawn", id=ask)
        raise
    if reply.get("reply") == "reject":
        why = reply.get("message")
        return f"rejected: {why}" if why else "rejected"
    if reply.get("reply") == "always" and ruled == "auto":
        turn.memory.always.add(call.name)
        turn.memory.save()
    return None


def _would_ask(turn: MockTurn, call: MockCall) -> bool:
    """Whether the call needs permission if no policy applies."""
    mode = turn.settings.permission_mode
    granted = mode == "bypass" or (mode == "acceptEdits" and call.name == "edit") or call.name in turn.memory.always
    return call.asks and not granted


def _bash(turn: MockTurn, call: MockCall) -> ToolOutcome:
    return run_command(turn, call.result, str(call.input["command"]))


def _made_up(turn: MockTurn, call: MockCall) -> ToolOutcome:
    output = f"{call.name} did what it was asked to."
    turn.say("output", id=call.result, text=output)
    return ToolOutcome(output, duration_ms=0)


def _edit(turn: MockTurn, call: MockCall) -> ToolOutcome:
    from everyagent.agents.mock.program.edit import add_line

    return add_line(turn.settings.directory, str(call.input["path"]), str(call.input["line"]))


def _custom(turn: MockTurn, call: MockCall) -> ToolOutcome:
    from everyagent.agents.mock.program.mcp import McpClient, McpError

    there = turn.settings.tools
    if not turn.settings.tools_url or call.name not in there:
        return ToolOutcome(
            f"This session has no tool {call.name}. It has: {', '.join(there) or 'none'}.", is_error=True
        )
    client = McpClient(turn.settings.tools_url, turn.settings.tools_token)
    turn.breakable(client.close)
    try:
        output, failed = client.call(call.name, call.input)
    except McpError as error:
        return ToolOutcome(str(error), is_error=True)
    turn.say("output", id=call.result, text=output)
    return ToolOutcome(output, is_error=failed)


def _delegate(turn: MockTurn, call: MockCall) -> ToolOutcome:
    """The sub-agent's own items name this call."""
    if turn.help(call.id, lambda helper: _look_around(helper, call)):
        return ToolOutcome("The sub-agent looked around and is done.")
    return ToolOutcome(_STOPPED, is_error=True)


def _look_around(turn: MockTurn, call: MockCall) -> None:
    if call.input.get("stumbles"):
        again = {"attempt": 1, "max": 1, "delay_ms": 0}
        message = "The model is overloaded; the sub-agent tries again."
        turn.say("error", code="overloaded", message=message, retry=again, subagent=call.id)
    turn.message("I am the sub-agent. I look around.", subagent=call.id)
    looking = Directive("tool", {"name": "bash", "command": call.input["command"]})
    play_tools(turn, [looking], subagent=call.id)
    turn.message("The sub-agent is done.", subagent=call.id)


class ToolPlan(NamedTuple):
    """The call of a directive; the fields are as in `MockCall`."""

    name: str
    input: dict[str, object]
    run: Callable[[MockTurn, MockCall], ToolOutcome]
    asks: bool = False
    mcp_server: str | None = None


def _plan_tool(directive: Directive) -> ToolPlan:
    name = directive.text("name", "bash")
    if name == "bash":
        return ToolPlan(name, {"command": directive.text("command", "ls")}, _bash)
    return ToolPlan(name, {key: value for key, value in directive.options.items() if key != "name"}, _made_up)


def _plan_custom(directive: Directive) -> ToolPlan:
    given = directive.options.get("input")
    arguments = cast(dict[str, object], given) if isinstance(given, dict) else {}
    return ToolPlan(directive.text("name", "get_weather"), arguments, _custom, mcp_server=CUSTOM)


def _plan_subagent(directive: Directive) -> ToolPlan:
    task: dict[str, object] = {
        "prompt": directive.text("prompt", "Look around."),
        "command": directive.text("command", "pwd"),
    }
    return ToolPlan("task", task | ({"stumbles": True} if directive.flag("stumbles") else {}), _delegate)


TOOLS: dict[str, Callable[[Directive], ToolPlan]] = {
    "tool": _plan_tool,
    "ask": lambda d: ToolPlan("bash", {"command": d.text("command", "echo permitted")}, _bash, asks=True),
    "diff": lambda d: ToolPlan(
        "edit", {"path": d.text("path", "mock.txt"), "line": d.text("line", "A line of the mock.")}, _edit, asks=True
    ),
    "mcp": lambda d: ToolPlan(
        d.text("name", "search"), {"query": d.text("query", "anything")}, _made_up, False, d.text("server", "docs")
    ),
    "custom": _plan_custom,
    "subagent": _plan_subagent,
}
