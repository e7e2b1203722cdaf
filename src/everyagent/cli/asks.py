"""`everyagent asks`: lists the open asks of all sessions, or answers them one after the other."""

import sys
from typing import Annotated

import anyio
import msgspec
from cyclopts import Parameter

from everyagent.cli import ask_prompts
from everyagent.cli.ask_text import how_to_answer, summary
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import ExitCode
from everyagent.cli.output import age, err, print_json, print_table, say
from everyagent.cli.terminal import TerminalLines, is_interactive
from everyagent.client import ApiError
from everyagent.client.turn import Ask
from everyagent.model.asks import AskKind
from everyagent.model.events import PermissionRequested, QuestionRequested, ToolRequested
from everyagent.model.sessions import AskInfo

_REQUESTS: dict[AskKind, type[Ask]] = {
    "permission": PermissionRequested,
    "question": QuestionRequested,
    "tool": ToolRequested,
}


def asks(
    *,
    only_list: Annotated[bool, Parameter(name="--list", negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> int:
    """Answer the open asks of all sessions, oldest first. Without a terminal, list them.

    Parameters
    ----------
    only_list
        Only list them, also on a terminal.
    """
    if options.json or only_list or not is_interactive():
        return _list(options)
    return anyio.run(_answer_all, options, backend_options={"use_uvloop": True})


def _list(options: DaemonOptions) -> int:
    with options.client() as client:
        found = client.asks()
    if options.json:
        print_json(found)
    elif found:
        rows = [(ask.ask_id, ask.session_id, age(ask.asked_at), summary(ask.request)) for ask in found]
        print_table(("ASK", "SESSION", "ASKED", "REQUEST"), rows)
        first = found[0]
        say(f"Answer one with: {how_to_answer(first.session_id, first.ask_id, first.kind)}", "dim")
    else:
        say("No agent waits for an answer.")
    return ExitCode.OK


async def _answer_all(options: DaemonOptions) -> int:
    lines = TerminalLines(sys.stdin.fileno())
    async with options.async_client() as client:
        found = sorted(await client.asks(), key=lambda ask: ask.asked_at)
        for number, ask in enumerate(found, 1):
            info = await client.session(ask.session_id)
            where = f"{number} of {len(found)} · {info.title or info.session_id} · {info.agent} in {info.directory}"
            err().print(f"\n{where}", style="bold")
            try:
                await client.answer(ask.session_id, ask.ask_id, await ask_prompts.answer(_request(ask), lines))
            except ApiError as error:
                if error.code != "ask_closed":
                    raise
                say("It was answered elsewhere meanwhile.", "yellow")
    if not found:
        say("No agent waits for an answer.")
    return ExitCode.OK


def _request(ask: AskInfo) -> Ask:
    return msgspec.convert(ask.request, _REQUESTS[ask.kind])
