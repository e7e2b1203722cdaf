"""The directives that are no tool calls: talk, think, ask, fail in every way."""

import os
import time
from collections.abc import Callable
from typing import cast

from everyagent.agents.mock.directives import Directive
from everyagent.agents.mock.program import png
from everyagent.agents.mock.program.flood import flood
from everyagent.agents.mock.program.turn import MockTurn, TurnFailed

_VOCABULARY = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "writes", "it", "down"]
_APPROVE, _KEEP_PLANNING = "Yes, carry it out", "No, keep planning"
_TODOS = ("Read the code", "Change the code", "Run the tests")


def hello(turn: MockTurn, _: Directive) -> None:
    turn.message("Hello! I am the mock agent. Send me [help] to see what I can do.")


def text(turn: MockTurn, directive: Directive) -> None:
    words = (_VOCABULARY[n % len(_VOCABULARY)] for n in range(directive.whole("words", 200)))
    turn.message(" ".join(words), delay=directive.number("delay", 0))


def reasoning(turn: MockTurn, _: Directive) -> None:
    message = turn.new_id("msg")
    turn.say("message.start", id=message)
    thought = turn.stream(message, "The user wants to see me think, so I think.", kind="reasoning")
    reply = turn.stream(message, "I have thought about it.", index=1)
    content = [{"type": "reasoning", "text": thought}, {"type": "text", "text": reply}]
    turn.finish(message, content)


def question(turn: MockTurn, _: Directive) -> None:
    colours = [{"label": name, "description": f"{name} as can be"} for name in ("Red", "Green", "Blue")]
    extras = [{"label": name} for name in ("Tests", "Docs", "Benchmarks")]
    questions = [
        {"header": "Colour", "prompt": "Which colour shall it be?", "options": colours, "multi_select": False},
        {"header": "Extras", "prompt": "What else shall be made?", "options": extras, "multi_select": True},
    ]
    reply = turn.ask("question", turn.new_id("ques"), questions=questions)
    if answers := cast(list[list[str]] | None, reply.get("answers")):
        turn.message(f"You answered: {'; '.join(', '.join(each) for each in answers)}.")
    else:
        why = reply.get("message")
        turn.message(f"You did not want to answer{f': {why}' if why else ''}.")


def approve(turn: MockTurn, directive: Directive) -> None:
    plan = directive.text("plan", "\n".join(f"{n}. {todo}" for n, todo in enumerate(_TODOS, 1)))
    asked = {
        "header": "Plan",
        "prompt": f"The mock wants to carry out this plan:\n\n{plan}",
        "options": [
            {"label": _APPROVE, "description": "It leaves plan mode"},
            {"label": _KEEP_PLANNING, "description": "Any other text says what to change"},
        ],
        "multi_select": False,
    }
    reply = turn.ask("question", turn.new_id("plan"), questions=[asked])
    answers = cast(list[list[str]] | None, reply.get("answers"))
    if answers == [[_APPROVE]]:
        turn.message("I carry out the plan.")
    else:
        why = "; ".join(", ".join(each) for each in answers) if answers else reply.get("message")
        turn.message(f"I plan again{f': {why}' if why else ''}.")


def image(turn: MockTurn, _: Directive) -> None:
    path = turn.settings.scratch / f"{turn.new_id('image')}.png"
    path.write_bytes(png.gradient(16))
    message = turn.new_id("msg")
    turn.say("message.start", id=message)
    reply = turn.stream(message, "Here is a picture.")
    content = [{"type": "text", "text": reply}, {"type": "image", "path": str(path), "mime": "image/png"}]
    turn.finish(message, content)


def plan(turn: MockTurn, _: Directive) -> None:
    for done in range(len(_TODOS) + 1):
        states = ["completed" if n < done else "in_progress" if n == done else "pending" for n in range(len(_TODOS))]
        todos = [{"label": label, "detail": state} for label, state in zip(_TODOS, states, strict=True)]
        turn.say("plan", id=turn.new_id("plan"), todos=todos)


def compact(turn: MockTurn, _: Directive) -> None:
    turn.say("compacted", id=turn.new_id("cmp"))
    turn.message("I remember the gist of it.")


def slow(turn: MockTurn, directive: Directive) -> None:
    deadline = time.monotonic() + directive.number("seconds", 30)
    message = turn.new_id("msg")
    turn.say("message.start", id=message)
    words: list[str] = []
    while time.monotonic() < deadline:
        words.append(turn.stream(message, f"{_VOCABULARY[len(words) % len(_VOCABULARY)]} "))
        turn.pause(directive.number("delay", 0.05))
    turn.finish(message, [{"type": "text", "text": "".join(words)}])


def retry(turn: MockTurn, directive: Directive) -> None:
    times = directive.whole("times", 2)
    delay_ms = directive.whole("delay_ms", 20)
    for attempt in range(1, times + 1):
        again = {"attempt": attempt, "max": times, "delay_ms": delay_ms}
        turn.say("error", code="overloaded", message="The model is overloaded; trying again.", retry=again)
        turn.pause(delay_ms / 1000)
    turn.message(f"It worked after {times} {'retry' if times == 1 else 'retries'}.")


def error(turn: MockTurn, directive: Directive) -> None:
    code = directive.text("code", "overloaded")
    message = directive.text("message", f"The prompt asked for the error {code}.")
    turn.say("error", code=code, message=message)
    raise TurnFailed(message)


def crash(turn: MockTurn, directive: Directive) -> None:
    message = turn.new_id("msg")
    turn.say("message.start", id=message)
    turn.stream(message, "I do not feel so")
    for number in range(1, directive.whole("lines", 3) + 1):
        os.write(2, f"mock: crash as asked for, line {number}\n".encode())
    os._exit(directive.whole("code", 3))


def exit(turn: MockTurn, _: Directive) -> None:
    if not turn.memory.exited:
        turn.memory.exited = True
        turn.memory.save()
        os.write(2, b"mock: exit as asked for\n")
        os._exit(5)


def hang(turn: MockTurn, _: Directive) -> None:
    turn.pause(None)


def unparsed(turn: MockTurn, _: Directive) -> None:
    turn.write(b"%% this is no JSON at all\n")
    turn.say("telemetry.v9", note="a type that nobody knows")


def whoami(turn: MockTurn, _: Directive) -> None:
    settings = turn.settings
    facts = {
        "session": turn.memory.session,
        "turn": turn.number,
        "model": settings.model,
        "variant": settings.variant,
        "agent mode": settings.agent_mode,
        "permission mode": settings.permission_mode,
        "directory": settings.directory,
        "environment": " ".join(sorted(os.environ)),
        "tools": " ".join(settings.tools),
        "mcp servers": " ".join(settings.mcp),
        "seed": f"{len(settings.seed or '')} characters",
        "system prompt": settings.system_prompt,
    }
    turn.message("\n".join(f"{name}: {value}" for name, value in facts.items()))


ACTS: dict[str, Callable[[MockTurn, Directive], None]] = {
    act.__name__: act
    for act in (
        hello, text, reasoning, question, approve, image, plan, compact, slow, retry, error, crash, exit, hang,
        unparsed, flood, whoami,
    )
}  # fmt: skip
