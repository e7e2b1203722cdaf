"""One conversation on a runner: carries out the daemon's commands, spools what the agent sends, and sends it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import assert_never

import anyio
import httpx2
import msgspec
from msgspec import Raw

from everyagent.agents.adapter import Adapter, Conversation, Death, DecodedFrame, Launch
from everyagent.agents.supervision import death_by
from everyagent.errors import AgentFailed, BadRequest, EveryagentError
from everyagent.logs import get_logger
from everyagent.remote import wire
from everyagent.remote.drafts import encoded
from everyagent.runner.scoped_keys import ScopedKeys
from everyagent.runner.spool import Spool, SpooledConversation, SpoolFailed
from everyagent.runner.uplink import Refused, Uplink
from everyagent.sessions.agent_link import AgentLink, ConversationListener
from everyagent.sessions.limits import Limits

_encode = msgspec.msgpack.Encoder().encode
#: The status of a callback that is too large for the daemon, or for a proxy before it.
_TOO_LARGE = 413
_FIRST_DELAY, _LONGEST_DELAY = 0.05, 5.0
_LIMITS = Limits()
#: An interrupt waits so long for messages that came before it to be given to the agent.
_GIVEN_SECONDS = 5.0
#: So many messages are remembered, for a daemon that was restarted.
_REMEMBERED = 256
logger = get_logger(__name__)


class Room:
    """The space that is left in the spool, for all conversations. An agent is not read while there is none."""

    def __init__(self, spool: Spool, most: int) -> None:
        self._spool = spool
        self._most_bytes = most
        self._freed = asyncio.Event()

    def freed(self) -> None:
        self._freed.set()

    async def wait(self) -> None:
        while self._spool.bytes > self._most_bytes:
            self._freed.clear()
            await self._freed.wait()


class HostedConversation:
    """`spawn` starts a task; `gone` is called when nothing is left to send or to do.

    One that is not `new` was in the spool, and sends nothing until the daemon says how much of it is stored.

    An exception in it ends its agent, with the code `internal`, and no other conversation.
    """

    def __init__(
        self,
        spooled: SpooledConversation,
        *,
        spool: Spool,
        room: Room,
        uplink: Uplink,
        spawn: Callable[..., None],
        launched: Callable[[str, int, wire.RemoteLaunch], Awaitable[tuple[Adapter, Launch]]],
        gone: Callable[["HostedConversation"], None],
        new: bool = False,
    ) -> None:
        self.session_id = spooled.session_id
        self.epoch = spooled.epoch
        self._last = spooled.last
        self._command = spooled.command
        self._ended = spooled.ended
        self._spool = spool
        self._room = room
        self._uplink = uplink
        self._spawn = spawn
        self._launched = launched
        self._gone = gone
        self._keys = ScopedKeys(self.session_id, self.epoch)
        self._link: AgentLink | None = None
        self._conversation: Conversation | None = None
        self._prompts: deque[str] = deque(maxlen=_REMEMBERED)
        self._acknowledged = 0 if new else None
        self._fenced = False
        self._refused_at: int | None = None
        self._unspooled: bytes | None = None
        self._batch_bytes = wire.CALLBACK_BYTES
        self._news = asyncio.Event()
        self._serial: asyncio.Queue[wire.Command | None] = asyncio.Queue()
        spawn(self._keep_sending)
        spawn(self._carry_out_all)

    # -- the connection -------------------------------------------------------------------------------------

    def held(self) -> wire.Held:
        return wire.Held(
            session_id=self.session_id,
            epoch=self.epoch,
            last=self._last,
            command=self._command,
            busy=self._keys.busy,
            asks=self._keys.open_asks(),
            prompts=[*self._prompts],
        )

    def stored(self, sequence: int | None) -> None:
        """The daemon has all entries up to this one; None: the conversation is not valid any more."""
        if sequence is None:
            self._fence()
            return
        if self._acknowledged is None or sequence > self._acknowledged:
            self._acknowledged = sequence
            self._spool.acknowledge(self.session_id, self.epoch, sequence)
            self._room.freed()
        self._news.set()

    def take(self, command: wire.Command) -> None:
        """Each command is taken once."""
        if command.number != self._command + 1 or self._fenced:
            return
        self._command = command.number
        if command.number == 1:
            self._spool.begin(self.session_id, self.epoch)
        self._spool.received(self.session_id, self.epoch, command.number)
        if isinstance(command.action, wire.GivePrompt | wire.Steer):
            self._prompts.append(command.action.prompt.item_id)
        match command.action:
            case wire.Open() | wire.GivePrompt() | wire.Steer() | wire.ApplyChange():
                self._serial.put_nowait(command)
            case wire.Interrupt():
                self._spawn(self._interrupt, command)
            case _:
                self._spawn(self._carry_out, command)

    def lost(self, why: str) -> None:
        """The runner was restarted: the agent is gone."""
        if not self._ended:
            self._add(wire.Died(Death(expected=False, message=why)), ended=True)

    # -- the agent's listener -------------------------------------------------------------------------------

    async def received(self, listener: ConversationListener, frames: Sequence[DecodedFrame]) -> None:
        await self._room.wait()
        if self._link and self._link.listens_to(listener) and not self._fenced:
            self._add(wire.Frames(encoded(self._keys.applied_to(frames))))

    async def died(self, listener: ConversationListener, death: Death) -> None:
        if self._link and self._link.listens_to(listener):
            self._link.drop()
            self._add(wire.Died(death), ended=True)

    def _add(self, entry: wire.Entry, *, ended: bool = False) -> None:
        """If the agent's end cannot be spooled, it is kept in memory. Raises for any other entry."""
        if self._ended or self._fenced:
            return
        body = _encode(entry)
        try:
            self._spool.add(self.session_id, self.epoch, self._last + 1, body, ended=ended)
        except Exception as error:
            if not ended:
                raise
            logger.error("an agent's end could not be spooled", session=self.session_id, error=repr(error))
            self._unspooled = body
        self._last += 1
        self._ended = ended
        self._news.set()

    def fail(self, fault: Exception) -> None:
        """Ends the agent because of an exception."""
        logger.error("a conversation failed, so its agent is ended", session=self.session_id, exc_info=fault)
        self._spawn(self._failed, fault)

    async def _failed(self, fault: Exception) -> None:
        await self._end_agent()
        self._add(wire.Died(_death_by(fault)), ended=True)

    async def _end_agent(self) -> None:
        """Nothing that it sends is taken any more. Never raises."""
        if not self._link:
            return
        self._link.drop()
        try:
            await self._link.close(self._conversation)
        except Exception:
            logger.exception("an agent did not close", session=self.session_id)

    # -- commands -------------------------------------------------------------------------------------------

    async def _carry_out_all(self) -> None:
        while command := await self._serial.get():
            await self._carry_out(command)
            self._serial.task_done()

    async def _interrupt(self, command: wire.Command) -> None:
        """Commands may come in a burst: an interrupt must not overtake the message that it is to stop."""
        with anyio.move_on_after(_GIVEN_SECONDS):
            await self._serial.join()
        await self._carry_out(command)

    async def _carry_out(self, command: wire.Command) -> None:
        try:
            await self._spool_result(command)
        except Exception as fault:  # noqa: BLE001 - whatever it is, only this agent is lost
            self.fail(fault)

    async def _spool_result(self, command: wire.Command) -> None:
        """The result is spooled after everything that the agent sent before it."""
        try:
            value = await self._do(command.action)
        except (EveryagentError, TimeoutError) as error:
            code = error.code if isinstance(error, EveryagentError) else None
            result = wire.Result(command.number, None, code, str(error) or "The agent did not answer in time.")
        else:
            result = wire.Result(command.number, value)
        self._add(result, ended=result.error is not None and isinstance(command.action, wire.Open))

    async def _do(self, action: wire.Action) -> bool | None:
        match action:
            case wire.Open():
                await self._open(action.launch)
            case wire.GivePrompt():
                self._keys.begin_turn()
                await self._live.prompt(action.prompt)
            case wire.Steer():
                await self._live.steer(action.prompt)
            case wire.GiveAnswer():
                key = self._keys.native_ask(action.ask)
                if key is not None:
                    await self._live.answer(key, action.answer)
            case wire.Interrupt():
                await self._live.interrupt()
            case wire.InterruptSubagent():
                call = self._keys.native_item(action.call)
                return call is not None and await self._live.interrupt_subagent(call)
            case wire.ApplyChange():
                return await self._live.change(action.change)
            case wire.Close():
                await self.close(force=action.force)
            case _:
                assert_never(action)
        return None

    async def _open(self, launch: wire.RemoteLaunch) -> None:
        adapter, local = await self._launched(self.session_id, self.epoch, launch)
        self._link = AgentLink(adapter, self, _LIMITS)
        self._conversation = await self._link.open(local)
        if self._ended or self._fenced:
            await self._end_agent()

    @property
    def _live(self) -> Conversation:
        if self._conversation is None:
            raise AgentFailed("The agent does not run.")
        return self._conversation

    async def close(self, *, force: bool) -> None:
        if self._link and self._conversation:
            await self._link.close(self._conversation, force=force)
        self._add(wire.Died(Death(expected=True)), ended=True)

    def _fence(self) -> None:
        if not self._fenced:
            self._fenced = True
            logger.info("a conversation was replaced, and its agent is ended", session=self.session_id)
            self._spawn(self._end_fenced)
        self._news.set()

    async def _end_fenced(self) -> None:
        await self._end_agent()
        self._over()

    def _over(self) -> None:
        try:
            self._spool.forget(self.session_id, self.epoch, self._last)
        except Exception:
            logger.exception("a conversation is over, but could not be deleted", session=self.session_id)
        self._room.freed()
        self._serial.put_nowait(None)
        self._gone(self)

    # -- sending --------------------------------------------------------------------------------------------

    async def _keep_sending(self) -> None:
        """After a fault, the agent's end is sent after its entries; after a second one, in their place."""
        faults = 0
        while True:
            try:
                return await self._send_all()
            except Exception as fault:
                logger.exception("entries could not be sent, so the agent is ended", session=self.session_id)
                faults += 1
                if faults == 1:
                    await self._failed(fault)
                elif faults == 2:
                    await self._replace_unsent(self._acknowledged or 0, _death_by(fault))
                else:
                    self._fence()

    async def _send_all(self) -> None:
        """Send from the last acknowledged entry on, for as long as it takes."""
        delay = _FIRST_DELAY
        while not self._fenced:
            if self._acknowledged is None or self._acknowledged >= self._last:
                if self._ended and self._acknowledged is not None:
                    self._over()
                    return
                self._news.clear()
                await self._news.wait()
                continue
            before = self._acknowledged
            callback = self._next(before)
            try:
                answer = await self._uplink.callback(callback)
            except Refused as error:
                if error.status == _TOO_LARGE and len(callback.entries) > 1:
                    self._batch_bytes = sum(len(bytes(entry)) for entry in callback.entries) // 2
                    continue
                if error.status == _TOO_LARGE or (error.own and error.status == BadRequest.status):
                    await self._refused(self._acknowledged, str(error))
                    continue
                logger.info("a callback was refused, and is sent again", session=self.session_id, error=str(error))
                await anyio.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY)
                continue
            except httpx2.RequestError:  # logged by the uplink
                await anyio.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY)
                continue
            self.stored(None if answer.fenced else answer.sequence)
            if answer.fenced or answer.sequence > before:
                delay = _FIRST_DELAY
            else:  # for example, the daemon went back to a backup
                await anyio.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY)

    async def _refused(self, stored: int, why: str) -> None:
        """The daemon will never take what the agent sent, so the agent is ended, and the session gets the reason."""
        logger.error("the daemon refused a callback, so its agent is ended", session=self.session_id, error=why)
        message = f"The daemon refused what the runner sent: {why}"
        await self._replace_unsent(stored, Death(expected=False, message=message, code="internal"))

    async def _replace_unsent(self, stored: int, death: Death) -> None:
        """Ends the agent. Its death takes the place of all entries after `stored`."""
        if self._refused_at == stored:
            self._fence()
            return
        self._refused_at, self._unspooled = stored, None
        await self._end_agent()
        try:
            self._spool.acknowledge(self.session_id, self.epoch, self._last)
        except Exception:
            logger.exception("unsent entries could not be deleted", session=self.session_id)
        self._room.freed()
        self._ended, self._last = False, stored
        self._add(wire.Died(death), ended=True)

    def _next(self, after: int) -> wire.Callback:
        if self._unspooled is not None and after + 1 == self._last:
            entries = [self._unspooled]
        else:
            entries = self._spool.pending(self.session_id, self.epoch, after, self._batch_bytes)
        return wire.Callback(
            session_id=self.session_id,
            epoch=self.epoch,
            first=after + 1,
            command=self._command,
            entries=[Raw(body) for body in entries],
        )


def _death_by(fault: Exception) -> Death:
    if isinstance(fault, SpoolFailed):
        return Death(expected=False, message=str(fault), code="internal")
    return death_by(fault, "The agent on the runner", Death(expected=False))
