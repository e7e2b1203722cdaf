"""`everyagent acp`: an ACP agent on stdin and stdout."""

import sys

import anyio

from everyagent.cli.acp.agent import AcpAgent, NewSessions
from everyagent.cli.acp.peer import Peer
from everyagent.cli.acp.session import Link
from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.model.isolation import IsolationChoice


def acp(
    agent: str,
    /,
    *,
    model: str | None = None,
    permission_mode: str | None = None,
    isolation: IsolationChoice | None = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Be an agent of the Agent Client Protocol on stdin and stdout, for editors.

    Parameters
    ----------
    agent
        The agent of new sessions: claude, codex, opencode, amp, or any other that `everyagent agents list` shows.
    model
        The model of new sessions.
    permission_mode
        default, plan, acceptEdits or bypass.
    isolation
        What separates the agent from this machine: auto, none, namespace or container. [default: the daemon's]
    """
    new = NewSessions(agent=agent, model=model, permission_mode=permission_mode, isolation=isolation)
    anyio.run(_serve, new, options, backend_options={"use_uvloop": True})


async def _serve(new: NewSessions, options: DaemonOptions) -> None:
    async with connect(options) as connection, anyio.create_task_group() as tasks:
        peer = Peer(sys.stdin.fileno(), sys.stdout.fileno())
        served = AcpAgent(Link(connection.client, peer, tasks, forms=False), new)
        await peer.serve(served.handle, tasks)
        tasks.cancel_scope.cancel()  # the editor left; its sessions go on in the daemon
