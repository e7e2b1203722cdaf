"""The steps of `everyagent agents check` after the first session: what an agent must not do, and what it must survive.

Each step has a session of its own. Used by `agent_check.py`.
"""

import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import TypeAlias

import anyio
from anyio import to_thread
from msgspec import Struct

from everyagent.cli.output import one_line
from everyagent.cli.progress import waiting
from everyagent.client import ApiError, AsyncClient
from everyagent.client.calls.agents import AgentSummary
from everyagent.client.turn import Answer, Ask, Turn
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer
from everyagent.model.events import Error, PermissionRequested, QuestionRequested
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.tools import CustomTool
from everyagent.runtime import process_tree

#: The time that each step may take, and the time in which the processes of a session must end.
STEP_LIMIT = 180.0
END_LIMIT = 30.0
#: A variable of the check's sessions, by which it finds their processes.
_MARKER = "EVERYAGENT_CHECK"
_WORD = "harbour-lantern"
_TOOL = CustomTool(name="secret_word", description="Returns the secret word.")


Answering: TypeAlias = Callable[[Ask], Awaitable[Answer]]


class CheckPrompts(Struct, frozen=True):
    """The prompts of a check; `command` runs a command that writes `file`. None: the agent cannot be asked for it.

    The answer to `recall` has the text `recalled` if the agent knows the first turn.
    """

    file: str
    command: str
    recall: str
    recalled: str
    long: str
    tool: str | None = None


class Coverage(Struct, frozen=True):
    """One line of the report. `seen` is None if it was not seen, and `absent` says what that means."""

    what: str
    seen: bool | None
    detail: str = ""
    absent: str = "not seen"

    @property
    def state(self) -> str:
        return {True: "passed", False: "FAILED", None: self.absent}[self.seen]


def not_offered(what: str, detail: str) -> Coverage:
    return Coverage(what, None, detail, absent="not offered")


