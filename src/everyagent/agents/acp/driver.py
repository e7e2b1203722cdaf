"""Drives one ACP agent's process: the handshake, prompts, answers, changes."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import NoReturn, TypeVar

import anyio
import msgspec
from anyio import to_thread
from msgspec import UNSET, Raw

from everyagent.agents import attached_files
from everyagent.agents.acp import answers, attachments, encode, failures, policies, wire
from everyagent.agents.acp import launch as launching
from everyagent.agents.acp.answer_writer import AnswerWriter
from everyagent.agents.acp.asks import AcpPermissionAsk
from everyagent.agents.acp.client_methods import ClientMethods
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.acp.effects import AcpReply, ClientRequest, SettledAcpRequest, UnservedAcpRequest
from everyagent.agents.acp.offers import Offers, SetRequest
from everyagent.agents.acp.profile import Profile
from everyagent.agents.acp.terminals import Terminals
from everyagent.agents.adapter import Change, Launch, Listener, Prompt
from everyagent.agents.line_conversation import DEATH_LIMIT, LineConversation, LineProtocol, ProcessEnd
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed, AgentNotLoggedIn
from everyagent.logs import get_logger
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.events import ErrorCode
from everyagent.runtime.exit import Exit
from everyagent.runtime.process import Process

logger = get_logger(__name__)

#: How long an agent may take to answer `initialize`, to load a session, and to answer any other request but a prompt.
INITIALIZE_LIMIT = 45.0
LOAD_LIMIT = 60.0
REPLY_LIMIT = 30.0
#: How long it may take to close its session before it is ended.
CLOSE_LIMIT = 3.0
#: A loaded session's history is complete when no update came for so long; the most to wait for that.
QUIET = 0.3
QUIET_LIMIT = 5.0

#: Exit codes from here on report a signal, which another process sent.
SIGNALLED = 128

T = TypeVar("T")
_initialized = msgspec.json.Decoder(wire.AcpInitialized)
_opened = msgspec.json.Decoder(wire.SessionOpened)


class AcpRefused(AgentFailed):
    """The agent answered a request with an error."""

    def __init__(self, title: str, method: str, error: wire.AcpError) -> None:
        super().__init__(f"{title} refused `{method}`: {failures.words(error)}")
        self.error = error


class AcpEnded(AgentFailed):
    """The agent ended before it answered a request."""


class AcpConversation:
    """A running session of an ACP agent. `run` needs a task; `begin` follows it. `version` is the agent's own."""

    def __init__(
        self,
        profile: Profile,
        process: Process,
        launch: Launch,
        listener: Listener,
        tasks: TaskSupervisor,
        terminals: Terminals,
    ) -> None:
        self.process = process
        self._profile = profile
        self._launch = launch
        self._tasks = tasks
        self._terminals = terminals
        self._decoder = AcpDecoder(
            profile,
            mode=launch.permission_mode,
            policies=launch.policies,
            servers=launching.server_names(launch),
            terminal=terminals.shown,
        )
        self._decoder.titled = launch.title is not None
        self._session = ""
        self.version: str | None = None
        self._offers = Offers(wire.SessionOpened())
        self._capabilities = wire.AgentCapabilities()
        self._before = [text for text in (launch.system_prompt, launch.seed) if text]
        self._replies: dict[int, asyncio.Future[AcpReply]] = {}
        self._requests = 0
        self._end = ProcessEnd()
        protocol = LineProtocol(profile.title, self._decoder.decode, self._ended, self._carry_out_effects)
        self._lines = LineConversation(process, listener, protocol)
        self.fail = self._lines.fail
        self._client = ClientMethods(launch, self._decoder, terminals, self._lines.fail)
        self._answers = AnswerWriter(self._lines.send, self._unread, tasks, self._lines.fail)
        self._closing = False
        self.run = self._lines.run

    # -- the handshake ----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Open the native session. If that fails, the conversation's death says why."""
        try:
            await self._initialize()
            await self._open()
            await self._choose()
        except AcpEnded:
            await self._lines.end()
        except AgentFailed as failure:
            await self._give_up(failure)

    async def offers(self) -> tuple[Offers, wire.AgentCapabilities]:
        """The agent's choices, for its catalog. Raises `AgentFailed`."""
        await self._initialize()
        await self._open()
        return self._offers, self._capabilities

    async def _give_up(self, failure: AgentFailed) -> None:
        code: ErrorCode = "auth" if isinstance(failure, AgentNotLoggedIn) else "internal"
        self._end = ProcessEnd(code=code, message=failure.detail)
        await self._lines.end()

    async def _initialize(self) -> None:
        params = encode.initialize(client_methods=self._profile.client_methods)
        answer = _read(_initialized, await self._request("initialize", params, INITIALIZE_LIMIT), "initialize")
        if answer.protocol_version != encode.PROTOCOL_VERSION:
            raise AgentFailed(
                f"{self._profile.title} speaks version {answer.protocol_version} of the Agent Client Protocol; "
                f"everyagent speaks version {encode.PROTOCOL_VERSION}. Use a version of the agent that speaks it, too."
            )
        self._capabilities = answer.agent_capabilities
        self.version = answer.agent_info.version if answer.agent_info else None
        if self._profile.auth_method:
            await self._request("authenticate", {"methodId": self._profile.auth_method})

    async def _open(self) -> None:
        servers = launching.servers(self._profile, self._launch, self._capabilities.mcp_capabilities)
        native, directory = self._launch.native_session_id, str(self._launch.directory)
        if native is None:
            try:
                reply = await self._request("session/new", encode.open_session(directory, servers))
            except AcpRefused as refusal:
                hint = self._profile.login_hint
                raise failures.refused(self._profile.title, "session/new", refusal.error, hint) from refusal
            opened = _read(_opened, reply, "session/new")
            self._session = opened.session_id
            await to_thread.run_sync(self._remember_creation)
        else:
            opened = await self._resume(native, encode.open_session(directory, servers, native))
            self._session = native
        self._offers = Offers(opened)
        self._decoder.native = self._offers.mode

    async def _resume(self, native: str, params: Mapping[str, object]) -> wire.SessionOpened:
        """Load the native session. If that fails in any way, the session goes on from the log's transcript."""
        offered = self._capabilities
        resumes = offered.session_capabilities.resume is not None
        if not (resumes or offered.load_session) or await to_thread.run_sync(self._too_young):
            await self._lose_history()
        method = "session/resume" if resumes else "session/load"
        self._decoder.replaying = True
        try:
            opened = _read(_opened, await self._request(method, params, LOAD_LIMIT), method)
        except AcpEnded:
            raise
        except AcpRefused as refusal:
            if failures.code_of(failures.words(refusal.error), refusal.error.code) == "auth":
                hint = self._profile.login_hint
                raise failures.refused(self._profile.title, method, refusal.error, hint) from refusal
            await self._lose_history(refusal)
        except AgentFailed as failure:
            await self._lose_history(failure)
        await self._quiet()
        self._decoder.replaying = False
        return opened

    async def _lose_history(self, failure: AgentFailed | None = None) -> NoReturn:
        if failure:
            logger.info("an agent lost its native session", agent=self._profile.name, error=failure.detail)
        self._end = ProcessEnd(history_lost=True)
        raise AcpEnded(f"{self._profile.title} no longer has the native session.") from failure

    async def _quiet(self) -> None:
        """Wait until the agent has repeated the history: some do that after their answer."""
        with anyio.move_on_after(QUIET_LIMIT):
            seen = -1
            while seen != self._decoder.updates:
                seen = self._decoder.updates
                await anyio.sleep(QUIET)

    def _remember_creation(self) -> None:
        if self._profile.load_delay:
            (self._launch.scratch / "acp-created").write_text(str(time.time()))

    def _too_young(self) -> bool:
        """Whether loading the session would destroy it."""
        try:
            created = float((self._launch.scratch / "acp-created").read_text())
        except (OSError, ValueError):
            return False
        return time.time() - created < self._profile.load_delay

    async def _choose(self) -> None:
        """Set mode, model and level: an agent's defaults differ, also after a load."""
        launch = self._launch
        await self._set_mode(launch.permission_mode)
        if launch.model and launch.model != self._offers.model:
            await self._set(self._offers.set_model(launch.model))
        if launch.variant:
            await self._set(self._offers.set_level(launch.variant))

    async def _set_mode(self, mode: str) -> bool:
        self._decoder.mode = mode
        native = policies.native_mode(self._profile, mode, self._decoder.policies)
        if native is not None:
            self._decoder.chosen[native] = mode
        if native is None or native == self._decoder.native:
            return True
        before, self._decoder.native = self._decoder.native, native
        try:
            return await self._set(self._offers.set_mode(native))
        except AgentFailed:
            self._decoder.native = before
            raise

    async def _set(self, request: SetRequest | None) -> bool:
        """False if the agent does not offer this value."""
        if request is not None:
            self._decoder.options.current[request.category] = request.value
            await self._request(request.method, {"sessionId": self._session, **request.params})
        return request is not None

    # -- commands -----------------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> None:
        blocks = await self._blocks(prompt)
        self._requests += 1
        id = self._requests
        self._decoder.sent[id] = "session/prompt"
        self._decoder.prompted(id, prompt.text)
        params = encode.prompt(self._session, blocks, prompt.traceparent)
        await self._lines.send_or_die(encode.request(id, "session/prompt", params))
        self._before = []

    async def steer(self, prompt: Prompt) -> None:
        raise AgentFailed(f"{self._profile.title} takes no messages while a turn runs.")

    async def answer(self, ask_key: str, answer: Answer) -> None:
        ask = self._decoder.asks.pop(ask_key, None)
        if ask is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        if isinstance(ask, AcpPermissionAsk) and isinstance(answer, PermissionAnswer) and answer.reply != "reject":
            self._decoder.permitted.add(ask.tool)
        await self._lines.send(encode.result(ask.id, answers.response(ask, answer)))

    async def interrupt(self) -> None:
        """Open questions are answered, too: some agents wait for them even after a cancel."""
        self._decoder.cancelled = True
        await self._lines.send(encode.cancel(self._session))
        asks, self._decoder.asks = self._decoder.asks, {}
        for ask in asks.values():
            await self._lines.send(encode.result(ask.id, answers.lapsed(ask)))

    async def interrupt_subagent(self, call: str) -> bool:
        return False

    async def change(self, change: Change) -> bool:
        """False if the agent does not list the model or the level: then it is started with it."""
        applied = True
        if change.policies is not UNSET:
            self._decoder.policies = change.policies
        if change.policies is not UNSET or change.permission_mode is not UNSET:
            mode = self._decoder.mode if change.permission_mode is UNSET else change.permission_mode
            applied = await self._set_mode(mode)
        if change.model is not UNSET:
            applied = bool(change.model) and await self._set(self._offers.set_model(change.model or "")) and applied
        if change.variant is not UNSET:
            applied = bool(change.variant) and await self._set(self._offers.set_level(change.variant or "")) and applied
        return applied

    async def close(self, *, force: bool = False) -> None:
        """An agent that can close its session does so first: it may have something to write."""
        self._closing = True
        if not force and self._session and self._capabilities.session_capabilities.close is not None:
            try:
                await self._request("session/close", {"sessionId": self._session}, CLOSE_LIMIT)
            except AgentFailed as failure:
                logger.info("an agent did not close its session", agent=self._profile.name, error=failure.detail)
        await self._lines.close(force=force)

    # -- requests and answers -------------------------------------------------------------------------------------

    async def _request(self, method: str, params: Mapping[str, object], limit: float = REPLY_LIMIT) -> Raw:
        self._requests += 1
        id = self._requests
        reply = self._replies[id] = asyncio.get_running_loop().create_future()
        self._decoder.sent[id] = method
        try:
            await self._send_or_end(encode.request(id, method, params))
            with anyio.fail_after(limit):
                answered = await reply
        except TimeoutError:
            raise AgentFailed(
                f"{self._profile.title} did not answer `{method}` within {limit:.0f} seconds. It may be no ACP "
                "program, or wait for something that it needs."
            ) from None
        finally:
            del self._replies[id]
        if answered.error:
            raise AcpRefused(self._profile.title, method, answered.error)
        return answered.result

    async def _send_or_end(self, frame: bytes) -> None:
        try:
            await self._lines.send(frame)
        except AgentFailed as failure:
            raise AcpEnded(failure.detail) from failure

    async def _carry_out_effects(self) -> None:
        effects, self._decoder.effects = self._decoder.effects, []
        for effect in effects:
            match effect:
                case UnservedAcpRequest():
                    self._answers.add(encode.refusal(effect.id, effect.method))
                case SettledAcpRequest():
                    self._answers.add(encode.result(effect.id, effect.result))
                case ClientRequest():
                    self._tasks.start_soon(self._serve, effect, on_fault=self._lines.fail)
                case AcpReply():
                    waiting = self._replies.get(effect.id)
                    if waiting and not waiting.done():
                        waiting.set_result(effect)

    async def _serve(self, request: ClientRequest) -> None:
        try:
            result = await self._client.serve(request)
        except AgentFailed as failure:
            self._answers.add(encode.error(request.id, encode.FAILED, failure.detail))
        else:
            self._answers.add(encode.result(request.id, result))

    async def _unread(self, failure: AgentFailed) -> None:
        """End an agent that no longer reads, unless it is ending by itself: its death is reported."""
        logger.info("an agent did not accept an answer", agent=self._profile.name, error=failure.detail)
        with anyio.move_on_after(DEATH_LIMIT):
            await self._lines.process.wait()
        if self._lines.process.exit is None and not self._closing:
            if self._end == ProcessEnd():
                self._end = ProcessEnd(code="timeout", message=f"{self._profile.title} was ended. {failure.detail}")
            await self._lines.end()

    # -- the process ------------------------------------------------------------------------------------------------

    def _ended(self, exit: Exit | None) -> ProcessEnd:
        """Fail the requests that wait for an answer, and end the terminals.

        An agent that exits by itself while it loads a session would do so again: that history is lost.
        """
        by_itself = exit is not None and exit.code is not None and exit.code < SIGNALLED
        if by_itself and self._decoder.replaying and self._end == ProcessEnd():
            self._end = ProcessEnd(history_lost=True)
        for waiting in self._replies.values():
            if not waiting.done():
                waiting.set_exception(AcpEnded(f"{self._profile.title} ended before it answered."))
        self._tasks.start_soon(self._terminals.close)
        return self._end

    async def _blocks(self, prompt: Prompt) -> list[dict[str, object]]:
        folder = attached_files.folder_of(prompt, self._launch)
        images = self._capabilities.prompt_capabilities.image
        if not prompt.attachments:
            return attachments.blocks(prompt, self._before, folder, images=images)
        prompt = await to_thread.run_sync(attached_files.reachable, prompt, self._launch)
        return await to_thread.run_sync(partial(attachments.blocks, prompt, self._before, folder, images=images))


def _read(decoder: "msgspec.json.Decoder[T]", reply: Raw, method: str) -> T:
    try:
        return decoder.decode(reply if bytes(reply) != b"null" else b"{}")
    except msgspec.ValidationError as problem:
        raise AgentFailed(
            f"The answer to `{method}` is not what the Agent Client Protocol says: {problem}."
        ) from problem
