"""The runners of a daemon: who is connected, which conversations they hold, and the check of what they send."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVarTuple

import msgspec

from everyagent.agents.adapter import Death
from everyagent.clock import Clock
from everyagent.errors import BadRequest, RunnerKeyInvalid, SignatureInvalid, Unavailable
from everyagent.logs import get_logger
from everyagent.model.principals import DAEMON, current, set_current
from everyagent.model.runners import Acknowledged, Mark, RunnerChoice, RunnerInfo
from everyagent.remote import wire
from everyagent.remote.connection import RunnerConnection
from everyagent.remote.conversation import RemoteConversation, RunnerListener
from everyagent.remote.keys import RunnerId, RunnerKey, RunnerKeys
from everyagent.signatures import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, verify

#: A runner may be disconnected for so many seconds before its conversations are given up.
LEASE_SECONDS: Final = 300.0
_EPOCH: Final = re.compile(r"[1-9][0-9]{0,18}")
_hello = msgspec.json.Decoder(wire.Hello)
_ping = msgspec.json.Decoder(wire.Ping)
_callback = msgspec.msgpack.Decoder(wire.Callback)
logger = get_logger(__name__)
Args = TypeVarTuple("Args")


class Runners:
    """`lease` is the time in seconds for which a runner may be disconnected. Nothing here is made before its first use.

    `over` finds whether a runner no longer has this session: it has ended, was deleted, or is another one's.

    In a cluster, a runner serves the sessions of the node that it is connected to.
    """

    def __init__(
        self,
        keys: RunnerKeys,
        clock: Clock,
        lease: float = LEASE_SECONDS,
        over: Callable[[RunnerId, str], Awaitable[bool]] | None = None,
    ) -> None:
        self.keys = keys
        self._clock = clock
        self._lease = lease
        self._over = over
        self._connections: dict[RunnerId, RunnerConnection] = {}
        self._conversations: dict[str, RemoteConversation] = {}
        self._timers: dict[RunnerId, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        keys.revoked = self._revoked

    # -- sessions -------------------------------------------------------------------------------------------

    def chosen(self, wanted: RunnerChoice, agent: str) -> str:
        """The name of a connected runner for a new session in the principal's workspace: by name, or by labels.

        It must have the agent.
        """
        workspace = current().creates_in
        here = [one for runner, one in self._connections.items() if runner.workspace == workspace and one.open]
        if isinstance(wanted, str):
            named = [one for one in here if one.key.runner.name == wanted]
            if any(agent in one.hello.agents for one in named):
                return wanted
            if named:
                raise Unavailable(f"The runner {wanted!r} does not have {agent!r}. {_install(agent)}", runner=wanted)
            names = ", ".join(one.key.runner.name for one in here) or "none"
            raise Unavailable(
                f"The runner {wanted!r} is not connected. Connected: {names}. Start it with `everyagent runner "
                "--connect URL --key KEY`, with a key of `everyagent runner keys create`.",
                runner=wanted,
            )
        fit = [one for one in here if wanted.items() <= one.hello.labels.items()]
        if not fit:
            shown = ", ".join(f"{name}={value}" for name, value in wanted.items())
            raise Unavailable(f"No connected runner has the labels {shown}. `everyagent runners` shows all.")
        fit = [one for one in fit if agent in one.hello.agents]
        if not fit:
            raise Unavailable(f"No connected runner with these labels has {agent!r}. {_install(agent)}")
        return min(fit, key=lambda one: self._held_by(one.key.runner)).key.runner.name

    async def open(
        self,
        runner: RunnerId,
        session_id: str,
        listener: RunnerListener,
        launch: wire.RemoteLaunch,
    ) -> RemoteConversation:
        """Start an agent on a runner. Its epoch is higher than that of any conversation of this session before."""
        connection = self._connections.get(runner)
        if connection is None or not connection.open:
            raise Unavailable(
                f"The runner {runner.name!r} is not connected, so the agent was not started. Start it with "
                "`everyagent runner --connect URL --key KEY` on its machine, then send the message again."
            )
        before = listener.mark
        epoch = max(self._clock.micros(), before.epoch + 1 if before else 0)
        conversation = self._add(runner, session_id, Mark(epoch=epoch), listener)
        try:
            await conversation.open(launch)
        except BaseException:
            self._forget(conversation)
            raise
        return conversation

    def attach(self, runner: RunnerId, session_id: str, mark: Mark, listener: RunnerListener) -> RemoteConversation:
        """Go on with a conversation of an earlier daemon. If its runner does not connect within the lease, it ends."""
        conversation = self._add(runner, session_id, mark, listener, resumed=True)
        connection = self._connections.get(runner)
        if connection is not None and connection.open:
            connection.end()  # it connects again, and says what it has of this conversation
        self._start_lease(runner)
        return conversation

    def _add(
        self, runner: RunnerId, session_id: str, mark: Mark, listener: RunnerListener, *, resumed: bool = False
    ) -> RemoteConversation:
        conversation = RemoteConversation(
            runner, session_id, mark, listener, send=self._send, gone=self._forget, resumed=resumed
        )
        self._conversations[session_id] = conversation
        return conversation

    def infos(self) -> list[RunnerInfo]:
        """The runners that the principal sees."""
        principal = current()
        return [
            RunnerInfo(
                name=runner.name,
                connected=one.open,
                version=one.hello.version,
                labels=one.hello.labels,
                agents=one.hello.agents,
                sessions=self._held_by(runner),
                seen_at=one.seen_at // 1000,
            )
            for runner, one in sorted(self._connections.items())
            if principal.sees(runner.workspace)
        ]

    def forget(self, runner: RunnerId, session_id: str) -> None:
        """The session has ended. A runner that is not connected gets the message when it connects."""
        connection = self._connections.get(runner)
        if connection is not None and connection.open:
            connection.send(wire.Forget(sessions=[session_id]))

    def close(self) -> None:
        """The daemon stops. Agents of runners go on, and the next daemon takes them up."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        for connection in self._connections.values():
            connection.end()

    def _held_by(self, runner: RunnerId) -> int:
        return sum(each.runner == runner for each in self._conversations.values())

    def _forget(self, conversation: RemoteConversation) -> None:
        if self._conversations.get(conversation.session_id) is conversation:
            del self._conversations[conversation.session_id]

    def _send(self, runner: RunnerId, command: wire.Command) -> bool:
        connection = self._connections.get(runner)
        if connection is None or not connection.open:
            return False
        connection.send(command)
        return True

    # -- requests of runners --------------------------------------------------------------------------------

    async def connect(self, headers: Mapping[str, str], body: bytes) -> RunnerConnection:
        """Raises `RunnerKeyInvalid`, `SignatureInvalid` or `BadRequest`.

        The caller streams the connection, and then calls `lost`.
        """
        key = await self._key(headers)
        self._verify(key.secret, headers, body)
        try:
            hello = _hello.decode(body)
        except wire.UNREADABLE as error:
            raise BadRequest(f"The runner's greeting cannot be read: {error}. Its version may be another.") from error
        if not await self.keys.take_connect(key, headers[ID_HEADER]):
            raise SignatureInvalid("This request was received before.")
        if self._closed:
            raise Unavailable("The daemon is shutting down. Try again when it is back.")
        runner = key.runner
        connection = RunnerConnection(key, hello, headers[ID_HEADER], self._clock.micros(), self._silent)
        if before := self._connections.get(runner):
            if before.open and before.hello.instance != hello.instance:
                before.send(wire.Replaced())
            before.end()
        self._connections[runner] = connection
        if timer := self._timers.pop(runner, None):
            timer.cancel()
        self._take_up(connection)
        self._spawn(self._forget_ended, connection)
        logger.info("a runner connected", runner=runner.name, sessions=len(hello.held))
        return connection

    def _take_up(self, connection: RunnerConnection) -> None:
        """Sends the runner how far each of its conversations is stored, and ends those that it has lost."""
        runner = connection.key.runner
        held = {(each.session_id, each.epoch): each for each in connection.hello.held}
        mine = {(each.session_id, each.epoch): each for each in self._conversations.values() if each.runner == runner}
        positions = [
            wire.Position(session_id=place[0], epoch=place[1], sequence=mine[place].sequence if place in mine else None)
            for place in held
        ]
        connection.send(wire.Welcome(positions=positions))
        for place, conversation in mine.items():
            try:
                commands = conversation.connected(held.get(place))
            except Exception as fault:  # noqa: BLE001 - the runner's other conversations go on
                self._spawn(conversation.fail, fault)
                continue
            if commands is None:
                why = f"The runner {runner.name!r} was restarted and no longer has the agent."
                self._spawn(conversation.die, Death(expected=False, message=why))
                continue
            for command in commands:
                connection.send(command)
            self._spawn(conversation.catch_up)

    async def _forget_ended(self, connection: RunnerConnection) -> None:
        runner = connection.key.runner
        ended = [each for each in connection.hello.scratch if self._over and await self._over(runner, each)]
        if ended:
            connection.send(wire.Forget(sessions=ended))

    def lost(self, connection: RunnerConnection) -> None:
        """The connection has ended: its conversations are given up after the lease, unless the runner returns."""
        connection.end()
        connection.seen_at = self._clock.micros()
        runner = connection.key.runner
        if self._connections.get(runner) is connection and self._held_by(runner):
            self._start_lease(runner)

    def _silent(self, connection: RunnerConnection) -> None:
        logger.warning("a runner is silent, so its connection is ended", runner=connection.key.runner.name)
        self.lost(connection)

    async def ping(self, headers: Mapping[str, str], body: bytes) -> None:
        """A runner says that it does not hang. Raises `RunnerKeyInvalid`, `SignatureInvalid` or `BadRequest`."""
        key = await self._key(headers)
        self._verify(key.secret, headers, body)
        try:
            ping = _ping.decode(body)
        except wire.UNREADABLE as error:
            raise BadRequest(f"The ping cannot be read: {error}.") from error
        connection = self._connections.get(key.runner)
        if connection is None or connection.id != ping.connection or ping.number <= connection.pings:
            raise SignatureInvalid("The ping is of a connection that has ended, or was received before.")
        connection.pings = ping.number
        connection.alive()

    def _start_lease(self, runner: RunnerId) -> None:
        if runner not in self._timers and not self._closed:
            loop = asyncio.get_running_loop()
            self._timers[runner] = loop.call_later(self._lease, self._give_up, runner)

    def _give_up(self, runner: RunnerId) -> None:
        del self._timers[runner]
        connection = self._connections.get(runner)
        if connection is not None and connection.open:
            return
        why = f"The runner {runner.name!r} was not connected for {self._lease:.0f} seconds, so its agent was given up."
        for conversation in [each for each in self._conversations.values() if each.runner == runner]:
            self._spawn(conversation.die, Death(expected=False, message=why, code="network"))

    def _spawn(self, function: Callable[[*Args], Awaitable[None]], *args: *Args) -> None:
        async def run() -> None:
            set_current(DAEMON)
            try:
                await function(*args)
            except Exception:
                logger.exception("a runner's task failed")

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _revoked(self, key: RunnerKey) -> None:
        connection = self._connections.get(key.runner)
        if connection is not None and connection.key.key_id == key.key_id:
            connection.end()

    @property
    def max_callback(self) -> int:
        return wire.MAX_CALLBACK_BYTES

    async def require_key(self, headers: Mapping[str, str]) -> None:
        """Raises `RunnerKeyInvalid` unless the request names a valid key. Its signature is checked later."""
        await self._key(headers)

    async def callback(self, headers: Mapping[str, str], body: bytes) -> Acknowledged:
        """Raises `RunnerKeyInvalid`, `SignatureInvalid`, `BadRequest` or `Unavailable`, and then nothing was stored."""
        key = await self._key(headers)
        session_id, _, epoch = headers.get(wire.CONVERSATION_HEADER, "").partition(" ")
        if not _EPOCH.fullmatch(epoch):
            raise SignatureInvalid(f"The header {wire.CONVERSATION_HEADER} is not a session and an epoch.")
        self._verify(wire.session_secret(key.secret, session_id, int(epoch)), headers, body)
        try:
            callback = _callback.decode(body)
        except wire.UNREADABLE as error:
            raise BadRequest(f"The callback cannot be read: {error}.") from error
        if (callback.session_id, callback.epoch) != (session_id, int(epoch)):
            raise BadRequest("The callback is of another conversation than its headers say.")
        if self._closed:
            raise Unavailable("The daemon is shutting down. Try again when it is back.")
        conversation = self._conversations.get(session_id)
        if conversation is None or conversation.epoch != callback.epoch or conversation.runner != key.runner:
            return Acknowledged(sequence=0, fenced=True)
        stored = conversation.sequence
        answer = await conversation.take(callback)
        if answer.sequence > stored and (connection := self._connections.get(key.runner)):
            connection.alive()
        return answer

    async def _key(self, headers: Mapping[str, str]) -> RunnerKey:
        key = await self.keys.find(headers.get(wire.KEY_HEADER, ""))
        if key is None:
            raise RunnerKeyInvalid(
                "The runner's key is unknown or revoked. Make another: `everyagent runner keys create NAME`."
            )
        return key

    def _verify(self, secret: bytes, headers: Mapping[str, str], body: bytes) -> None:
        verify(
            (secret,),
            headers.get(ID_HEADER, ""),
            headers.get(TIMESTAMP_HEADER, ""),
            headers.get(SIGNATURE_HEADER, ""),
            body,
            now=self._clock.micros() / 1e6,
        )


def _install(agent: str) -> str:
    return f"Run `everyagent agents install {agent}` on its machine, then start the runner again."
