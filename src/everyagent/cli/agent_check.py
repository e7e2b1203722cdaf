"""`everyagent agents check`: runs a real session of an agent, checks the order rules, and reports what it covers."""

import tempfile
from contextlib import aclosing
from pathlib import Path

import anyio

from everyagent.cli.agent_conformance import (
    STEP_LIMIT,
    CheckPrompts,
    Conformance,
    Coverage,
    agree,
    not_offered,
)
from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import one_line
from everyagent.cli.progress import waiting
from everyagent.client import AsyncClient
from everyagent.client.event_codec import AnyEvent
from everyagent.model.events import (
    Error,
    ItemCompleted,
    ItemDelta,
    ModelResponded,
    PermissionRequested,
    QuestionRequested,
    TurnEnded,
    Unparsed,
)
from everyagent.model.parts import FileRefPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from everyagent.testing import rules

_FILE = "everyagent-check.txt"
_PROMPTS = CheckPrompts(
    file=_FILE,
    command=f"Run a shell command that writes the word ready into the file {_FILE} in this folder. If you may not, do "
    "not try it in another way. Then say that it is done.",
    recall="What is the name of the file that you wrote? Answer with the name alone.",
    recalled=_FILE,
    long="Count from 1 to 1000, one number a line, without any tool.",
    tool="Call the tool secret_word of the MCP server everyagent, and answer with the word that it returns.",
)
#: The mock has no model: it is given directives.
_MOCK_PROMPTS = CheckPrompts(
    file=_FILE,
    command=f'[ask command="echo ready | tee {_FILE}"]',
    recall="[whoami]",
    recalled="turn: 2",
    long="[slow]",
)


async def check(options: DaemonOptions, agent: str) -> list[Coverage]:
    """Run sessions of the agent in empty folders. It needs the agent's login, and spends some requests."""
    prompts = _MOCK_PROMPTS if agent == "mock" else _PROMPTS
    with tempfile.TemporaryDirectory(prefix="everyagent-check-") as folder:
        async with connect_without_sessions(options) as connection:
            client = connection.client
            known = next((each for each in await client.agents() if each.id == agent), None)
            if known is None:
                raise CliFailure(f"There is no agent {agent!r}.", ExitCode.NOT_FOUND)
            first = Path(folder) / "first"
            first.mkdir()
            session = (await client.create(agent=agent, directory=str(first))).session_id
            try:
                report = await _checked(client, session, prompts, first)
            finally:
                await client.terminate(session)
            if report[0].seen:
                report += await Conformance(client, known, prompts, Path(folder)).run()
            return report


async def _checked(client: AsyncClient, session: str, prompts: CheckPrompts, folder: Path) -> list[Coverage]:
    with waiting("A turn with a command"), anyio.fail_after(STEP_LIMIT):
        work = await client.run_turn(session, prompts.command, answer=agree)
    if work.stop_reason == "error":
        return [Coverage("a turn ends", False, work.error or ""), *await _events(client, session)]
    with waiting("A second turn"), anyio.fail_after(STEP_LIMIT):
        recall = await client.run_turn(session, prompts.recall, answer=agree)
    stopped = await _stopped(client, session, prompts.long)
    return [
        Coverage("a turn ends", True, work.stop_reason),
        Coverage("its work is done", (folder / _FILE).exists(), _FILE),
        Coverage("a second turn knows the first", prompts.recalled in recall.text, one_line(recall.text, 60)),
        Coverage("a cancelled turn ends", stopped == "interrupted", stopped or "it ended by itself"),
        *await _events(client, session),
        await _client_methods(client, session),
    ]


async def _client_methods(client: AsyncClient, session: str) -> Coverage:
    """Whether an agent over ACP used files or terminals of the daemon. The first frames show it."""
    page = await client.frames(session, limit=1000)
    used: set[str] = set()
    for frame in page.frames:
        method = frame.body.get("method") if isinstance(frame.body, dict) else None
        if isinstance(method, str) and method.startswith(("fs/", "terminal/")):
            used.add(method)
    what = "files and terminals of the daemon"
    return Coverage(what, True, ", ".join(sorted(used))[:80]) if used else not_offered(what, "it did not use them")


async def _stopped(client: AsyncClient, session: str, long: str) -> str:
    """The reason with which a turn ends that is cancelled at its first event."""
    reason = ""
    with waiting("A turn that is cancelled"), anyio.fail_after(STEP_LIMIT):
        async with aclosing(client.stream_turn(session, long)) as stream:
            cancelled = False
            async for event in stream:
                if isinstance(event.data, ItemDelta) and not cancelled and event.source == "agent":
                    cancelled = True
                    await client.cancel(session)
                if isinstance(event.data, TurnEnded):
                    reason = event.data.stop_reason
    return reason


async def _events(client: AsyncClient, session: str) -> list[Coverage]:
    events: list[AnyEvent] = []
    async with aclosing(client.events(session, follow=False)) as stored:
        async for event in stored:
            events.append(event)
    data = [event.data for event in events if event.source == "agent"]
    parts = [part for each in data if isinstance(each, ItemCompleted) for part in each.item.content]
    ended = [each for each in data if isinstance(each, TurnEnded)]
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    unknown = [each.error for each in (event.data for event in events) if isinstance(each, Unparsed)]
    unknown += [
        f"unknown item {each.item.name!r}"
        for each in data
        if isinstance(each, ItemCompleted) and each.item.kind == "unknown"
    ]
    case = f"; everyagent sessions export {session} --format case" if unknown else ""
    violations = [str(each) for each in rules.check(events)]
    return [
        Coverage("the order rules hold", not violations, "; ".join(violations)[:200]),
        Coverage("messages", any(isinstance(part, TextPart) for part in parts)),
        Coverage("deltas", any(isinstance(each, ItemDelta) for each in data)),
        Coverage("reasoning", any(isinstance(part, ReasoningPart) for part in parts) or None),
        Coverage("tool calls", any(isinstance(part, ToolCallPart) for part in parts)),
        Coverage("tool results", bool(results)),
        Coverage("output of commands", any(part.output for part in results) or None),
        Coverage("exit codes", any(part.exit_code is not None for part in results) or None),
        Coverage("files and diffs", any(isinstance(part, FileRefPart) for part in parts) or None),
        Coverage("permissions", any(isinstance(each, PermissionRequested) for each in data) or None),
        Coverage("questions", any(isinstance(each, QuestionRequested) for each in data) or None),
        Coverage("usage of turns", any(each.usage for each in ended) or None),
        Coverage("usage of requests", any(isinstance(each, ModelResponded) for each in data) or None),
        Coverage("cost", any(each.cost_usd for each in ended) or None),
        Coverage("no errors", not any(isinstance(each, Error) for each in data)),
        Coverage("no unknown frames", not unknown, "; ".join(dict.fromkeys(unknown))[:200] + case),
    ]
