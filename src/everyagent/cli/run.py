"""`everyagent run`: one task for an agent, here in the terminal."""

import os
import sys
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from everyagent.cli.exits import Exit, Failure
from everyagent.cli.own import reach
from everyagent.cli.policies import tool_policies
from everyagent.cli.target import HERE, Target
from everyagent.cli.task import Task
from everyagent.client import ApiError, AsyncClient

Names = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]


def run(
    agent: str,
    prompt: Annotated[str, Parameter(allow_leading_hyphen=True)],
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
    offline: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    directory: Annotated[Path | None, Parameter(name=["--directory", "-C"])] = None,
    session: str | None = None,
    keep: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    target: Target = HERE,
) -> int:
    """Give an agent one task, here in the terminal.

    Its words go to stdout as they come; tools, thoughts and questions to stderr. Uses a running daemon, or brings
    its own for as long as the task takes. Ctrl-C stops the turn, twice leaves.

    Parameters
    ----------
    agent
        Which: mock, claude, codex, opencode, amp.
    prompt
        The task; - reads it from stdin.
    model
        Which of its models.
    variant
        Which variant of the model, such as its effort.
    mode
        One of the agent's own modes.
    permission_mode
        default, plan, acceptEdits or bypass.
    allow
        A tool to run without asking, whatever the agent would do: a name such as bash or web_fetch, SERVER/TOOL or
        SERVER/all for an MCP server, or all. May be given several times.
    ask
        A tool to ask for each time.
    deny
        A tool that never runs.
    allow_host
        A host that the agent's commands may reach, such as pypi.org or *.example.org; then they reach no other. May be
        given several times. The agent itself still reaches its model.
    offline
        The agent's commands reach no host at all, but for those of --allow-host.
    directory
        Where it works. [default: here]
    session
        Go on with this session, or start it with this id; it is kept.
    keep
        Keep the session open for more. Without it the session is ended; its log stays either way.
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise Failure("The prompt is empty.", Exit.USAGE)

    async def go() -> int:
        async with reach(target) as reached:
            session_id, made = await _session(reached.client)
            task = Task(reached, session_id, json=target.json)
            try:
                code = await task.run(text)
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(10):
                    if made and not keep and session is None and not task.waiting_elsewhere:
                        await reached.client.terminate(session_id)
            return code

    async def _session(client: AsyncClient) -> tuple[str, bool]:
        """The session's id, and whether it is new."""
        if session is not None:
            try:
                known = await client.session(session)
            except ApiError as error:
                if error.status != 404:
                    raise
            else:
                if known.agent != agent:
                    raise Failure(f"Session {session} belongs to {known.agent}, not to {agent}.", Exit.USAGE)
                return session, False
        info = await client.create(
            session,
            agent=agent,
            agent_mode=mode,
            permission_mode=permission_mode,
            model=model,
            variant=variant,
            tool_policies=tool_policies({"allow": allow, "ask": ask, "deny": deny}),
            allowed_hosts=list(allow_host) if allow_host or offline else None,
            directory=str((directory or Path(os.getcwd())).resolve()),
        )
        return info.session_id, True

    return anyio.run(go, backend_options={"use_uvloop": True})
