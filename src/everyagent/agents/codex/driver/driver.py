"""The conversation with one thread of an app-server: commands become requests, messages become drafts."""

import secrets
from collections.abc import Collection, Sequence
from pathlib import Path

import anyio
from anyio import to_thread
from msgspec import UNSET

from everyagent.agents import attached_files
from everyagent.agents.adapter import Change, Death, DecodedFrame, Launch, Listener, Prompt
from everyagent.agents.codex import catalog
from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.decode.effects import (
    ImmediateAnswer,
    RpcReply,
    SubagentHalted,
    TurnStopped,
    UnservedRequest,
)
from everyagent.agents.codex.decode.rollout import Rollout
from everyagent.agents.codex.decode.tools import SHELL
from everyagent.agents.codex.driver import attachments, encode
from everyagent.agents.codex.driver.exchange import RpcExchange
from everyagent.agents.codex.driver.login import require_login
from everyagent.agents.codex.driver.server import AppServer, CodexMessage
from everyagent.agents.codex.policy import hooks, modes
from everyagent.agents.codex.policy.choices import TurnChoices
from everyagent.agents.codex.policy.pending_hooks import PendingHooks
from everyagent.agents.codex.policy.policies import own_verdict
from everyagent.agents.codex.policy.policy_hooks import HookDecision, PendingHook
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.codex.protocol.refusals import CodexRefused, NotRunning
from everyagent.agents.codex.protocol.wire_responses import ThreadOpened
from everyagent.agents.hook_server import HookServer, write_token
from everyagent.agents.line_conversation import DEATH_LIMIT
from everyagent.agents.shared_conversation import COMPACT, PARTING_LIMIT, SharedConversation
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.policies import UNRESTRICTED
from everyagent.runtime.process import KILL_LIMIT
from everyagent.runtime.reaper import Reaper

#: Number and pause of attempts to open a thread that another process, perhaps a terminating one, still holds.
HELD_TRIES = 30
HELD_PAUSE = 0.1
#: How long the turn of a compaction may take to begin: Codex announces it after its answer.
BEGIN_LIMIT = 5.0
#: Stands for any hook server, to compare what policies need in a thread's configuration.
_ANY_HOOK_SERVER = (Path("hook"), Path("token"))

logger = get_logger(__name__)