class Conformance:
    """Runs the steps in empty folders below `folder`."""

    def __init__(self, client: AsyncClient, agent: AgentSummary, prompts: CheckPrompts, folder: Path) -> None:
        self._client = client
        self._agent = agent
        self._prompts = prompts
        self._folder = folder

    async def run(self) -> list[Coverage]:
        ended = ("a session goes on after its agent ended", signal.SIGTERM)
        killed = ("a session goes on after its agent was killed", signal.SIGKILL)
        return [
            await self._rejected(),
            await self._denied(),
            await self._tool(),
            *await self._resumed(*ended),
            *await self._resumed(*killed),
        ]

    # -- steps ------------------------------------------------------------------------------------------------------

    async def _rejected(self) -> Coverage:
        what = "a rejected call does not run"
        asked: list[Ask] = []

        async def reject(ask: Ask) -> Answer:
            asked.append(ask)
            return await refuse(ask)

        async with self._session("rejected") as (session, folder, _):
            await self._turn("A call that is rejected", session, self._prompts.command, reject)
            made = (folder / self._prompts.file).exists()
        if not any(isinstance(ask, PermissionRequested) for ask in asked):
            return not_offered(what, "it asked for no permission" + (" and ran the command" if made else ""))
        return Coverage(what, not made, "it ran all the same" if made else "")

    async def _denied(self) -> Coverage:
        what = "tool policies hold"
        policies = ToolPolicies(tools={"bash": "deny"})
        try:
            async with self._session("denied", policies=policies) as (session, folder, _):
                await self._turn("A tool that is denied", session, self._prompts.command)
                made = (folder / self._prompts.file).exists()
        except ApiError as refusal:
            return not_offered(what, one_line(refusal.detail, 80))
        return Coverage(what, not made, "a denied command ran" if made else "")

    async def _tool(self) -> Coverage:
        what = "tools of an MCP server"
        prompt = self._prompts.tool
        if prompt is None or not self._agent.capabilities.get("customTools"):
            return not_offered(what, "")
        called: list[Ask] = []

        async def serve(ask: Ask) -> Answer:
            if isinstance(ask, PermissionRequested | QuestionRequested):
                return await agree(ask)
            called.append(ask)
            return ToolAnswer(output=_WORD)

        async with self._session("tool", tools=[_TOOL]) as (session, _, _):
            turn = await self._turn("A tool of an MCP server", session, prompt, serve)
        return Coverage(what, bool(called) and _WORD in turn.text, one_line(turn.text, 60))

    async def _resumed(self, what: str, how: signal.Signals) -> list[Coverage]:
        async with self._session(how.name.lower()) as (session, _, mark):
            await self._turn("A turn before its agent ends", session, self._prompts.command)
            if not await to_thread.run_sync(_signal, mark, how):
                return [not_offered(what, "its processes cannot be signalled from here")]
            with anyio.fail_after(STEP_LIMIT):
                while (await self._client.session(session)).status == "idle":
                    await anyio.sleep(0.1)
            recall = await self._turn("A turn after its agent ended", session, self._prompts.recall)
            found = Coverage(what, self._prompts.recalled in recall.text, one_line(recall.text, 60))
            native = "its own history is loaded" + what.removeprefix("a session goes on")
            lost = [each async for each in self._client.events(session, follow=False) if _lost_history(each.data)]
            loaded = not_offered(native, "everyagent's log went on instead") if lost else Coverage(native, True)
            await self._client.terminate(session)
            left = await _left(mark)
        return [found, loaded, Coverage(f"no process is left ({how.name})", not left, f"{left} run" if left else "")]

    # -- sessions ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _session(
        self, name: str, *, policies: ToolPolicies = UNRESTRICTED, tools: Sequence[CustomTool] = ()
    ) -> AsyncGenerator[tuple[str, Path, str]]:
        """The session's id, its folder, and the mark of its processes."""
        folder, mark = self._folder / name, token_hex(8)
        folder.mkdir()
        env = {_MARKER: mark}
        created = await self._client.create(
            agent=self._agent.id, directory=str(folder), env=env, tool_policies=policies, tools=tools
        )
        try:
            yield created.session_id, folder, mark
        finally:
            await self._client.terminate(created.session_id)

    async def _turn(self, title: str, session: str, prompt: str, answer: Answering | None = None) -> Turn:
        with waiting(title), anyio.fail_after(STEP_LIMIT):
            return await self._client.run_turn(session, prompt, answer=answer or agree)


async def agree(ask: Ask) -> Answer:
    match ask:
        case PermissionRequested():
            return PermissionAnswer(reply="once")
        case QuestionRequested():
            return QuestionAnswer(
                answers=[[each.options[0].label if each.options else "yes"] for each in ask.questions]
            )
        case _:
            return ToolAnswer(output=None)


async def refuse(ask: Ask) -> Answer:
    match ask:
        case PermissionRequested():
            return PermissionAnswer(reply="reject")
        case QuestionRequested():
            return QuestionAnswer(answers=None)
        case _:
            return ToolAnswer(output=None)


def _lost_history(data: object) -> bool:
    return isinstance(data, Error) and bool((data.details or {}).get("history_lost"))


def _marked(mark: str) -> set[process_tree.ProcessEntry]:
    return process_tree.members(process_tree.snapshot(_MARKER), mark)


def _signal(mark: str, how: signal.Signals) -> bool:
    """Whether any process was signalled: those of another user or another machine cannot be."""
    reached = False
    for entry in _marked(mark):
        try:
            os.kill(entry.pid, how)
            reached = True
        except (ProcessLookupError, PermissionError):
            continue
    return reached


async def _left(mark: str) -> int:
    with anyio.move_on_after(END_LIMIT):
        while await to_thread.run_sync(_marked, mark):
            await anyio.sleep(0.1)
    return len(await to_thread.run_sync(_marked, mark))
