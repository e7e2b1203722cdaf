"""`everyagent run`: gives an agent one task and shows its turn in the terminal."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import anyio
from cyclopts import Parameter

from everyagent.cli import ask_prompts
from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import say
from everyagent.cli.policy_flags import tool_policies
from everyagent.cli.session_flags import ask_timeout_of, attachments, environment, mcp_servers
from everyagent.cli.terminal import TerminalLines, is_interactive
from everyagent.cli.terminal_turn import TerminalTurn
from everyagent.client import ApiError, AsyncClient, calls
from everyagent.client.call import ApiCall, ApiResponse
from everyagent.model.isolation import IsolationChoice
from everyagent.model.sessions import SessionInfo

Names = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]


def run(
    agent: str,
    prompt: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    /,
    *,
    model: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    permission_mode: str | None = None,
    allow: Names = (),
    ask: Names = (),
    deny: Names = (),
    allow_host: Names = (),
    isolation: IsolationChoice | None = None,
    offline: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-C"])] = None,
    worktree: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    checkpoints: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    env: Names = (),
    mcp: Names = (),
    attach: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False)] = (),
    ask_timeout: float | None = None,
    ask_default: Literal["deny", "allow"] = "deny",
    budget: float | None = None,
    runner: str | None = None,
    title: str | None = None,
    session: str | None = None,
    keep: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    chat: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> int:
    """Give an agent one task and show its turn in the terminal.

    Parameters
    ----------
    agent
        The agent: mock, claude, codex, opencode, amp, or any other that `everyagent agents list` shows.
    prompt
        The task; - reads it from stdin. With --chat it can be left out.
    model
        The model to use.
    variant
        The variant of the model, such as its reasoning effort.
    mode
        One of the agent's own modes.
    permission_mode
        default, plan, acceptEdits or bypass.
    allow
        A tool that runs without asking: a name such as bash or web_fetch, SERVER/TOOL or SERVER/all for the tools of an
        MCP server, or all. Can be given several times.
    ask
        A tool that always asks for permission first.
    deny
        A tool that never runs.
    allow_host
        A host that the agent's commands may connect to, such as pypi.org or *.example.org; all others are blocked.
        Can be given several times. The agent itself can always reach its model.
    offline
        Block network access of the agent's commands, except to the hosts of --allow-host.
    isolation
        What separates the agent from this machine: auto, none, namespace or container. [default: the daemon's]
    directory
        The agent's working directory. [default: the current directory]
    worktree
        Work in a git worktree of the directory's repository, on a new branch. `everyagent sessions merge` merges it.
    checkpoints
        Keep the files before and after every turn. `everyagent sessions rewind` brings them back.
    env
        A variable of the agent's environment: NAME=VALUE, or NAME for its value here. Can be given several times.
    mcp
        An MCP server for the agent: NAME=URL, or NAME='COMMAND ARGUMENTS'. Can be given several times.
    attach
        A file or image to send with the prompt. Can be given several times.
    ask_timeout
        Seconds after which an ask that nobody has answered is answered by the daemon. [default: never]
    ask_default
        The daemon's answer to a permission; questions are skipped.
    budget
        Dollars that the turns of the session may cost together. [default: no limit]
    runner
        The runner on whose machine the agent works, in the directory of --directory there. [default: the daemon's]
    title
        A title for the session. [default: the beginning of the prompt]
    session
        Continue this session, or create it with this id. It stays open afterwards. Options that only a new session can
        have are refused for one that exists.
    keep
        Keep the session open afterwards. Without this it is ended; its event log is kept either way.
    chat
        Prompt for another message after each turn, until Ctrl-D or an empty line.
    """
    if chat and not is_interactive():
        raise CliFailure("--chat needs a terminal. Send messages with `everyagent sessions send`.", ExitCode.USAGE)
    if prompt is None and not chat:
        raise CliFailure('No prompt given. Example: everyagent run mock "[hello]"', ExitCode.USAGE)
    text = sys.stdin.read() if prompt == "-" else prompt
    if text is not None and not text.strip():
        raise CliFailure("The prompt is empty.", ExitCode.USAGE)
    timeout = None if ask_timeout is None else ask_timeout_of(ask_timeout, ask_default)
    variables, servers, files = environment(env), mcp_servers(mcp), attachments(attach)
    for_new = {
        "--model": model,
        "--variant": variant,
        "--mode": mode,
        "--permission-mode": permission_mode,
        "--allow": allow,
        "--ask": ask,
        "--deny": deny,
        "--allow-host": allow_host,
        "--offline": offline,
        "--isolation": isolation,
        "--worktree": worktree,
        "--checkpoints": checkpoints,
        "--env": variables,
        "--mcp": servers,
        "--ask-timeout": timeout,
        "--budget": budget,
        "--runner": runner,
        "--title": title,
    }

    async def run_task() -> int:
        async with connect(options) as connection:
            session_id, created = await find_or_create(connection.client)
            turn = TerminalTurn(connection, session_id, json=options.json)
            if worktree and not options.json:
                say(f"Its worktree: everyagent sessions worktree {session_id} (or merge, or drop)", "dim")
            try:
                code = ExitCode.OK if text is None else await turn.run(text, files)
                return await talk(turn) if chat else code
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(10):
                    if created and not keep and session is None and not turn.waiting_elsewhere:
                        await connection.client.terminate(session_id)

    async def talk(turn: TerminalTurn) -> int:
        lines, unsent = TerminalLines(sys.stdin.fileno()), files if text is None else []
        while typed := await ask_prompts.line("> ", lines):
            await turn.run(typed, unsent)
            unsent = []
        return ExitCode.OK

    async def find_or_create(client: AsyncClient) -> tuple[str, bool]:
        """The session's id, and whether it is new."""
        if session is not None:
            try:
                known = await client.session(session)
            except ApiError as error:
                if error.status != 404:
                    raise
            else:
                if known.agent != agent:
                    raise CliFailure(f"Session {session} belongs to {known.agent}, not to {agent}.", ExitCode.USAGE)
                given = [option for option, value in for_new.items() if value]
                if directory is not None and _place(directory, runner) != known.directory:
                    given.append("--directory")
                if given:
                    raise CliFailure(
                        f"There is a session {session} already, on which {', '.join(given)} would have no effect. "
                        f"`everyagent sessions set {session}` changes what can be changed.",
                        ExitCode.USAGE,
                    )
                return session, False
        call = calls.create(
            session,
            agent=agent,
            agent_mode=mode,
            permission_mode=permission_mode,
            model=model,
            variant=variant,
            tool_policies=tool_policies({"allow": allow, "ask": ask, "deny": deny}),
            allowed_hosts=list(allow_host) if allow_host or offline else None,
            isolation=isolation,
            lifetime="open" if keep or chat or session is not None else "turn",
            env=variables,
            mcp=servers,
            ask_timeout=timeout,
            budget_usd=budget,
            title=title,
            directory=_place(directory, runner),
            runner=runner,
            worktree=worktree,
            checkpoints=checkpoints,
        )
        info, warning = await client.call(_with_warning(call))
        if warning:
            say(f"! {warning}", "yellow")
        return info.session_id, True

    return anyio.run(run_task, backend_options={"use_uvloop": True})


def _with_warning(call: ApiCall[SessionInfo]) -> ApiCall[tuple[SessionInfo, str | None]]:
    def decode(response: ApiResponse) -> tuple[SessionInfo, str | None]:
        return call.decode(response), response.headers.get("x-everyagent-warning")

    return ApiCall(method=call.method, path=call.path, decode=decode, body=call.body, key=call.key)


def _place(directory: Path | None, runner: str | None) -> str | None:
    """The directory as the daemon gets it. That of a runner is on its machine."""
    if runner is not None:
        return None if directory is None else str(directory)
    return str((directory or Path(os.getcwd())).resolve())
