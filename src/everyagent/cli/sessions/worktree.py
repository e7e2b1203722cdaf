"""`everyagent sessions worktree`, `merge` and `drop`: the git worktree of a session."""

from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import print_facts, print_json, say
from everyagent.git.merging import named


def worktree(session: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Show a session's worktree and what is not merged yet.

    Parameters
    ----------
    session
        The session's id.
    """
    with options.client() as client:
        state = client.worktree(session)
    if options.json:
        print_json(state)
        return
    facts = [
        ("path", state.path if state.exists else f"{state.path} (dropped)"),
        ("repository", state.repository),
        ("branch", state.branch),
        ("merges into", state.target),
        ("not merged", "\n".join(state.files) or ("nothing" if state.exists else None)),
        ("in conflict", "\n".join(state.conflicts)),
    ]
    print_facts([(name, value) for name, value in facts if value])


def merge(
    session: str,
    /,
    *,
    into: str | None = None,
    message: Annotated[str | None, Parameter(name=["--message", "-m"])] = None,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Merge the work of a session's worktree, with the files that are not committed.

    Nothing changes if files are in conflict, or if uncommitted changes of yours are in the way.

    Parameters
    ----------
    session
        The session's id.
    into
        The branch to merge into. [default: the one that the repository was on when the session was created]
    message
        The message of the merge commit, if one is needed.
    """
    with options.client() as client:
        merged = client.merge(session, into=into, message=message)
    if options.json:
        print_json(merged)
    elif merged.files:
        say(f"Merged into {merged.branch}, which is at {merged.commit[:12]} now. Files: {named(merged.files)}.")
    else:
        say(f"{merged.branch} has all of it already.")


def drop(
    session: str,
    /,
    *,
    discard: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """End a session and remove its worktree and its branches. Its events are kept.

    Parameters
    ----------
    session
        The session's id.
    discard
        Also if some of its work is not merged. It is lost then.
    """
    with options.client() as client:
        client.drop(session, discard=discard)
    if options.json:
        print_json({"dropped": session})
    else:
        say(f"Dropped the worktree of {session}.")
