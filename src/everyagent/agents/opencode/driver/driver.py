"""The conversation with one session of an OpenCode server: commands go in, events come out, its end is told once."""

from collections.abc import Awaitable, Callable

import anyio
import msgspec
from anyio import to_thread

from everyagent.agents.adapter import Change, Death, Frame, Heard, Launch, Listener, NativeSession, Prompt
from everyagent.agents.ending import Ending
from everyagent.agents.inbox import Inbox
from everyagent.agents.opencode.decode import asks, notices
from everyagent.agents.opencode.decode.decoder import Decoder, Doubt, GiveUp
from everyagent.agents.opencode.decode.turns import Turn
from everyagent.agents.opencode.driver import attachments, encode
from everyagent.agents.opencode.driver.open_asks import Allow
from everyagent.agents.opencode.driver.resync import Doubts
from everyagent.agents.opencode.driver.server import OpencodeServer
from everyagent.agents.opencode.driver.snapshot import Found, look
from everyagent.agents.opencode.launch import prefixes
from everyagent.agents.opencode.policy import modes
from everyagent.agents.opencode.policy.plugin_hooks import Guards
from everyagent.agents.opencode.policy.policies import Wish
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.native_event import Said
from everyagent.agents.opencode.protocol.rest import REPLY_LIMIT, Refused, Unreachable, read
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.policies import UNRESTRICTED

#: How long a turn may take to be given up when the session leaves; a server that does not answer is ended.
PARTING_LIMIT = 3.0
#: A compaction is answered when it is done.
COMPACT_LIMIT = 600.0
#: MCP servers may take their time to start.
MCP_LIMIT = 120.0
#: A prompt of this word alone is a command, as in OpenCode itself.
COMPACT = "/compact"
_GONE = "OpenCode's server is gone."
_UNGUARDED = (
    "OpenCode has not loaded the daemon's plugin, by which the session's tool policies are kept, so no turn was begun. "
    "Use the tested version (`everyagent agents install opencode`), or take the policies back."
)
#: Said by ourselves, to be heard in the right place.
_MISSED = Said(b"", "everyagent.missed")
_DOUBTED = Said(b"", "everyagent.doubted")

logger = get_logger(__name__)


