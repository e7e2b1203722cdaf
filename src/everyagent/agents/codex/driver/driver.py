"""The conversation with one thread of an app-server: commands go in, messages come out, its end is told once."""

import secrets
from collections.abc import Awaitable, Collection
from pathlib import Path

import anyio
from anyio import to_thread

from everyagent.agents.adapter import Change, Death, Heard, Launch, Listener, Prompt
from everyagent.agents.codex import catalog
from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.decoder import Decoder
from everyagent.agents.codex.decode.rollout import Rollout
from everyagent.agents.codex.driver import attachments, encode
from everyagent.agents.codex.driver.effects import Answered, Halted, Reply, Stopped, Unserved
from everyagent.agents.codex.driver.refusals import Gone, NotRunning, Refused
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.codex.policy import hooks, modes
from everyagent.agents.codex.policy.choices import Choices
from everyagent.agents.codex.policy.pending_hooks import Knocks
from everyagent.agents.codex.policy.policy_hooks import Knock, Ruled
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.exchange import Exchange
from everyagent.agents.codex.protocol.rpc import Said
from everyagent.agents.codex.protocol.wire import ThreadOpened
from everyagent.agents.ending import Ending
from everyagent.agents.hook_server import Gate
from everyagent.agents.inbox import Inbox
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.policies import UNRESTRICTED
from everyagent.runtime.process import KILL_LIMIT
from everyagent.runtime.reaper import Reaper

#: How long a thread may take to be given up; an app-server that does not answer is ended.
PARTING_LIMIT = 3.0
#: How often and how fast a thread is asked for that another process, perhaps on its way out, still holds.
HELD_TRIES = 30
HELD_PAUSE = 0.1
#: How long a compaction, of whose turn Codex does not tell at once, may take to begin.
BEGIN_LIMIT = 5.0
#: To compare what policies want of a thread's configuration, whoever knocks and wherever.
_DOOR = (Path("gate"), "token")
#: A prompt of this word alone is a command, as in Codex itself.
COMPACT = "/compact"

logger = get_logger(__name__)


