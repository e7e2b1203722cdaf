"""The daemon's end of a conversation whose agent runs on a runner."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from msgspec import Raw
from msgspec.structs import replace

from everyagent.agents.adapter import Change, Death, DecodedFrame, Prompt
from everyagent.agents.supervision import death_by, report
from everyagent.errors import AgentFailed, AgentNotInstalled, AgentNotLoggedIn, BadRequest, EveryagentError, Unavailable
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.isolation import Isolation
from everyagent.model.runners import Acknowledged, Mark
from everyagent.model.sessions import Attachment
from everyagent.remote import wire
from everyagent.remote.drafts import decoded
from everyagent.remote.item_ids import DerivedIds
from everyagent.remote.keys import RunnerId

#: A command whose result does not come in this time is left to arrive later: the link may be cut.
_RESULT_SECONDS = 10.0
#: The time after which messages that could not be read from the log are read again.
_RETRY_SECONDS = 1.0
_ERRORS = {each.code: each for each in (AgentNotInstalled, AgentNotLoggedIn)}
logger = get_logger(__name__)


class RunnerListener(Protocol):
    """A `Listener` that stores the mark of a runner with the frames."""

    async def received_once(self, batch: Sequence[DecodedFrame], mark: Mark) -> bool:
        """Returns when the frames are committed; False if they are not: the session is lost, or has dropped this."""
        ...

    async def died(self, death: Death) -> None: ...

    @property
    def dropped(self) -> bool:
        """Whether the session takes nothing more of this conversation."""
        ...

    @property
    def mark(self) -> Mark | None:
        """The mark of the session's latest conversation."""
        ...

    @property
    def isolation(self) -> Isolation | None:
        """The level that the session asks for; None for the runner's own."""
        ...

    async def missed(self, held: wire.Held) -> Sequence[wire.Action]:
        """Messages and answers of the open turn that an earlier daemon committed and the runner does not have.

        Raises `AgentFailed` if a message cannot be sent again.
        """
        ...


