"""The conversation with one session of an OpenCode server: commands become requests, events become drafts."""

from collections.abc import Sequence
from functools import partial

import anyio
import msgspec
from anyio import to_thread

from everyagent.agents import attached_files
from everyagent.agents.adapter import Change, Death, DecodedFrame, Frame, Launch, Listener, Prompt
from everyagent.agents.opencode.decode import asks, notices
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.decode.effects import AbortTurn, AllowPermission, CheckTurn
from everyagent.agents.opencode.decode.turns import OpencodeTurn
from everyagent.agents.opencode.driver import attachments, encode
from everyagent.agents.opencode.driver.early_asks import EarlyAsks
from everyagent.agents.opencode.driver.resync import Resync
from everyagent.agents.opencode.driver.server import STREAM_LOST, OpencodeServer
from everyagent.agents.opencode.driver.snapshot import SnapshotResult, fetch_snapshot
from everyagent.agents.opencode.launch import prefixes
from everyagent.agents.opencode.policy import modes
from everyagent.agents.opencode.policy.plugin_hooks import PluginHooks
from everyagent.agents.opencode.policy.policies import PluginCall
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import REPLY_LIMIT, OpencodeRefused, OpencodeUnreachable, read
from everyagent.agents.shared_conversation import COMPACT, PARTING_LIMIT, SharedConversation
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.policies import UNRESTRICTED

#: A compaction is answered when it is done.
COMPACT_LIMIT = 600.0
#: MCP servers may take their time to start.
MCP_LIMIT = 120.0
_GONE = "OpenCode's server is gone."
_NO_PLUGIN = (
    "OpenCode has not loaded the daemon's plugin, by which the session's tool policies are kept, so no turn was begun. "
    "Use the tested version (`everyagent agents install opencode`), or take the policies back."
)
#: Put in the inbox when a turn that seems to be over is to be checked.
_CHECK_DUE = NativeEvent(b"", "everyagent.check_due")
#: Put in the inbox when asks whose calls do not arrive are to be decoded.
_ASKS_DUE = NativeEvent(b"", "everyagent.asks_due")

logger = get_logger(__name__)


