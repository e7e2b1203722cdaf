"""The conversation with one session of an OpenCode server: commands go in, events come out, its end is told once."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import msgspec
from anyio import to_thread
from anyio.abc import TaskGroup
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.agents.adapter import Change, Death, Frame, Heard, Launch, Listener, NativeSession, Prompt
from everyagent.agents.inbox import Inbox
from everyagent.agents.opencode import asks, attachments, encode, modes, notices, wire
from everyagent.agents.opencode.asking import Allow
from everyagent.agents.opencode.decode import Decoder, Doubt, GiveUp
from everyagent.agents.opencode.guards import Guards
from everyagent.agents.opencode.launch import prefixes
from everyagent.agents.opencode.lookup import look
from everyagent.agents.opencode.policies import Wish
from everyagent.agents.opencode.rest import REPLY_LIMIT, Refused, Unreachable, read
from everyagent.agents.opencode.said import Said
from everyagent.agents.opencode.server import OpencodeServer
from everyagent.agents.opencode.turns import Turn
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer
from everyagent.model.policies import UNRESTRICTED

#: How long a turn may take to be given up when the session leaves; a server that does not answer is ended.
PARTING_LIMIT = 3.0
#: How long OpenCode may be idle with a turn open before it is looked at.
DOUBT_SECONDS = 1.0
#: A compaction is answered when it is done.
COMPACT_LIMIT = 600.0
#: MCP servers may take their time to start.
MCP_LIMIT = 120.0
FAREWELL_LIMIT = 10.0
#: A prompt of this word alone is a command, as in OpenCode itself.
COMPACT = "/compact"
#: So often a turn in doubt is looked at in vain before it is given up.
LOOKS = 5
_UNGUARDED = (
    "OpenCode has not loaded the daemon's plugin, by which the session's tool policies are kept, so no turn was begun. "
    "Use the tested version (`everyagent agents install opencode`), or take the policies back."
)
#: Said by ourselves, to be heard in the right place.
_MISSED = Said(b"", "everyagent.missed")
_DOUBTED = Said(b"", "everyagent.doubted")

logger = get_logger(__name__)


class OpencodeConversation:
    """`run` is its own task: the only one that calls the listener. What need not be waited for runs in `nursery`."""

    def __init__(self, launch: Launch, listener: Listener, nursery: TaskGroup, guards: Guards) -> None:
        self.directory = str(launch.directory)
        self._launch = launch
        self._listener = listener
        self._nursery = nursery
        self._server: OpencodeServer | None = None
        self._decoder = Decoder(
            self.directory, servers=prefixes(launch), titled=launch.title is not None, put=self.put_heard
        )
        self._seed = launch.seed
        self._inbox: Inbox[Said] = Inbox()
        self._guards = guards
        self._rule()
        self._batch = asyncio.Event()
        self._prompting = anyio.Lock()
        self._aborted: Turn | None = None
        self._doubted: Turn | None = None
        self._looks = 0
        self._closing = False
        self._unheard = False
        self._death: Death | None = None
        self._over = anyio.Event()

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
        if self._death is None:
            self._death = replace(death, expected=death.expected or self._closing)
            self._inbox.close()

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
            await self._over.wait()
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
            self._nursery.start_soon(self._try, self._hear_of_servers)

    async def abandon(self) -> None:
        """It could not be opened: whoever tried is told so by other means than its death."""
        self._unheard = True
        await self.close(force=True)

    async def prompt(self, prompt: Prompt) -> None:
        """A server that ends meanwhile tells its own story."""
        async with self._prompting:
            if prompt.text.strip() == COMPACT and not prompt.attachments:
                body = self._compaction()
                self._decoder.prompted()
                self._nursery.start_soon(self._compact, body)
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

    async def change(self, change: Change) -> bool:
        """Everything is given to OpenCode anew with each turn; who is asked, is decided here."""
        launch = self._launch
        self._launch = replace(
            launch,
            model=launch.model if change.model is UNSET else change.model,
            variant=launch.variant if change.variant is UNSET else change.variant,
            permission_mode=launch.permission_mode if change.permission_mode is UNSET else change.permission_mode,
            agent_mode=launch.agent_mode if change.agent_mode is UNSET else change.agent_mode,
            policies=launch.policies if change.policies is UNSET else change.policies,
        )
        self._rule()
        return True

    async def close(self, *, force: bool = False) -> None:
        """The session is given up with all it has running; the server stays for the others on it."""
        self._closing = True
        server = self._server
        if server and self._death is None:
            others = [resident for resident in server.residents if resident is not self]
            if others and not await self._part():
                await server.stop(force=True, wedged=True)
            await server.leave(self, force=force)
        self.lose(Death(expected=True))
        await self._over.wait()

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
                await self._until(lambda: self._decoder.turn is None)
            if self._decoder.turn:
                await self._ask("POST", f"{self._session}/abort", limit=PARTING_LIMIT)
        except Refused:
            return True
        except AgentFailed:
            return False
        return True

    async def _ask(self, method: str, path: str, body: bytes | None = None, *, limit: float = REPLY_LIMIT) -> bytes:
        server = self._server
        if server is None or self._death is not None:
            raise Unreachable("OpenCode's server is gone.")
        asked = b'{"method":"%s","path":"%s","body":%s}' % (method.encode(), path.encode(), body or b"null")
        self._inbox.put(Heard(Frame("to_agent", asked), ()))
        return await server.rest.ask(method, path, self.directory, body, limit=limit)

    # -- listening ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        cancelled = False
        try:
            await self._listen()
        except anyio.get_cancelled_exc_class():
            cancelled = self._closing = True
            raise
        finally:
            if self in self._guards.conversations:
                self._guards.conversations.remove(self)
            self._decoder.policies.turn_over()
            self.lose(Death(expected=True))
            self._batch.set()
            try:
                with anyio.move_on_after(FAREWELL_LIMIT if cancelled else None, shield=cancelled):
                    await self._leave()
                    if self._death and not self._unheard:
                        await self._listener.died(self._death)
            finally:
                self._over.set()

    async def _leave(self) -> None:
        """However it ended: nothing of this session may keep the server alive."""
        if self._server and self in self._server.residents:
            await self._server.leave(self, force=True)

    async def _listen(self) -> None:
        while True:
            heard: list[Heard] = []
            for said in await self._inbox.take():
                if isinstance(said, Heard):
                    heard.append(said)
                elif said is _MISSED:
                    self._decoder.tear()
                    heard += await self._looked()
                elif said is _DOUBTED:
                    heard += await self._looked(doubted=True)
                else:
                    heard.append(self._decoder.decode(said))
            if heard:
                await self._listener.heard(heard)
            self._see_to_asides()
            self._batch.set()
            if self._death is not None and not self._inbox:
                return

    def _see_to_asides(self) -> None:
        turn = self._decoder.turn
        if turn is None:
            self._decoder.policies.turn_over()
        if turn and turn.interrupted and turn.begun and turn is not self._aborted:
            self._nursery.start_soon(self._try, self._abort_begun)
        asides, self._decoder.asides = self._decoder.asides, []
        for aside in asides:
            match aside:
                case Allow():
                    allowed = asks.Request(f"/permission/{aside.key}/reply", {"reply": "once"})
                    self._nursery.start_soon(self._try, self._reply, allowed)
                case GiveUp():
                    self._nursery.start_soon(self._try, self._abort_begun)
                case Doubt():
                    self._begin_to_doubt(turn)

    def _begin_to_doubt(self, turn: Turn | None) -> None:
        if turn and turn is not self._doubted:
            self._doubted = turn
            self._nursery.start_soon(self._doubt, turn)

    async def _doubt(self, turn: Turn) -> None:
        """OpenCode has its time to say more; then it is looked at."""
        await anyio.sleep(DOUBT_SECONDS)
        if turn is self._decoder.turn:
            self._inbox.put(_DOUBTED)

    async def _looked(self, *, doubted: bool = False) -> list[Heard]:
        """What OpenCode itself knows of the turn that runs, and what follows from it."""
        server, turn = self._server, self._decoder.turn
        if server is None or turn is None or (doubted and turn is not self._doubted):
            return []
        self._doubted = None
        try:
            found = await look(server.rest, server.router, self, self._decoder.session, turn.since)
        except AgentFailed as failure:
            return self._looked_in_vain(turn, failure)
        self._looks = 0
        drafts = list(self._decoder.catch_up(found.snapshot, doubted=doubted))
        *frames, last = found.frames
        return [*(Heard(frame, ()) for frame in frames), Heard(last, drafts)]

    def _looked_in_vain(self, turn: Turn, failure: AgentFailed) -> list[Heard]:
        """Again and again, until the server is gone or the turn is given up."""
        logger.info("opencode could not be looked at", session=self._launch.session_id, error=failure.detail)
        self._looks += 1
        if self._looks < LOOKS:
            self._begin_to_doubt(turn)
            return []
        self._looks = 0
        drafts = list(self._decoder.refused(failure.detail))
        return [Heard(Frame("from_agent", failure.detail.encode(), "text"), drafts)]

    async def _try(self, tell: Callable[..., Awaitable[object]], *args: object) -> None:
        """What cannot be told has its reason in the server's end, and that is told."""
        try:
            await tell(*args)
        except AgentFailed as failure:
            logger.info("opencode was not told", session=self._launch.session_id, error=failure.detail)

    async def _until(self, met: Callable[[], bool]) -> None:
        """Looks again after each batch that was heard; returns also when there will be none."""
        while not met() and self._death is None:
            self._batch.clear()
            await self._batch.wait()