class CodexConversation:
    """`run` is its own task: the only one that calls the listener. `own_servers` are the user's MCP servers."""

    def __init__(
        self, launch: Launch, listener: Listener, reaper: Reaper, gate: Gate, own_servers: Collection[str]
    ) -> None:
        self._launch = launch
        self._listener = listener
        self._reaper = reaper
        self._mark = secrets.token_hex(8)
        self._mcp = encode.mcp_servers(launch, reaper.marks(self._mark), own_servers)
        self._server: AppServer | None = None
        self._decoder = Decoder(str(launch.directory))
        self._rule()
        self._choices: Choices | None = None
        self._rollout: Rollout | None = None
        self._seed = launch.seed
        self._inbox: Inbox[Said | Knock] = Inbox()
        self._gate = gate
        self._knocks = Knocks(self._decoder, self._inbox.put)
        self._token = gate.admit(self._knocks.wish)
        self._exchange = Exchange(self._decoder.sent, self._inbox.put)
        self._prompting = anyio.Lock()
        self._interrupted: str | None = None
        self._ending = Ending(listener, self._shut)

    # -- as a resident of the app-server ------------------------------------------------------------------------

    def put(self, said: Said | Heard) -> None:
        self._inbox.put(said)

    async def room(self) -> None:
        await self._inbox.room()

    def lose(self, death: Death) -> None:
        self._ending.lose(death)

    def _shut(self) -> None:
        self._exchange.close()
        self._inbox.close()

    # -- commands -----------------------------------------------------------------------------------------------

    async def begin(self, server: AppServer) -> None:
        """Open the thread. Raises `AgentFailed`; a thread that is gone is told as the conversation's death."""
        self._server = server
        self._exchange.open(server, self)
        config = await self._config()
        method, params = encode.open_thread(self._launch, config)
        for _ in range(HELD_TRIES):
            try:
                await self._exchange.request(method, params)
                await self._opened_thread(server)
                return
            except Refused as refusal:
                if self._launch.native_session_id and refusal.gone:
                    self.lose(Death(expected=False, history_lost=True, message=refusal.detail))
                    await self._ending.over()
                    return
                if not refusal.held_elsewhere:
                    raise
            await anyio.sleep(HELD_PAUSE)
        raise AgentFailed(
            "Another process has this session's Codex thread open in the same CODEX_HOME: another daemon, or Codex "
            "itself. Close it there, or give the session a CODEX_HOME of its own, and send the message again."
        )

    async def abandon(self) -> None:
        """It could not be opened: whoever tried is told so by other means than its death."""
        self._ending.unheard = True
        await self.close(force=True)

    async def prompt(self, prompt: Prompt) -> None:
        """An app-server that ends meanwhile tells its own story."""
        async with self._prompting:
            self._interrupted = None
            try:
                if prompt.text.strip() == COMPACT and not prompt.attachments:
                    await self._compact()
                else:
                    await self._start_turn(await self._input(prompt, self._seed), prompt.item_id)
                    self._seed = None
            except Gone:
                return

    async def steer(self, prompt: Prompt) -> None:
        """Where the turn is over by then, or cannot be steered, Codex takes it as a turn of its own."""
        input = await self._input(prompt, None)
        try:
            await self._steer(input)
        except (Refused, NotRunning):
            await self._start_turn(input, prompt.item_id)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        id, ask = self._decoder.asks.pop(ask_key, (None, None))
        if id is None or ask is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        if isinstance(ask, asks.HookAsk) and isinstance(answer, PermissionAnswer):
            self._knocks.answer(ask_key, answer)
            return
        await self._exchange.tell(rpc.result(id, asks.response(ask, answer)))
        if isinstance(answer, PermissionAnswer) and answer.reply == "reject" and answer.message:
            await self._try(self._steer([encode.text(answer.message)]))

    async def interrupt(self) -> None:
        """Once a turn: a second interrupt is never answered, and the first is not waited for either."""
        async with self._prompting:
            turn = self._decoder.turn
            if turn is None or turn == self._interrupted:
                return
            self._interrupted = turn
            await self._exchange.send("turn/interrupt", {**self._thread, "turnId": turn})

    async def interrupt_subagent(self, call: str) -> bool:
        """Its thread is one of the session's, with turns of its own."""
        running = self._decoder.threads.subagents.halt(call)
        if running:
            await self._exchange.send("turn/interrupt", {"threadId": running.thread, "turnId": running.turn})
        return running is not None

    async def change(self, change: Change) -> bool:
        """Everything is given to Codex anew with each turn, but what the thread's configuration says."""
        before, profile = hooks.config(self._launch.policies, *_DOOR), self._profile
        self._launch = change.applied_to(self._launch)
        self._rule()
        return before == hooks.config(self._launch.policies, *_DOOR) and profile == self._profile

    async def close(self, *, force: bool = False) -> None:
        """The thread is given up with all it has running; the app-server stays for the others on it."""
        self._ending.closing = True
        server = self._server
        if server and self._ending.death is None:
            others = [resident for resident in server.residents if resident is not self]
            if others and not await self._part():
                await server.stop(force=True, wedged=True)
            await server.leave(self, force=force)
        self.lose(Death(expected=True))
        await self._ending.over()

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def _native(self) -> modes.Native:
        return modes.native(self._launch.permission_mode, self._launch.agent_mode)

    @property
    def _profile(self) -> dict[str, object]:
        return modes.profile(self._native, self._launch.hosts)

    def _rule(self) -> None:
        self._decoder.accepts_patches = self._native.accepts_patches
        self._decoder.rulings.planning = self._native.plan
        self._decoder.rulings.policies = self._launch.policies

    async def _config(self) -> dict[str, object]:
        """What the thread's configuration adds to the user's."""
        gate = None if self._launch.policies == UNRESTRICTED else await self._gate.open()
        servers: dict[str, object] = {"mcp_servers": self._mcp} if self._mcp else {}
        config = servers | encode.shell(self._launch.env) | self._profile
        return config | hooks.config(self._launch.policies, gate, self._token)

    @property
    def _thread(self) -> dict[str, object]:
        return {"threadId": self._opened.thread.id}

    @property
    def _opened(self) -> ThreadOpened:
        if self._decoder.opened is None:
            raise AgentFailed("Codex has not opened the session's thread.")
        return self._decoder.opened

    async def _opened_thread(self, server: AppServer) -> None:
        if self._launch.policies != UNRESTRICTED:
            await hooks.verify(server, self._opened.thread.id)
        directory = str(self._launch.directory)
        self._choices = Choices(self._launch, self._opened, lambda: catalog.defaults(server, directory))
        path = self._opened.thread.path
        if self._launch.native_session_id and path:
            try:
                self._rollout = await to_thread.run_sync(Rollout, Path(path))
            except OSError as problem:
                self._decoder.unread(str(problem))

    async def _compact(self) -> None:
        begun = self._decoder.turns
        await self._exchange.request("thread/compact/start", self._thread)
        with anyio.move_on_after(BEGIN_LIMIT):
            await self._ending.until(lambda: self._decoder.turns > begun)

    async def _start_turn(self, input: list[dict[str, object]], item_id: str) -> None:
        launch, opened, choices = self._launch, self._opened, self._choices
        assert choices, "the thread is open"
        choice = await choices.of(launch)
        params = encode.start_turn(launch, opened, choice, choices.standing, input, item_id)
        await self._exchange.request("turn/start", params)
        choices.standing = choice

    async def _steer(self, input: list[dict[str, object]]) -> None:
        turn = self._decoder.turn
        if turn is None:
            raise NotRunning("No turn is running that the message could be steered into.")
        params = {**self._thread, "expectedTurnId": turn, "input": input}
        await self._exchange.request("turn/steer", params)

    async def _part(self) -> bool:
        """Stop what this thread has running and let go of it; False if the app-server does not answer."""
        if self._decoder.opened is None:
            return True
        with anyio.move_on_after(PARTING_LIMIT):
            try:
                if self._decoder.turn:
                    await self.interrupt()
                    await self._ending.until(lambda: self._decoder.turn is None)
                await self._exchange.request("thread/backgroundTerminals/clean", self._thread)
                await self._exchange.request("thread/unsubscribe", self._thread)
            except Refused:
                return True
            except AgentFailed:
                return False
            return True
        return False

    async def _input(self, prompt: Prompt, seed: str | None) -> list[dict[str, object]]:
        folder = self._launch.scratch / "attachments" / prompt.item_id
        return await to_thread.run_sync(attachments.content, prompt, seed, folder)

    # -- listening ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        await self._ending.follow(self._listen, self._leave)

    async def _leave(self) -> None:
        """However it ended: nothing of this session may keep the app-server alive, or outlive it."""
        self._gate.dismiss(self._token)
        self._knocks.give_up()
        self._exchange.give_up()
        if self._server and self in self._server.residents:
            await self._server.leave(self, force=True)
        started = any("env" in server for server in self._mcp.values())
        if started and not await self._reaper.kill_spawn(self._mark, limit=KILL_LIMIT):
            logger.error("an MCP server did not end", session=self._launch.session_id)

    async def _listen(self) -> None:
        while True:
            heard: list[Heard] = []
            for said in await self._inbox.take():
                if isinstance(said, Heard):
                    heard.append(said)
                    continue
                if isinstance(said, Knock):
                    heard.append(self._decoder.knocked(said))
                    continue
                if self._rollout and self._decoder.ends_turn(said):
                    heard += await self._refused(self._rollout)
                heard.append(self._decoder.decode(said))
            if heard:
                await self._listener.heard(heard)
            if self._decoder.asides:
                await self._see_to_asides()
            self._ending.heard()
            if self._decoder.closed:
                self.lose(Death(expected=self._decoder.turn is None, message="Codex closed the session's thread."))
            if self._ending.death is not None and not self._inbox:
                return

    async def _refused(self, rollout: Rollout) -> list[Heard]:
        """The calls of a turn that Codex refused without a word to us."""
        try:
            untold = await to_thread.run_sync(rollout.untold, self._decoder.threads.is_told)
        except (OSError, ValueError) as problem:
            self._rollout = None
            self._decoder.unread(str(problem))
            return []
        return [heard for each in untold if (heard := self._decoder.recorded(each)).drafts]

    async def _see_to_asides(self) -> None:
        asides, self._decoder.asides = self._decoder.asides, []
        for aside in asides:
            match aside:
                case Reply():
                    self._exchange.answered(aside)
                    continue
                case Ruled():
                    self._knocks.rule(aside)
                    continue
                case Answered():
                    frame = rpc.result(aside.id, aside.result)
                case Unserved():
                    frame = rpc.refusal(aside.id, aside.method)
                case Stopped():
                    stopped = {"threadId": aside.thread}
                    await self._try(self._exchange.send("thread/backgroundTerminals/clean", stopped))
                    continue
                case Halted():
                    await self._try(self._tell_of(aside))
                    continue
            await self._try(self._exchange.tell(frame))

    async def _tell_of(self, halted: Halted) -> None:
        """Who waits for a sub-agent would wait on; a message ends that."""
        turn = self._decoder.turn_of(halted.parent)
        if turn:
            input = [encode.text(f"The user has stopped the sub-agent {halted.path}. Go on without its answer.")]
            params = {"threadId": halted.parent, "expectedTurnId": turn, "input": input}
            await self._exchange.send("turn/steer", params)

    async def _try(self, telling: Awaitable[object]) -> None:
        """What cannot be told has its reason in the app-server's end, and that is told."""
        try:
            await telling
        except AgentFailed as failure:
            logger.info("codex was not told", session=self._launch.session_id, error=failure.detail)