class OpencodeConversation(SharedConversation[NativeEvent]):
    title = "OpenCode"

    def __init__(self, launch: Launch, listener: Listener, tasks: TaskSupervisor, plugin_hooks: PluginHooks) -> None:
        super().__init__(launch, listener, tasks)
        self._server: OpencodeServer | None = None
        self._decoder = OpencodeDecoder(
            self.directory, servers=prefixes(launch), titled=launch.title is not None, put=self.put
        )
        self._seed = launch.seed
        self._plugin_hooks = plugin_hooks
        self._apply_policies()
        self._prompting = anyio.Lock()
        self._aborted: OpencodeTurn | None = None
        self._resync = Resync(self._decoder, self._spawn, fetch=self._fetch, remind=lambda: self._inbox.put(_CHECK_DUE))
        self._early = EarlyAsks(self._decoder, self._spawn, remind=lambda: self._inbox.put(_ASKS_DUE))

    @property
    def _shared(self) -> OpencodeServer | None:
        return self._server

    def join(self, server: OpencodeServer) -> None:
        self._server = server
        server.join(self)

    # -- commands -----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Open the session. Raises `AgentFailed`; a session that no longer exists is the conversation's death."""
        server = self._server
        assert server, "the server was joined"
        await server.listen(self.directory)
        native = self._launch.native_session_id
        try:
            if native:
                answer = await self._ask("GET", f"/session/{native}")
            else:
                answer = await self._ask("POST", "/session", encode.create(self._launch))
        except OpencodeRefused as refusal:
            if not native or refusal.answered != 404:
                raise
            self.lose(Death(expected=False, history_lost=True, message=refusal.detail))
            await self._ended()
            return
        session = read(answer, wire.OpencodeSessionInfo)
        self._decoder.session = session.id
        self._decoder.model = session.model
        server.router.own(session.id, self)
        self._plugin_hooks.conversations.append(self)
        if self._launch.policies != UNRESTRICTED and not await self._plugin_hooks.is_loaded(server.name):
            raise AgentFailed(_NO_PLUGIN)
        self.put(DecodedFrame(Frame("from_agent", answer), (self._decoder.named(),)))
        if self._launch.mcp:
            self._spawn(self._report_mcp_servers)

    async def prompt(self, prompt: Prompt) -> None:
        """If the server ends during this, the conversation's death is reported, not a failure of the prompt."""
        async with self._prompting:
            if prompt.text.strip() == COMPACT and not prompt.attachments:
                body = self._compaction()
                self._decoder.prompted()
                self._spawn(partial(self._compact, body))
            else:
                self._decoder.prompted()
                try:
                    await self._send(prompt, self._seed)
                except AgentFailed:
                    self._decoder.turn = None
                    raise
                self._seed = None

    async def steer(self, prompt: Prompt) -> None:
        """OpenCode reads it before the model's next step; if the turn is over by then, it starts a new turn."""
        await self._send(prompt, None)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        if self._decoder.policies.asked(ask_key):
            self._decoder.policies.answer(ask_key, answer)
            return
        kind = self._decoder.asks.take(ask_key)
        if kind is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        await self._reply(asks.response(kind, ask_key, answer))

    async def interrupt(self) -> None:
        """Once a turn. A turn that OpenCode has not begun yet cannot be stopped: it is stopped when it begins."""
        turn = self._decoder.turn
        if turn:
            turn.interrupted = True
            await self._abort_begun()

    async def interrupt_subagent(self, call: str) -> bool:
        """Aborts the sub-agent's own native session."""
        child = self._decoder.child(call)
        if child:
            await self._ask("POST", f"/session/{child}/abort")
        return child is not None

    async def change(self, change: Change) -> bool:
        """Every turn sends all settings again, and permissions are decided here."""
        self._launch = change.applied_to(self._launch)
        self._apply_policies()
        return True

    # -- tool policies ------------------------------------------------------------------------------------------

    def owns(self, session: str) -> bool:
        return self._server is not None and self._server.router.owners.get(session) is self

    async def decide(self, call: PluginCall, body: bytes) -> str | None:
        """The reason to deny a tool call, or None to allow it."""
        return await self._decoder.policies.decide(call, body)

    def _apply_policies(self) -> None:
        launch = self._launch
        self._decoder.asks.mode = modes.native(launch.permission_mode, launch.agent_mode)
        self._decoder.policies.policies = launch.policies
        self._decoder.policies.planning = modes.PLAN in (launch.permission_mode, launch.agent_mode)

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def _session(self) -> str:
        return f"/session/{self._decoder.session}"

    async def _send(self, prompt: Prompt, seed: str | None) -> None:
        folder = attached_files.folder_of(prompt, self._launch)
        prompt = await to_thread.run_sync(attached_files.reachable, prompt, self._launch)
        parts = await to_thread.run_sync(attachments.parts, prompt, seed, folder)
        try:
            await self._ask("POST", f"{self._session}/prompt_async", encode.prompt(self._launch, parts))
        except OpencodeUnreachable:
            if self._server and self._server.open:
                raise

    def _compaction(self) -> bytes:
        """The request for a compaction, which must name the model."""
        model = self._decoder.model
        if self._launch.model:
            return msgspec.json.encode(encode.model(self._launch.model))
        if model is None or not model.id:
            raise AgentFailed("There is nothing to compact yet.")
        return msgspec.json.encode({"providerID": model.provider, "modelID": model.id})

    async def _compact(self, body: bytes) -> None:
        try:
            await self._ask("POST", f"{self._session}/summarize", body, limit=COMPACT_LIMIT)
        except OpencodeRefused as refusal:
            drafts = list(self._decoder.refused(refusal.detail))
            self.put(DecodedFrame(Frame("from_agent", refusal.detail.encode(), "text"), drafts))

    async def _reply(self, reply: asks.AskReply) -> None:
        body = None if reply.body is None else msgspec.json.encode(reply.body)
        await self._ask("POST", reply.path, body)

    async def _report_mcp_servers(self) -> None:
        """OpenCode continues without an MCP server that does not start, and reports it only on request."""
        answer = await self._ask("GET", "/mcp", limit=MCP_LIMIT)
        states = read(answer, dict[str, wire.McpState])
        drafts = [draft for name in self._launch.mcp for draft in notices.mcp_state(name, states.get(name))]
        self.put(DecodedFrame(Frame("from_agent", answer), drafts))

    async def _abort_begun(self) -> None:
        turn = self._decoder.turn
        if turn and turn.begun and (turn.interrupted or turn.gave_up) and turn is not self._aborted:
            self._aborted = turn
            await self._ask("POST", f"{self._session}/abort")

    async def _ask(self, method: str, path: str, body: bytes | None = None, *, limit: float = REPLY_LIMIT) -> bytes:
        server = self._server
        if server is None or self._death is not None:
            raise OpencodeUnreachable(_GONE)
        asked = b'{"method":"%s","path":"%s","body":%s}' % (method.encode(), path.encode(), body or b"null")
        self.put(DecodedFrame(Frame("to_agent", asked), ()))
        return await server.rest.ask(method, path, self.directory, body, limit=limit)

    # -- the end ------------------------------------------------------------------------------------------------

    async def _part(self) -> bool:
        try:
            with anyio.move_on_after(PARTING_LIMIT):
                await self.interrupt()
                await self._until(lambda: self._decoder.turn is None)
            if self._decoder.turn:
                await self._ask("POST", f"{self._session}/abort", limit=PARTING_LIMIT)
        except OpencodeRefused:
            return True
        except AgentFailed:
            return False
        return True

    async def _halt(self) -> None:
        if self._server and self._decoder.session:
            await self._server.rest.ask("POST", f"{self._session}/abort", self.directory, limit=PARTING_LIMIT)

    async def _release(self) -> None:
        if self in self._plugin_hooks.conversations:
            self._plugin_hooks.conversations.remove(self)
        self._decoder.policies.turn_over()

    # -- messages -----------------------------------------------------------------------------------------------

    async def _decode(self, batch: Sequence[NativeEvent | DecodedFrame]) -> list[DecodedFrame]:
        decoded: list[DecodedFrame] = []
        for event in batch:
            if isinstance(event, DecodedFrame):
                decoded.append(event)
            elif event is STREAM_LOST:
                decoded += await self._resync.after_loss()
            elif event is _CHECK_DUE:
                decoded += await self._resync.check()
            elif event is _ASKS_DUE:
                decoded += self._early.release()
            else:
                decoded += self._early.decode(event)
        return decoded

    async def _carry_out(self) -> None:
        turn = self._decoder.turn
        if turn is None:
            self._decoder.policies.turn_over()
        if turn and turn.interrupted and turn.begun and turn is not self._aborted:
            self._spawn(self._abort_begun)
        effects, self._decoder.effects = self._decoder.effects, []
        for effect in effects:
            match effect:
                case AllowPermission():
                    allowed = asks.AskReply(f"/permission/{effect.key}/reply", {"reply": "once"})
                    self._spawn(partial(self._reply, allowed))
                case AbortTurn():
                    self._spawn(self._abort_begun)
                case CheckTurn():
                    self._resync.begin()

    async def _fetch(self, turn: OpencodeTurn) -> SnapshotResult:
        if self._server is None:
            raise OpencodeUnreachable(_GONE)
        return await fetch_snapshot(self._server.rest, self._server.router, self, self._decoder.session, turn.since)
