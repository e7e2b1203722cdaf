"""A turn, as its directives use it: write frames, wait and ask, all of it interruptible."""

import re
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import NamedTuple, TypeAlias

from everyagent.agents.mock.directives import Directive
from everyagent.agents.mock.program.memory import MockMemory
from everyagent.agents.mock.program.settings import MockSettings
from everyagent.agents.mock.program.voice import FrameWriter

Reply: TypeAlias = dict[str, object]


class TurnInterrupted(Exception):
    """The turn was interrupted, or it ended while one of its threads was still running."""


class TurnFailed(Exception):
    """The turn ends here, with an error."""


class MockPrompt(NamedTuple):
    """`steps` are its directives and the texts between them."""

    text: str
    steps: list[Directive | str]

    def wants(self, name: str, flag: str) -> bool:
        return any(isinstance(step, Directive) and step.name == name and step.flag(flag) for step in self.steps)


class MockTurn:
    """Ids hold the turn's number, so that they are unique in the native session, also after a resume."""

    def __init__(
        self, prompt: MockPrompt, number: int, settings: MockSettings, memory: MockMemory, voice: FrameWriter
    ) -> None:
        self.prompt = prompt
        self.number = number
        self.settings = settings
        self.memory = memory
        self.deaf = prompt.wants("hang", "deaf") or prompt.wants("hang", "stubborn")
        self.spoken = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.over = False
        self.voice = voice
        self._lock = threading.Lock()
        self._interrupted = threading.Event()
        self._ids = 0
        self._waiting: dict[str, SimpleQueue[Reply | None]] = {}
        self._breakers: list[Callable[[], None]] = []
        self._helpers: dict[str, Helper] = {}

    def new_id(self, prefix: str) -> str:
        with self._lock:
            self._ids += 1
            return f"{prefix}_{self.number}_{self._ids}"

    def check(self) -> None:
        if self.over or self._interrupted.is_set():
            raise TurnInterrupted

    def pause(self, seconds: float | None) -> None:
        """Waits for ever if `seconds` is None."""
        if self._interrupted.wait(seconds):
            raise TurnInterrupted

    def say(self, type: str, **fields: object) -> None:
        with self._lock:
            self.check()
            self.voice.say(type, **fields)

    def write(self, lines: bytes) -> None:
        with self._lock:
            self.check()
            self.voice.write(lines)

    def stream(self, message: str, text: str, *, kind: str = "text", index: int = 0, delay: float = 0) -> str:
        """Streams a text word by word. Returns the text."""
        for word in re.findall(r"\s*\S+|\s+$", text):
            self.say(kind, id=message, index=index, text=word)
            self.spoken += len(word)
            if delay:
                self.pause(delay)
        return text

    def message(self, text: str, *, delay: float = 0, subagent: str | None = None) -> str:
        """Writes a whole assistant message. Returns its id."""
        message = self.new_id("msg")
        self.say("message.start", id=message, subagent=subagent)
        self.stream(message, text, delay=delay)
        self.finish(message, [{"type": "text", "text": text}], subagent=subagent)
        return message

    def finish(self, message: str, content: list[dict[str, str]], *, subagent: str | None = None) -> None:
        """Ends a message and the model request behind it, and reports the request's usage."""
        with self._lock:
            tokens_in, tokens_out = 10 + len(self.prompt.text) // 4, 1 + self.spoken // 4
            self.spoken = 0
            self.tokens_in += tokens_in
            self.tokens_out += tokens_out
        self.say("message.end", id=message, content=content, subagent=subagent)
        settings, usage = self.settings, {"input": tokens_in, "output": tokens_out}
        cost = settings.cost(tokens_in, tokens_out)
        self.say("responded", usage=usage, cost=cost, model=settings.model, subagent=subagent)

    def ask(self, type: str, id: str, **fields: object) -> Reply:
        """Writes a frame and waits for the answer."""
        return self._wait_for(id, lambda: self.say(type, id=id, **fields))

    def together(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Runs jobs concurrently; returns when all are done."""

        def run(job: Callable[[], None]) -> None:
            try:
                job()
            except TurnInterrupted:
                return

        threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.check()

    def breakable(self, breaker: Callable[[], None]) -> None:
        """Calls `breaker` when the turn is interrupted; at once if it was."""
        with self._lock:
            self._breakers.append(breaker)
        if self._interrupted.is_set():
            breaker()

    def answer(self, id: str, reply: Reply) -> None:
        waiting = self._waiting.get(id)
        if waiting:
            waiting.put(reply)
        for helper in list(self._helpers.values()):
            helper.answer(id, reply)

    def interrupt(self) -> None:
        if self.deaf:
            return
        self._interrupted.set()
        for breaker in list(self._breakers):
            breaker()
        for waiting in list(self._waiting.values()):
            waiting.put(None)

    def help(self, call: str, work: "Callable[[Helper], None]") -> bool:
        """Runs work as a sub-agent. False if only the sub-agent was interrupted."""
        helper = self._helpers[call] = Helper(self)
        try:
            work(helper)
        except TurnInterrupted:
            self.check()
            return False
        finally:
            del self._helpers[call]
            with self._lock:
                self.tokens_in += helper.tokens_in
                self.tokens_out += helper.tokens_out
        return True

    def interrupt_helper(self, call: str) -> None:
        for helper in list(self._helpers.values()):
            helper.interrupt_helper(call)
        if call in self._helpers:
            self._helpers[call].interrupt()

    def last_words(self, type: str, **fields: object) -> None:
        """Writes a frame for an interrupted sub-agent. An interrupted turn writes none: its end closes its items."""

    def end(self, stop: str, **fields: object) -> None:
        """Writes the turn's last frame. Threads of the turn that still run cannot write any more."""
        with self._lock:
            self.over = True
            self.voice.say("turn.end", stop=stop, **fields)

    def _wait_for(self, id: str, begin: Callable[[], None]) -> Reply:
        waiting: SimpleQueue[Reply | None] = SimpleQueue()
        self._waiting[id] = waiting
        try:
            begin()
            reply = waiting.get()
        finally:
            del self._waiting[id]
        if reply is None:
            raise TurnInterrupted
        return reply


class Helper(MockTurn):
    """A sub-agent's part of a turn: interrupted with it, or alone."""

    def __init__(self, whole: MockTurn) -> None:
        super().__init__(whole.prompt, whole.number, whole.settings, whole.memory, whole.voice)
        self._whole = whole
        whole.breakable(self.interrupt)

    def new_id(self, prefix: str) -> str:
        return self._whole.new_id(prefix)

    def check(self) -> None:
        self._whole.check()
        super().check()

    def say(self, type: str, **fields: object) -> None:
        self.check()
        self._whole.say(type, **fields)

    def write(self, lines: bytes) -> None:
        self.check()
        self._whole.write(lines)

    def last_words(self, type: str, **fields: object) -> None:
        self._whole.say(type, **fields)