class OpencodeConversation:
    """`run` is its own task: the only one that calls the listener. What need not be waited for runs in `tasks`."""

    def __init__(self, launch: Launch, listener: Listener, tasks: TaskSupervisor, guards: Guards) -> None:
        self.directory = str(launch.directory)
        self._launch = launch
        self._listener = listener
        self._tasks = tasks
        self._server: OpencodeServer | None = None
        self._decoder = Decoder(
            self.directory, servers=prefixes(launch), titled=launch.title is not None, put=self.put_heard
        )
        self._seed = launch.seed
        self._inbox: Inbox[Said] = Inbox()
        self._guards = guards
        self._rule()
        self._prompting = anyio.Lock()
        self._aborted: Turn | None = None
        self._doubts = Doubts(self._decoder, tasks, look=self._look, remind=lambda: self._inbox.put(_DOUBTED))
        self._ending = Ending(listener, self._inbox.close)

    # -- as a resident of the server ----------------------------------------------------------------------------

    def put(self, said: Said) -> None:
        self._inbox.put(said)

    def put_heard(self, heard: Heard) -> None:
        """What comes by another way than OpenCode's events takes its place among them."""
        self._inbox.put(heard)

    async def room(self) -> None:
        await self._inbox.room()

    def missed(self) -> None:
        self._inbox.put(_MISSED)

    def lose(self, death: Death) -> None:
        self._ending.lose(death)

    # -- commands -----------------------------------------------------------------------------------------------

    async def begin(self, server: OpencodeServer) -> None:
        """Open the session. Raises `AgentFailed`; one that is gone is told as the conversation's death."""
        self._server = server
        await server.listen(self.directory)
        native = self._launch.native_session_id
        try:
            if native:
                answer = await self._ask("GET", f"/session/{native}")
            else:
                answer = await self._ask("POST", "/session", encode.create(self._launch))
        except Refused as refusal:
            if not native or refusal.answered != 404:
                raise
            self.lose(Death(expected=False, history_lost=True, message=refusal.detail))
            await self._ending.over()
            return
        session = read(answer, wire.Session)
        self._decoder.session = session.id
        self._decoder.model = session.model
        server.router.own(session.id, self)
        self._guards.conversations.append(self)
        if self._launch.policies != UNRESTRICTED and not await self._guards.stands(server.pid):
            raise AgentFailed(_UNGUARDED)
        self._inbox.put(Heard(Frame("from_agent", answer), (NativeSession(session.id),)))
        if self._launch.mcp:
            self._tasks.start_soon(self._try, self._hear_of_servers)

    async def abandon(self) -> None:
        """It could not be opened: whoever tried is told so by other means than its death."""
        self._ending.unheard = True
        await self.close(force=True)

    async def prompt(self, prompt: Prompt) -> None:
        """A server that ends meanwhile tells its own story."""
        async with self._prompting:
            if prompt.text.strip() == COMPACT and not prompt.attachments:
                body = self._compaction()
                self._decoder.prompted()
                self._tasks.start_soon(self._compact, body)
            else:
                self._decoder.prompted()
                try:
                    await self._say(prompt, self._seed)
                except AgentFailed:
                    self._decoder.turn = None
                    raise
                self._seed = None

    async def steer(self, prompt: Prompt) -> None:
        """OpenCode reads it before the model's next step; where the turn is over by then, as a turn of its own."""
        await self._say(prompt, None)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        if self._decoder.policies.asked(ask_key):
            self._decoder.policies.answer(ask_key, answer)
            return
        kind = self._decoder.asks.take(ask_key)
        if kind is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        await self._reply(asks.response(kind, ask_key, answer))

    async def interrupt(self) -> None:
        """Once a turn. One that OpenCode has not begun yet could not be stopped: that is done when it begins."""
        turn = self._decoder.turn
        if turn:
            turn.interrupted = True
            await self._abort_begun()

    async def interrupt_subagent(self, call: str) -> bool:
        """It has a session of its own."""
        child = self._decoder.child(call)
        if child:
            await self._ask("POST", f"/session/{child}/abort")
        return child is not None

    async def change(self, change: Change) -> bool:
        """Everything is given to OpenCode anew with each turn; who is asked, is decided here."""
        self._launch = change.applied_to(self._launch)
        self._rule()
        return True

    async def close(self, *, force: bool = False) -> None:
        """The session is given up with all it has running; the server stays for the others on it."""
        self._ending.closing = True
        server = self._server
        if server and self._ending.death is None:
            others = [resident for resident in server.residents if resident is not self]
            if others and not await self._part():
                await server.stop(force=True, wedged=True)
            await server.leave(self, force=force)
        self.lose(Death(expected=True))
        await self._ending.over()

    # -- tool policies ------------------------------------------------------------------------------------------

    def owns(self, session: str) -> bool:
        return self._server is not None and self._server.router.owners.get(session) is self

    async def wish(self, wish: Wish, body: bytes) -> str | None:
        return await self._decoder.policies.wish(wish, body)

    def _rule(self) -> None:
        launch = self._launch
        self._decoder.asks.mode = modes.native(launch.permission_mode, launch.agent_mode)
        self._decoder.policies.policies = launch.policies
        self._decoder.policies.planning = modes.PLAN in (launch.permission_mode, launch.agent_mode)

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def _session(self) -> str:
        return f"/session/{self._decoder.session}"

    async def _say(self, prompt: Prompt, seed: str | None) -> None:
        folder = self._launch.scratch / "attachments" / prompt.item_id
        parts = await to_thread.run_sync(attachments.parts, prompt, seed, folder)
        try:
            await self._ask("POST", f"{self._session}/prompt_async", encode.prompt(self._launch, parts))
        except Unreachable:
            if self._server and self._server.open:
                raise

    def _compaction(self) -> bytes:
        """OpenCode wants to be told which model does it."""
        model = self._decoder.model
        if self._launch.model:
            return msgspec.json.encode(encode.model(self._launch.model))
        if model is None or not model.id:
            raise AgentFailed("There is nothing to compact yet.")
        return msgspec.json.encode({"providerID": model.provider, "modelID": model.id})

    async def _compact(self, body: bytes) -> None:
        try:
            await self._ask("POST", f"{self._session}/summarize", body, limit=COMPACT_LIMIT)
        except Refused as refusal:
            drafts = list(self._decoder.refused(refusal.detail))
            self._inbox.put(Heard(Frame("from_agent", refusal.detail.encode(), "text"), drafts))
        except AgentFailed as failure:
            logger.info("opencode did not compact", session=self._launch.session_id, error=failure.detail)

    async def _reply(self, request: asks.Request) -> None:
        body = None if request.body is None else msgspec.json.encode(request.body)
        await self._ask("POST", request.path, body)

    async def _hear_of_servers(self) -> None:
        """OpenCode goes on without an MCP server that does not start, and says so only when it is asked."""
        answer = await self._ask("GET", "/mcp", limit=MCP_LIMIT)
        states = read(answer, dict[str, wire.McpState])
        drafts = [draft for name in self._launch.mcp for draft in notices.mcp_state(name, states.get(name))]
        self._inbox.put(Heard(Frame("from_agent", answer), drafts))

    async def _abort_begun(self) -> None:
        turn = self._decoder.turn
        if turn and turn.begun and (turn.interrupted or turn.gave_up) and turn is not self._aborted:
            self._aborted = turn
            await self._ask("POST", f"{self._session}/abort")

    async def _part(self) -> bool:
        """Stop what this session has running; False if the server does not answer."""
        try:
            with anyio.move_on_after(PARTING_LIMIT):
                await self.interrupt()
                await self._ending.until(lambda: self._decoder.turn is None)
            if self._decoder.turn:
                await self._ask("POST", f"{self._session}/abort", limit=PARTING_LIMIT)
        except Refused:
            return True
        except AgentFailed:
            return False
        return True

    async def _ask(self, method: str, path: str, body: bytes | None = None, *, limit: float = REPLY_LIMIT) -> bytes:
        server = self._server
        if server is None or self._ending.death is not None:
            raise Unreachable(_GONE)
        asked = b'{"method":"%s","path":"%s","body":%s}' % (method.encode(), path.encode(), body or b"null")
        self._inbox.put(Heard(Frame("to_agent", asked), ()))
        return await server.rest.ask(method, path, self.directory, body, limit=limit)

    # -- listening ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        await self._ending.follow(self._listen, self._leave)

    async def _leave(self) -> None:
        """However it ended: nothing of this session may keep the server alive."""
        if self in self._guards.conversations:
            self._guards.conversations.remove(self)
        self._decoder.policies.turn_over()
        if self._server and self in self._server.residents:
            await self._server.leave(self, force=True)

    async def _listen(self) -> None:
        while True:
            heard: list[Heard] = []
            for said in await self._inbox.take():
                if isinstance(said, Heard):
                    heard.append(said)
                elif said is _MISSED:
                    heard += await self._doubts.missed()
                elif said is _DOUBTED:
                    heard += await self._doubts.due()
                else:
                    heard.append(self._decoder.decode(said))
            if heard:
                await self._listener.heard(heard)
            self._see_to_asides()
            self._ending.heard()
            if self._ending.death is not None and not self._inbox:
                return

    def _see_to_asides(self) -> None:
        turn = self._decoder.turn
        if turn is None:
            self._decoder.policies.turn_over()
        if turn and turn.interrupted and turn.begun and turn is not self._aborted:
            self._tasks.start_soon(self._try, self._abort_begun)
        asides, self._decoder.asides = self._decoder.asides, []
        for aside in asides:
            match aside:
                case Allow():
                    allowed = asks.Request(f"/permission/{aside.key}/reply", {"reply": "once"})
                    self._tasks.start_soon(self._try, self._reply, allowed)
                case GiveUp():
                    self._tasks.start_soon(self._try, self._abort_begun)
                case Doubt():
                    self._doubts.begin()

    async def _look(self, turn: Turn) -> Found:
        if self._server is None:
            raise Unreachable(_GONE)
        return await look(self._server.rest, self._server.router, self, self._decoder.session, turn.since)

    async def _try(self, tell: Callable[..., Awaitable[object]], *args: object) -> None:
        """What cannot be told has its reason in the server's end, and that is told."""
        try:
            await tell(*args)
        except AgentFailed as failure:
            logger.info("opencode was not told", session=self._launch.session_id, error=failure.detail)