class RemoteConversation:
    """`send` passes a command to the runner, now or when it connects again; `gone` is called once at the end.

    Commands that the runner has not confirmed are kept, and sent again after a broken connection.
    `resumed`: an earlier daemon opened the conversation, and only the runner knows how many commands it had. Commands
    wait for their numbers until what the earlier daemon did not send was sent.
    """

    def __init__(
        self,
        runner: RunnerId,
        session_id: str,
        mark: Mark,
        listener: RunnerListener,
        *,
        send: Callable[[RunnerId, wire.Command], bool],
        gone: Callable[["RemoteConversation"], None],
        resumed: bool = False,
    ) -> None:
        self.runner = runner
        self.session_id = session_id
        self.epoch = mark.epoch
        self.sequence = mark.sequence
        self._listener = listener
        self._send = send
        self._gone = gone
        self._ids = DerivedIds(session_id, mark.epoch)
        self._taking = asyncio.Lock()
        self._number = 0
        self._unconfirmed: dict[int, wire.Command] = {}
        self._results: dict[int, asyncio.Future[wire.Result]] = {}
        self._resumed = resumed
        self._behind = resumed
        self._waiting: list[wire.Action] = []
        self._held: wire.Held | None = None
        self._closing = False
        self._dead = asyncio.Event()

    # -- the session's conversation -------------------------------------------------------------------------

    async def open(self, launch: wire.RemoteLaunch) -> None:
        """Raises `AgentFailed` or `AgentNotInstalled`. The caller has a time limit."""
        await self._done(wire.Open(launch), limit=None)

    async def prompt(self, prompt: Prompt) -> None:
        await self._done(wire.GivePrompt(await _with_files(prompt)))

    async def steer(self, prompt: Prompt) -> None:
        await self._done(wire.Steer(await _with_files(prompt)))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        await self._done(wire.GiveAnswer(ask_key, answer))

    async def interrupt(self) -> None:
        await self._done(wire.Interrupt())

    async def interrupt_subagent(self, call: str) -> bool:
        return bool(await self._done(wire.InterruptSubagent(call)))

    async def change(self, change: Change) -> bool:
        return await self._done(wire.ApplyChange(change)) is not False

    async def close(self, *, force: bool = False) -> None:
        """An agent whose runner is not connected is ended when the runner connects again."""
        if self._dead.is_set():
            return
        self._closing = True
        if self._resumed or self._command(wire.Close(force)) is None:
            await self.die(Death(expected=True))
        await self._dead.wait()

    async def die(self, death: Death) -> None:
        """Without the agent's own report: the conversation is fenced from now on."""
        if not self._dead.is_set():
            self._end()
            await self._listener.died(death)

    def _end(self) -> None:
        self._dead.set()
        for waiting in self._results.values():
            waiting.cancel()
        self._gone(self)

    async def _done(self, action: wire.Action, limit: float | None = _RESULT_SECONDS) -> bool | None:
        """The result of a command; None if it is late. Raises what the agent's conversation raised."""
        if self._dead.is_set():
            return None
        if self._behind:
            self._waiting.append(action)
            return None
        number = self._number + 1
        result = self._results[number] = asyncio.get_running_loop().create_future()
        sent = self._command(action)
        try:
            if sent is None and limit is not None:
                return None
            with anyio.move_on_after(limit):
                await asyncio.wait((result,))
            if result.done() and not result.cancelled():
                return _value(result.result())
            return None
        finally:
            del self._results[number]

    def _command(self, action: wire.Action) -> wire.Command | None:
        """None if the runner is not connected."""
        self._number += 1
        command = wire.Command(session_id=self.session_id, epoch=self.epoch, number=self._number, action=action)
        self._unconfirmed[self._number] = command
        return command if self._send(self.runner, command) else None

    # -- the runner -----------------------------------------------------------------------------------------

    def connected(self, held: wire.Held | None) -> list[wire.Command] | None:
        """The commands that the runner does not have yet. `held` is what it says of this conversation.

        None if the runner has lost it: it had the first command, and does not know the conversation.
        """
        if held is None:
            return list(self._unconfirmed.values()) if 1 in self._unconfirmed else None
        self._confirm(held.command)
        self._number = max(self._number, held.command)
        if self._resumed:
            self._held, self._resumed = held, False
        return list(self._unconfirmed.values())

    async def catch_up(self) -> None:
        """Sends what an earlier daemon had committed and not sent, once all that the runner had sent is stored.

        Then what this daemon has to send.

        If a message cannot be sent again, the conversation ends, and the turn with it.
        """
        while not self._dead.is_set():
            try:
                return await self._catch_up()
            except Unavailable as error:
                logger.info("messages are read again for a runner", session=self.session_id, error=str(error))
                await anyio.sleep(_RETRY_SECONDS)
            except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
                await self.fail(fault)

    async def _catch_up(self) -> None:
        held = self._held
        if held is None or self.sequence < held.last or self._closing or self._dead.is_set():
            return
        self._held = None
        try:
            missed = await self._listener.missed(held)
        except AgentFailed as error:
            await self.die(Death(expected=False, message=str(error), code="internal"))
            return
        except BaseException:
            self._held = held
            raise
        if self._dead.is_set() or self._closing:
            return
        self._behind = False
        for action in (*missed, *self._waiting):
            self._command(action)
        self._waiting.clear()

    async def fail(self, fault: Exception) -> None:
        """An error of the daemon itself ends this agent only."""
        logger.error("a runner's conversation failed", session=self.session_id, runner=self.runner.name, exc_info=fault)
        death = death_by(fault, f"The agent on the runner {self.runner.name!r}", Death(expected=False))
        await report(lambda _: self.die(death), fault)

    def _confirm(self, number: int) -> None:
        for known in [each for each in self._unconfirmed if each <= number]:
            del self._unconfirmed[known]

    async def take(self, callback: wire.Callback) -> Acknowledged:
        """Entries that are stored already are left out; after a gap nothing is taken, and the runner sends it again.

        What an agent sends after its session has let it go is acknowledged and not stored, as with an agent here.
        """
        async with self._taking:
            try:
                return await self._take(callback)
            except EveryagentError:
                raise
            except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
                await self.fail(fault)
                return Acknowledged(sequence=self.sequence, fenced=True)

    async def _take(self, callback: wire.Callback) -> Acknowledged:
        self._confirm(callback.command)
        new = callback.entries[max(0, self.sequence + 1 - callback.first) :]
        if callback.first > self.sequence + 1 or not new:
            await self._catch_up()
            return Acknowledged(sequence=self.sequence, fenced=self._dead.is_set())
        last = callback.first + len(callback.entries) - 1
        frames, results, death = self._decoded(new)
        mark = Mark(epoch=self.epoch, sequence=last)
        if self._dead.is_set():
            return Acknowledged(sequence=self.sequence, fenced=True)
        stored = await self._listener.received_once(frames, mark)
        if not stored and not (self._closing and self._listener.dropped):
            raise Unavailable("The session is being loaded again, or the daemon stops. Nothing was stored; try again.")
        self.sequence = last
        for result in results:
            waiting = self._results.get(result.command)
            if waiting is not None and not waiting.done():
                waiting.set_result(result)
        if death is not None:
            await self.die(death)
        await self._catch_up()
        return Acknowledged(sequence=last)

    def _decoded(self, entries: Sequence[Raw]) -> tuple[list[DecodedFrame], list[wire.Result], Death | None]:
        frames, results, death = list[DecodedFrame](), list[wire.Result](), None
        try:
            for raw in entries:
                entry: wire.Entry = wire.entry_decoder.decode(raw)
                match entry:
                    case wire.Frames():
                        frames += self._ids.applied_to(decoded(entry.frames))
                    case wire.Result():
                        results.append(entry)
                    case wire.Died():
                        death = entry.death
        except wire.UNREADABLE as error:
            raise BadRequest(f"The callback is not what an agent sends: {error}") from error
        return frames, results, death


def _value(result: wire.Result) -> bool | None:
    if result.error is not None:
        raise _ERRORS.get(result.code or "", AgentFailed)(result.error)
    return result.value


async def _with_files(prompt: Prompt) -> Prompt:
    """The runner does not have the daemon's files, so attachments travel with the prompt."""
    if not any(each.path for each in prompt.attachments):
        return prompt
    return replace(prompt, attachments=[await _with_data(each) for each in prompt.attachments])


async def _with_data(attachment: Attachment) -> Attachment:
    if attachment.path is None:
        return attachment
    path = Path(attachment.path)
    try:
        data = await anyio.to_thread.run_sync(path.read_bytes)
    except OSError as error:
        raise AgentFailed(f"The attachment {path} could not be read for the runner: {error.strerror}.") from error
    name = attachment.filename or path.name
    return replace(attachment, path=None, data=base64.b64encode(data).decode(), filename=name)
