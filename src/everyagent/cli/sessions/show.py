"""`everyagent sessions show`: shows a session and its pending asks."""

from msgspec import to_builtins

from everyagent.cli.ask_text import how_to_answer, summary
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.output import age, out, print_facts, print_json
from everyagent.cli.usage_text import cost, tokens
from everyagent.model.asks import AskTimeout
from everyagent.model.limits import AgentLimits
from everyagent.model.sessions import SessionInfo


def show(session: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Show a session and its pending asks.

    Parameters
    ----------
    session
        The session's id.
    """
    with options.client() as client:
        info = client.session(session)
        asks = client.asks(session)
    if options.json:
        print_json({"session": info, "asks": asks})
        return
    print_facts(_facts(info))
    for ask in asks:
        out().print(f"\nwaits for an answer: {summary(ask.request)}")
        out().print(f"  {how_to_answer(session, ask.ask_id, ask.kind)}")


def _limits(limits: AgentLimits) -> list[tuple[str, object]]:
    given: dict[str, object] = to_builtins(limits)
    return [(name, value) for name, value in given.items() if value is not None]


def _ask_timeout(timeout: AskTimeout | None) -> str | None:
    if timeout is None:
        return None
    answer = "skip" if timeout.question is None else repr(timeout.question)
    return f"{timeout.seconds:g} s, then permission: {timeout.permission}, question: {answer}"


def _budget(info: SessionInfo) -> str:
    tokens = None if info.budget_tokens is None else f"{info.budget_tokens:,} tokens"
    return " · ".join(each for each in (cost(info.budget_usd), tokens) if each)


def _facts(info: SessionInfo) -> list[tuple[str, str]]:
    origin = info.forked_from
    facts = [
        ("session", info.session_id),
        ("title", info.title),
        ("agent", info.agent),
        ("status", info.status),
        ("model", " ".join(word for word in (info.model, info.variant) if word)),
        ("mode", info.agent_mode),
        ("permissions", info.permission_mode),
        ("isolation", info.isolation),
        ("lifetime", info.lifetime),
        ("limits", " · ".join(f"{name} {value}" for name, value in _limits(info.limits))),
        ("turn timeout", None if info.turn_timeout is None else f"{info.turn_timeout:g} s"),
        ("ask timeout", _ask_timeout(info.ask_timeout)),
        ("budget", _budget(info)),
        ("directory", info.directory),
        ("worktree", f"{info.worktree.branch} of {info.worktree.repository}" if info.worktree else None),
        ("native id", info.native_session_id),
        ("forked from", f"{origin.session_id} at {origin.sequence}" if origin else None),
        ("created", age(info.created_at)),
        ("updated", age(info.updated_at)),
        ("events", str(info.event_count)),
        ("queued", str(info.queued_messages) if info.queued_messages else None),
        ("usage", " · ".join(fact for fact in (tokens(info.usage), cost(info.cost_usd)) if fact)),
        *((f"metadata {key}", value) for key, value in info.metadata.items()),
    ]
    return [(name, value) for name, value in facts if value]
