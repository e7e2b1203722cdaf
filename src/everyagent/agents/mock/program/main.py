"""Entry point of the mock program: reads frames from stdin, plays turns in a second thread."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import TypeAlias, cast

from everyagent.agents.mock.directives import Directive, parse
from everyagent.agents.mock.program import acts
from everyagent.agents.mock.program.help import HELP
from everyagent.agents.mock.program.memory import MockMemory, UnknownSession
from everyagent.agents.mock.program.settings import MockSettings
from everyagent.agents.mock.program.tools import TOOLS, play_tools
from everyagent.agents.mock.program.turn import MockPrompt, MockTurn, TurnFailed, TurnInterrupted
from everyagent.agents.mock.program.voice import FrameWriter

Fields: TypeAlias = dict[str, object]

UNKNOWN_SESSION = 4
_NAMES = frozenset({*acts.ACTS, *TOOLS, "help"})


def main() -> None:
    threading.excepthook = _die_of
    frames = _frames()
    start = next(frames, None)
    if start is None:
        return
    settings = _settings(start)
    try:
        resume = start.get("session")
        memory = (
            MockMemory.load(settings.scratch, resume) if isinstance(resume, str) else MockMemory.new(settings.scratch)
        )
    except UnknownSession as error:
        _complain(f"cannot resume: {error}")
        sys.exit(UNKNOWN_SESSION)
    signal.signal(signal.SIGTERM, lambda number, _: _on_terminate(settings, number))
    voice = FrameWriter()
    voice.say("ready", session=memory.session, resumed=resume is not None, turn=memory.turns)
    _Agent(settings, memory, voice).serve(frames)
    if settings.stubborn:
        threading.Event().wait()
    os._exit(0)


class _Agent:
    def __init__(self, settings: MockSettings, memory: MockMemory, voice: FrameWriter) -> None:
        self._settings = settings
        self._memory = memory
        self._voice = voice
        self._unfinished: list[MockTurn] = []
        self._turns: SimpleQueue[MockTurn] = SimpleQueue()
        threading.Thread(target=self._play_all, daemon=True).start()

    def serve(self, frames: Iterator[Fields]) -> None:
        for frame in frames:
            match frame.get("type"):
                case "prompt":
                    self._begin(frame)
                case "steer":
                    self._steer(str(frame.get("text", "")))
                case "answer":
                    for turn in list(self._unfinished):
                        turn.answer(str(frame.get("id")), frame)
                case "interrupt":
                    for turn in list(self._unfinished):
                        turn.interrupt()
                case "interrupt_subagent":
                    for turn in list(self._unfinished):
                        turn.interrupt_helper(str(frame.get("call")))
                case "change":
                    self._settings.change(frame)
                case other:
                    _complain(f"I do not know frames of type {other!r}")
        for turn in list(self._unfinished):
            turn.interrupt()

    def _begin(self, frame: Fields) -> None:
        prompt = _prompt(frame)
        self._settings.stubborn = prompt.wants("hang", "stubborn")
        self._memory.turns += 1
        self._memory.save()
        turn = MockTurn(prompt, self._memory.turns, self._settings, self._memory, self._voice)
        self._unfinished.append(turn)
        self._turns.put(turn)

    def _steer(self, text: str) -> None:
        try:
            self._unfinished[0].message(f"(steered: {text})")
        except (IndexError, TurnInterrupted):
            self._voice.say("error", code="internal", message=f"The turn had ended before it could be steered: {text}")

    def _play_all(self) -> None:
        while True:
            turn = self._turns.get()
            _play(turn)
            self._unfinished.remove(turn)


def _play(turn: MockTurn) -> None:
    stop, error = "end_turn", None
    try:
        for step in _grouped(turn.prompt.steps):
            _perform(turn, step)
    except TurnInterrupted:
        stop = "interrupted"
    except TurnFailed as failure:
        stop, error = "error", str(failure)
    usage = {"input": turn.tokens_in, "output": turn.tokens_out}
    turn.end(stop, usage=usage, cost=turn.settings.cost(turn.tokens_in, turn.tokens_out), error=error)


def _prompt(frame: Fields) -> MockPrompt:
    text = str(frame.get("text", ""))
    steps = parse(text, _NAMES)
    if attachments := cast(list[Fields], frame.get("attachments", [])):
        steps.append(f"I got {', '.join(_described(each) for each in attachments)}.")
    return MockPrompt(text, steps or ["(You said nothing.)"])


def _grouped(steps: list[Directive | str]) -> Iterator[str | Directive | list[Directive]]:
    """The steps, with adjacent tool directives in one list."""
    for tools, group in groupby(steps, _is_tool):
        if tools:
            yield [step for step in group if isinstance(step, Directive)]
        else:
            yield from group


def _is_tool(step: str | Directive) -> bool:
    return isinstance(step, Directive) and step.name in TOOLS


def _perform(turn: MockTurn, step: str | Directive | list[Directive]) -> None:
    turn.check()
    match step:
        case str():
            turn.message(step)
        case Directive("help"):
            turn.message(HELP)
        case Directive():
            acts.ACTS[step.name](turn, step)
        case directives:
            play_tools(turn, directives)


def _described(attachment: Fields) -> str:
    path, data = attachment.get("path"), attachment.get("data")
    name = attachment.get("filename") or (Path(path).name if isinstance(path, str) else "a file without a name")
    if isinstance(data, str):
        return f"{name} ({len(data) * 3 // 4 - data[-2:].count('=')} bytes)"
    try:
        return f"{name} ({Path(str(path)).stat().st_size} bytes)"
    except OSError as error:
        return f"{name} (unreadable: {error.strerror})"


def _frames() -> Iterator[Fields]:
    for line in sys.stdin.buffer:
        yield cast(Fields, json.loads(line))


def _settings(start: Fields) -> MockSettings:
    """Takes the secrets out of the environment, so that commands do not inherit them."""
    settings = MockSettings(Path.cwd(), Path(str(start["scratch"])))
    settings.system_prompt = cast(str | None, start.get("system_prompt"))
    settings.seed = cast(str | None, start.get("seed"))
    settings.tools = cast(list[str], start.get("tools", []))
    settings.mcp = cast(list[str], start.get("mcp", []))
    settings.tools_url = os.environ.pop("MOCK_TOOLS_URL", None)
    settings.tools_token = os.environ.pop("MOCK_TOOLS_TOKEN", None)
    settings.shell = os.environ.pop("MOCK_SHELL", settings.shell)
    settings.change(start)
    return settings


def _complain(problem: str) -> None:
    os.write(2, f"mock: {problem}\n".encode())


def _on_terminate(settings: MockSettings, number: int) -> None:
    if not settings.stubborn:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def _die_of(error: threading.ExceptHookArgs) -> None:
    """An unexpected exception in a turn ends the program, like that of any agent."""
    import traceback

    traceback.print_exception(error.exc_type, error.exc_value, error.exc_traceback)
    sys.stderr.flush()
    os._exit(1)
