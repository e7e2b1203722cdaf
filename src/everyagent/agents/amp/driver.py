"""Drives Amp: one process at a time, and a new one on the same thread after every failed or cancelled turn.

Amp's process ends with each such turn. That is not reported as a death: the next prompt starts another process.
"""

from collections.abc import Awaitable, Callable

import anyio
from anyio import to_thread
from msgspec import UNSET, UnsetType

from everyagent.agents import attached_files
from everyagent.agents.adapter import Change, Death, DecodedFrame, Launch, Listener, Prompt
from everyagent.agents.amp import attachments, encode, modes
from everyagent.agents.amp import launch as launching
from everyagent.agents.amp.always import AlwaysAllowed
from everyagent.agents.amp.asks import AmpAsks
from everyagent.agents.amp.results import AmpCall
from everyagent.agents.amp.run import AmpProcess
from everyagent.agents.hook_server import HookServer
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.runtime.process import Process

_LEFT = "The turn in which this was asked has ended."
_GONE = "Amp is not running, so it did not get this. Send a message to start it again."


class AmpConversation:
    """A running session of Amp. `start` starts a process on its thread, or on a new one, as a task of `tasks`."""

    def __init__(
        self,
        launch: Launch,
        listener: Listener,
        tasks: TaskSupervisor,
        hook_server: HookServer,
        start: "Callable[[AmpConversation], Awaitable[Process]]",
    ) -> None:
        self.thread = launch.native_session_id
        self._launch = launch
        self._listener = listener
        self._tasks = tasks
        self._hook_server = hook_server
        self._start = start
        self._preface = [] if self.thread else [words for words in (launch.system_prompt, launch.seed) if words]
        self._permission_mode, self._agent_mode = launch.permission_mode, launch.agent_mode
        self._asks = AmpAsks(
            launch.directory,
            AlwaysAllowed(launching.folder_of(launch) / "always.json"),
            modes.effective(launch.permission_mode, launch.agent_mode),
            launch.policies,
            find=self._find,
            note=self._note,
        )
        self.token = hook_server.admit(self._asks.decide_call, self._failed, token=launch.hook_token)
        self._started_under = launch.policies
        self._run: AmpProcess | None = None
        self._running = anyio.Lock()
        self._closing = False
        self._death_reported = False
        self._turns_ended = 0

    @property
    def mode(self) -> str:
        return self._asks.mode

    @property
    def policies(self) -> ToolPolicies:
        return self._asks.policies

    async def begin(self) -> None:
        """Start the first process. If that fails, no death is reported."""
        try:
            await self._ready()
        except BaseException:
            self._hook_server.dismiss(self.token)
            raise

    # -- commands -----------------------------------------------------------------------------------------------------

    async def prompt(self, prompt: Prompt) -> None:
        run = await self._ready()
        await self._say(run, await self._content(prompt, self._preface), steer=False)
        self._preface = []

    async def steer(self, prompt: Prompt) -> None:
        run = self._run
        if run is None or not run.listens:
            raise AgentFailed(_GONE)
        await self._say(run, await self._content(prompt, []), steer=True)

    async def answer(self, ask_key: str, answer: Answer) -> None:
        if not isinstance(answer, PermissionAnswer):
            raise AgentFailed("Amp asks only for permissions, and this is another kind of answer. It was not sent.")
        self._asks.answer(ask_key, answer)

    async def interrupt_subagent(self, call: str) -> bool:
        """Amp cannot stop a single sub-agent."""
        return False

    async def interrupt(self) -> None:
        """Amp's process ends with the turn, after it has stopped its tools."""
        run = self._run
        if run and run.listens:
            run.lines.process.interrupt()

    async def change(self, change: Change) -> bool:
        """Modes and policies are enforced by the daemon, so they apply at once.

        False if the process was started without asking about reads, or untrusted settings have not been looked for.
        """
        if change.permission_mode is not UNSET:
            self._permission_mode = change.permission_mode
        if change.agent_mode is not UNSET:
            self._agent_mode = change.agent_mode
        before, self._asks.mode = self._asks.mode, modes.effective(self._permission_mode, self._agent_mode)
        looked = before != modes.BYPASS or self._asks.mode == modes.BYPASS
        return self._may_keep(change.policies) and looked and change.variant is UNSET

    async def close(self, *, force: bool = False) -> None:
        self._closing = True
        async with self._running:
            run = self._run
        if run:
            await run.lines.close(force=force)
        await self._report_death(Death(expected=True))

    def _may_keep(self, policies: ToolPolicies | UnsetType) -> bool:
        if policies is UNSET:
            return True
        self._asks.policies = policies
        before = self._started_under
        return before.own_tools == policies.own_tools and (policies == UNRESTRICTED or before != UNRESTRICTED)

    # -- processes ----------------------------------------------------------------------------------------------------

    async def _ready(self) -> AmpProcess:
        """A process that takes prompts: the current one, else a new one."""
        async with self._running:
            if self._run and self._run.listens:
                return self._run
            if self._run:
                await self._run.gone()
            if self._closing or self._death_reported:
                raise AgentFailed(_GONE)
            self._started_under = self.policies
            process = await self._start(self)
            self._run = run = AmpProcess(process, self._listener.received, self._over, self._after)
            self._turns_ended = 0
            self._tasks.start_soon(run.lines.run)
            return run

    async def _failed(self, fault: Exception) -> None:
        """A permission could not be decided because of an internal error: the agent is ended."""
        if self._run:
            await self._run.lines.fail(fault)

    async def _over(self, run: AmpProcess, death: Death) -> None:
        self.thread = run.decoder.thread or self.thread
        self._asks.give_up(_LEFT)
        if not run.decoder.finished or death.expected or run.lines.fault:
            await self._report_death(death)

    async def _report_death(self, death: Death) -> None:
        if not self._death_reported:
            self._death_reported = True
            self._hook_server.dismiss(self.token)
            self._asks.give_up(_LEFT)
            await self._listener.died(death)

    def _after(self) -> None:
        """Reject what was asked in a turn that has ended, also if the next one has begun since."""
        if self._run and self._run.decoder.turns_ended != self._turns_ended:
            self._turns_ended = self._run.decoder.turns_ended
            self._asks.give_up(_LEFT)

    # -- words --------------------------------------------------------------------------------------------------------

    async def _say(self, run: AmpProcess, content: list[dict[str, object]], *, steer: bool) -> None:
        words = [str(block["text"]) for block in content if block["type"] == "text"]
        run.decoder.prompted(words)
        await run.lines.send_or_die(encode.prompt(content, steer=steer))

    async def _content(self, prompt: Prompt, preface: list[str]) -> list[dict[str, object]]:
        folder = attached_files.folder_of(prompt, self._launch)
        if prompt.attachments:
            prompt = await to_thread.run_sync(attached_files.reachable, prompt, self._launch)
            return await to_thread.run_sync(attachments.content, prompt, preface, folder)
        return attachments.content(prompt, preface, folder)

    def _find(self, tool: str, input: object) -> AmpCall | None:
        return self._run.decoder.call_for(tool, input) if self._run else None

    def _note(self, decoded: DecodedFrame) -> None:
        if self._run:
            self._run.lines.note(decoded)
