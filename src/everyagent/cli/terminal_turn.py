"""Runs one turn in the terminal: renders its events, prompts for answers to asks, handles Ctrl-C."""

import sys
import time
from collections.abc import Sequence
from contextlib import aclosing

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream

from everyagent.cli import ask_prompts
from everyagent.cli.ask_text import curl_to_answer, how_to_answer, summary
from everyagent.cli.daemon_connection import DaemonConnection
from everyagent.cli.exit_codes import ExitCode
from everyagent.cli.output import print_line
from everyagent.cli.terminal import TerminalLines, is_interactive, on_interrupts
from everyagent.cli.turn_renderer import TurnRenderer, last_line
from everyagent.client import AnyEvent, ApiError
from everyagent.client.event_codec import encode_event
from everyagent.client.turn import Ask, ask_in
from everyagent.model.asks import AskKind
from everyagent.model.events import (
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    ToolRequested,
    ToolResolved,
    TurnEnded,
)
from everyagent.model.sessions import Attachment


class TerminalTurn:
    def __init__(self, connection: DaemonConnection, session_id: str, *, json: bool) -> None:
        self.waiting_elsewhere = False
        self._client = connection.client
        self._embedded = connection.embedded
        self._session_id = session_id
        self._json = json
        self._interactive = is_interactive()
        self._renderer = TurnRenderer()
        self._code = ExitCode.FAILED
        self._prompts: dict[str, anyio.CancelScope] = {}
        self._settled: set[str] = set()

    async def run(self, text: str, attachments: Sequence[Attachment] = ()) -> ExitCode:
        asks, to_answer = anyio.create_memory_object_stream[tuple[str, Ask]](1000)
        async with asks, to_answer, anyio.create_task_group() as group:

            def leave() -> None:
                self._code = ExitCode.INTERRUPTED
                group.cancel_scope.cancel()

            group.start_soon(on_interrupts, self._stop_turn, leave)
            if self._interactive:
                group.start_soon(self._answer_all, to_answer)
            began = time.monotonic()
            stream = self._client.stream_turn(self._session_id, text, attachments=attachments)
            async with aclosing(stream):
                async for event in stream:
                    self._show(event)
                    if asked := ask_in(event):
                        if self._interactive:
                            await asks.send(asked)
                        elif not _expires(asked[1]) and await self._pending(asked[0]):
                            self._explain_how_to_answer(*asked)
                            break
                    if isinstance(event.data, TurnEnded):
                        self._finish(event.data, time.monotonic() - began)
            group.cancel_scope.cancel()
        return self._code

    def _show(self, event: AnyEvent) -> None:
        if self._json:
            print_line(encode_event(event))
        else:
            self._renderer.show(event)
        match event.data:
            case PermissionResolved(permission_id=ask_id) | QuestionResolved(question_id=ask_id):
                self._withdraw(ask_id)
            case ToolResolved(tool_id=ask_id):
                self._withdraw(ask_id)
            case _:
                pass

    def _finish(self, ended: TurnEnded, seconds: float) -> None:
        match ended.stop_reason:
            case "end_turn":
                self._code = ExitCode.OK
            case "interrupted":
                self._code = ExitCode.INTERRUPTED
            case _:
                self._code = ExitCode.FAILED
        self._renderer.say(last_line(ended, seconds, self._session_id), "dim")

    async def _answer_all(self, asks: MemoryObjectReceiveStream[tuple[str, Ask]]) -> None:
        """Prompt for one ask after the other. A prompt is withdrawn when its ask is resolved elsewhere."""
        lines = TerminalLines(sys.stdin.fileno())
        async for ask_id, ask in asks:
            if ask_id in self._settled:
                continue
            with anyio.CancelScope() as scope:
                self._prompts[ask_id] = scope
                self._renderer.say("")
                answer = await ask_prompts.answer(ask, lines)
                try:
                    await self._client.answer(self._session_id, ask_id, answer)
                except ApiError as error:
                    self._renderer.say(f"! {error}", "red")

    async def _pending(self, ask_id: str) -> bool:
        """False if an earlier `always` or the permission mode has answered the ask already."""
        return any(ask.ask_id == ask_id for ask in await self._client.asks(self._session_id))

    def _withdraw(self, ask_id: str) -> None:
        self._settled.add(ask_id)
        if scope := self._prompts.pop(ask_id, None):
            scope.cancel()

    async def _stop_turn(self) -> None:
        self._renderer.say("Stopping the turn. Press Ctrl-C again to leave.", "yellow")
        await self._client.cancel(self._session_id)

    def _explain_how_to_answer(self, ask_id: str, ask: Ask) -> None:
        """Print how the ask can be answered from elsewhere, and end with exit code 3."""
        self._code = ExitCode.WAITING
        kind: AskKind = "permission"
        if isinstance(ask, QuestionRequested):
            kind = "question"
        elif isinstance(ask, ToolRequested):
            kind = "tool"
        lines = [
            f"The agent asks: {summary(msgspec.to_builtins(ask))}",
            "There is no terminal here to prompt for an answer.",
        ]
        if self._embedded:
            lines += [
                "Start `everyagent serve` first, so that the session outlives this command and can be answered,",
                "or run the agent without permission prompts: --permission-mode bypass",
            ]
        else:
            self.waiting_elsewhere = True
            lines += [
                f"Session {self._session_id} waits for the answer. Give it with:",
                f"  {how_to_answer(self._session_id, ask_id, kind)}",
                f"  {curl_to_answer(self._client.url, self._session_id, ask_id, kind)}",
            ]
        self._renderer.say("\n".join(lines))


def _expires(ask: Ask) -> bool:
    """Whether the daemon will answer it by itself."""
    return not isinstance(ask, ToolRequested) and ask.expires_at is not None