class CodexConversation(SharedConversation[CodexMessage]):
    """`own_servers` are the user's MCP servers. With `check_login`, nobody knows of a login of Codex."""

    title = "Codex"

    def __init__(
        self,
        launch: Launch,
        listener: Listener,
        tasks: TaskSupervisor,
        reaper: Reaper,
        hook_server: HookServer,
        own_servers: Collection[str],
        *,
        check_login: bool = False,
    ) -> None:
        super().__init__(launch, listener, tasks)
        self._reaper = reaper
        self._mark = secrets.token_hex(8)
        self._mcp = encode.mcp_servers(launch, reaper.marks(self._mark), own_servers)
        self._server: AppServer | None = None
        self._check_login = check_login
        self._decoder = CodexDecoder(self.directory)
        self._apply_policies()
        self._choices: TurnChoices | None = None
        self._rollout: Rollout | None = None
        self._seed = launch.seed
        self._hook_server = hook_server
        self._hooks = PendingHooks(self._decoder, self.put)
        self._token = hook_server.admit(self._hooks.decide, self.fail, token=launch.hook_token)
        self._token_file: Path | None = None
        self._exchange = RpcExchange(self._decoder.sent, self.put)
        self._prompting = anyio.Lock()
        self._interrupted: str | None = None

    @property
    def _shared(self) -> AppServer | None:
        return self._server

    def join(self, server: AppServer) -> None:
        self._server = server
        self._exchange.open(server, self)
        server.join(self)

    def lose(self, death: Death) -> None:
        super().lose(death)
        self._exchange.close()

    # -- commands -----------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Open the thread. Raises `AgentFailed`; a thread that no longer exists is the conversation's death."""
        if self._check_login and self._server:
            await require_login(self._server)
        method, params = encode.open_thread(self._launch, await self._config())
        for _ in range(HELD_TRIES):
            try:
                await self._exchange.request(method, params)
                await self._opened_thread()
                if self._launch.native_session_id and self._launch.system_message:
                    await self._instruct(self._launch.system_message)
                return
            except CodexRefused as refusal:
                if self._launch.native_session_id and refusal.gone:
                    self.lose(Death(expected=False, history_lost=True, message=refusal.detail))
                    await self._ended()
                    return
                if not refusal.held_elsewhere:
                    raise
            await anyio.sleep(HELD_PAUSE)
        raise AgentFailed(
            "Another process has this session's Codex thread open in the same CODEX_HOME: another daemon, or Codex "
            "itself. Close it there, or give the session a CODEX_HOME of its own, and send the message again."
        )

    async def prompt(self, prompt: Prompt) -> None:
        """If the app-server ends during this, the conversation's death is reported, not a failure of the prompt."""
        async with self._prompting:
            self._interrupted = None
            try:
                if prompt.text.strip() == COMPACT and not prompt.attachments:
                    await self._compact()
                else:
                    await self._start_turn(await self._input(prompt, self._seed), prompt)
                    self._seed = None
            except CodexRefused:
                raise
            except AgentFailed:
                server = self._server
                with anyio.move_on_after(DEATH_LIMIT):  # it may have closed its input because it ends
                    if server and self._death is None:
                        await server.over.wait()
                if server and server.open and self._death is None:
                    raise

    async def steer(self, prompt: Prompt) -> None:
        """If the turn is over by then, or cannot be steered, the message starts a new turn."""
        input = await self._input(prompt, None)
        try:
            await self._steer(input)
        except (CodexRefused, NotRunning):
            await self._start_turn(input, prompt)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        open = self._decoder.asks.take(ask_key)
        if open is None:
            raise AgentFailed("The agent no longer waits for this answer.")
        id, ask = open
        if isinstance(ask, asks.HookAsk) and isinstance(answer, PermissionAnswer):
            self._hooks.answer(ask_key, answer)
            return
        await self._exchange.write(rpc.result(id, asks.response(ask, answer)))
        if isinstance(answer, PermissionAnswer) and answer.reply == "reject" and answer.message:
            await self._try(self._steer([encode.text(answer.message)]))

    async def interrupt(self) -> None:
        """Once a turn: Codex never answers a second interrupt."""
        async with self._prompting:
            turn = self._decoder.turn
            if turn is None or turn == self._interrupted:
                return
            self._interrupted = turn
            await self._exchange.send("turn/interrupt", {**self._thread, "turnId": turn})

    async def interrupt_subagent(self, call: str) -> bool:
        """Interrupts the turn on the sub-agent's own thread."""
        running = self._decoder.threads.subagents.halt(call)
        if running:
            await self._exchange.send("turn/interrupt", {"threadId": running.thread, "turnId": running.turn})
        return running is not None

    async def change(self, change: Change) -> bool:
        """Every turn sends all settings again, except the thread's configuration."""
        before, profile = hooks.config(self._launch.policies, *_ANY_HOOK_SERVER), self._profile
        self._launch = change.applied_to(self._launch)
        self._apply_policies()
        if change.system_message is not UNSET:
            await self._instruct(change.system_message)
        return before == hooks.config(self._launch.policies, *_ANY_HOOK_SERVER) and profile == self._profile

    # -- requests -----------------------------------------------------------------------------------------------

    @property
    def _mode(self) -> modes.CodexMode:
        return modes.native(self._launch.permission_mode, self._launch.agent_mode)

    @property
    def _profile(self) -> dict[str, object]:
        return modes.profile(self._mode, self._launch.hosts)

    def _apply_policies(self) -> None:
        self._decoder.asks.accepts_patches = self._mode.accepts_patches
        self._decoder.policy_hooks.planning = self._mode.plan
        self._decoder.policy_hooks.policies = self._launch.policies
        self._decoder.threads.commands_ask = own_verdict(self._launch.policies, SHELL) == "ask"

    async def _config(self) -> dict[str, object]:
        """The thread's configuration, in addition to the user's."""
        servers: dict[str, object] = {"mcp_servers": self._mcp} if self._mcp else {}
        config = servers | encode.shell(self._launch.env) | self._profile
        if self._launch.policies == UNRESTRICTED:
            return config
        if self._token_file is None:
            self._token_file = await to_thread.run_sync(write_token, self._launch.scratch, self._token)
        return config | hooks.config(self._launch.policies, await self._hook_server.open(), self._token_file)

    @property
    def _thread(self) -> dict[str, object]:
        return {"threadId": self._opened.thread.id}

    @property
    def _opened(self) -> ThreadOpened:
        if self._decoder.opened is None:
            raise AgentFailed("Codex has not opened the session's thread.")
        return self._decoder.opened

    async def _opened_thread(self) -> None:
        server, directory = self._server, self.directory
        assert server, "the server was joined"
        if self._launch.policies != UNRESTRICTED:
            await hooks.verify(server, self._opened.thread.id)
        self._choices = TurnChoices(self._launch, self._opened, lambda: catalog.defaults(server, directory))
        path = self._opened.thread.path
        if self._launch.native_session_id and path:
            try:
                self._rollout = await to_thread.run_sync(Rollout, Path(path))
            except OSError as problem:
                self._decoder.unread(str(problem))

    async def _instruct(self, text: str) -> None:
        """A developer message in the history: a thread that runs or is resumed keeps its `developerInstructions`."""
        await self._exchange.request("thread/inject_items", {**self._thread, "items": [encode.developer(text)]})

    async def _compact(self) -> None:
        begun = self._decoder.turns
        await self._exchange.request("thread/compact/start", self._thread)
        with anyio.move_on_after(BEGIN_LIMIT):
            await self._until(lambda: self._decoder.turns > begun)

    async def _start_turn(self, input: list[dict[str, object]], prompt: Prompt) -> None:
        launch, opened, choices = self._launch, self._opened, self._choices
        assert choices, "the thread is open"
        choice = await choices.of(launch)
        params = encode.start_turn(launch, opened, choice, choices.standing, input, prompt.item_id)
        await self._exchange.request("turn/start", params, prompt.traceparent)
        choices.standing = choice

    async def _steer(self, input: list[dict[str, object]]) -> None:
        turn = self._decoder.turn
        if turn is None:
            raise NotRunning("No turn is running that the message could be steered into.")
        await self._exchange.request("turn/steer", {**self._thread, "expectedTurnId": turn, "input": input})

    async def _input(self, prompt: Prompt, seed: str | None) -> list[dict[str, object]]:
        folder = attached_files.folder_of(prompt, self._launch)
        prompt = await to_thread.run_sync(attached_files.reachable, prompt, self._launch)
        return await to_thread.run_sync(attachments.content, prompt, seed, folder)

    # -- the end ------------------------------------------------------------------------------------------------

    async def _part(self) -> bool:
        if self._decoder.opened is None:
            return True
        with anyio.move_on_after(PARTING_LIMIT):
            try:
                if self._decoder.turn:
                    await self.interrupt()
                    await self._until(lambda: self._decoder.turn is None)
                await self._exchange.request("thread/backgroundTerminals/clean", self._thread)
                await self._exchange.request("thread/unsubscribe", self._thread)
            except CodexRefused:
                return True
            except AgentFailed:
                return False
            return True
        return False

    async def _halt(self) -> None:
        if self._server is None or self._decoder.opened is None:
            return
        if self._decoder.turn:
            params = {**self._thread, "turnId": self._decoder.turn}
            await self._server.write(rpc.request(self._server.request_id(self), "turn/interrupt", params))
        await self._server.request("thread/backgroundTerminals/clean", self._thread)
        await self._server.request("thread/unsubscribe", self._thread)

    async def _release(self) -> None:
        self._hook_server.dismiss(self._token)
        if self._token_file is not None:
            self._token_file.unlink(missing_ok=True)
        self._hooks.give_up()
        self._exchange.give_up()
        started = any("env" in server for server in self._mcp.values())
        if started and not await self._reaper.kill_spawn(self._mark, limit=KILL_LIMIT):
            logger.error("an MCP server did not end", session=self._launch.session_id)

    # -- messages -----------------------------------------------------------------------------------------------

    async def _decode(self, batch: Sequence[CodexMessage | DecodedFrame]) -> list[DecodedFrame]:
        decoded: list[DecodedFrame] = []
        for message in batch:
            if isinstance(message, DecodedFrame):
                decoded.append(message)
            elif isinstance(message, PendingHook):
                decoded.append(self._decoder.hook_called(message))
            else:
                if self._rollout and self._decoder.ends_turn(message):
                    decoded += await self._refused_calls(self._rollout)
                decoded.append(self._decoder.decode(message))
        return decoded

    async def _refused_calls(self, rollout: Rollout) -> list[DecodedFrame]:
        """The calls of a turn that Codex refused without a message."""
        try:
            rows = await to_thread.run_sync(rollout.calls_without_item, self._decoder.threads.has_item)
        except (OSError, ValueError) as problem:
            self._rollout = None
            self._decoder.unread(str(problem))
            return []
        return [decoded for each in rows if (decoded := self._decoder.recorded(each)).drafts]

    async def _carry_out(self) -> None:
        for effect in self._decoder.take_effects():
            match effect:
                case RpcReply():
                    self._exchange.answered(effect)
                case HookDecision():
                    self._hooks.resolve(effect)
                case ImmediateAnswer():
                    await self._try(self._exchange.write(rpc.result(effect.id, effect.result)))
                case UnservedRequest():
                    await self._try(self._exchange.write(rpc.refusal(effect.id, effect.method)))
                case TurnStopped():
                    stopped = {"threadId": effect.thread}
                    await self._try(self._exchange.send("thread/backgroundTerminals/clean", stopped))
                case SubagentHalted():
                    await self._try(self._report_halt(effect))
        if self._decoder.closed:
            self.lose(Death(expected=self._decoder.turn is None, message="Codex closed the session's thread."))

    async def _report_halt(self, halted: SubagentHalted) -> None:
        """A message to the parent, which would wait for the sub-agent for ever."""
        turn = self._decoder.turn_of(halted.parent)
        if turn:
            input = [encode.text(f"The user has stopped the sub-agent {halted.path}. Go on without its answer.")]
            params = {"threadId": halted.parent, "expectedTurnId": turn, "input": input}
            await self._exchange.send("turn/steer", params)
