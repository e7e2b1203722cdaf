"""`everyagent agents check`: runs a real session of an agent, checks the order rules, and reports what it covers."""

import tempfile
from contextlib import aclosing
from pathlib import Path

import anyio
from msgspec import Struct

from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DaemonOptions
from everyagent.cli.output import one_line
from everyagent.cli.progress import waiting
from everyagent.client import AsyncClient
from everyagent.client.event_codec import AnyEvent
from everyagent.client.turn import Answer, Ask
from everyagent.model.asks import PermissionAnswer, QuestionAnswer, ToolAnswer
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
#: The time that each step may take.
STEP_LIMIT = 180.0


class CheckPrompts(Struct, frozen=True):
    """The prompts of a check. The answer to `recall` has the text `recalled` if the agent knows the first turn."""

    work: str
    recall: str
    recalled: str
    long: str


_PROMPTS = CheckPrompts(
    f"Run a shell command that writes the word ready into the file {_FILE} in this folder. Then say that it is done.",
    "What is the name of the file that you wrote? Answer with the name alone.",
    _FILE,
    "Count from 1 to 1000, one number a line, without any tool.",
)
#: The mock has no model: it is given directives.
_MOCK_PROMPTS = CheckPrompts(f'[ask command="echo ready | tee {_FILE}"]', "[whoami]", "turn: 2", "[slow]")


class Coverage(Struct, frozen=True):
    """One line of the report. `seen` is None where it depends on the model or the prompt, and was not seen."""

    what: str
    seen: bool | None
    detail: str = ""


async def check(options: DaemonOptions, agent: str) -> list[Coverage]:
    """Run a session of the agent in an empty folder. It needs the agent's login, and spends a few requests."""
    with tempfile.TemporaryDirectory(prefix="everyagent-check-") as folder:
        async with connect_without_sessions(options) as connection:
            client = connection.client
            created = await client.create(agent=agent, directory=folder)
            session = created.session_id
            try:
                prompts = _MOCK_PROMPTS if agent == "mock" else _PROMPTS
                return await _checked(client, session, prompts, Path(folder))
            finally:
                await client.terminate(session)


async def _checked(client: AsyncClient, session: str, prompts: CheckPrompts, folder: Path) -> list[Coverage]:
    with waiting("A turn with a command"), anyio.fail_after(STEP_LIMIT):
        work = await client.run_turn(session, prompts.work, answer=_agree)
    if work.stop_reason == "error":
        return [Coverage("a turn ends", False, work.error or ""), *await _events(client, session)]
    with waiting("A second turn"), anyio.fail_after(STEP_LIMIT):
        recall = await client.run_turn(session, prompts.recall, answer=_agree)
    stopped = await _stopped(client, session, prompts.long)
    return [
        Coverage("a turn ends", True, work.stop_reason),
        Coverage("its work is done", (folder / _FILE).exists(), _FILE),
        Coverage("a second turn knows the first", prompts.recalled in recall.text, one_line(recall.text, 60)),
        Coverage("a cancelled turn ends", stopped == "interrupted", stopped or "it ended by itself"),
        *await _events(client, session),
    ]


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


async def _agree(ask: Ask) -> Answer:
    match ask:
        case PermissionRequested():
            return PermissionAnswer(reply="once")
        case QuestionRequested():
            return QuestionAnswer(
                answers=[[each.options[0].label if each.options else "yes"] for each in ask.questions]
            )
        case _:
            return ToolAnswer(output=None)
