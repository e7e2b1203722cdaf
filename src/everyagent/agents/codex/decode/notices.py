"""Status items for Codex's notices: warnings, limits, hooks, plans. Pure."""

import re
from collections.abc import Sequence

from everyagent.agents import items
from everyagent.agents.adapter import Draft
from everyagent.agents.codex.protocol import wire
from everyagent.model.events import Error, SessionUpdated
from everyagent.model.parts import FileRefPart, StatusPart

_STEPS = {"inProgress": "in_progress"}
#: The source that Codex names for hooks of a thread's own configuration: ours, which asks for the session's policies.
OWN_HOOKS = "sessionFlags"
#: The places between the files of a diff, and the lines that name the two sides of one.
_FILES = re.compile(r"^(?=diff --git )", re.MULTILINE)
_SIDES = ("--- a/", "+++ b/")


def warning(key: str, notice: wire.CodexNotice) -> Sequence[Draft]:
    text = notice.message or notice.summary
    return items.notice(key, "warning", text, notice.details) if text else ()


def record_unread(key: str, problem: str) -> Sequence[Draft]:
    label = "Calls that Codex refused by itself may be missing: its own record of the thread cannot be read"
    return items.notice(key, "warning", label, problem)


def mcp_startup(key: str, notice: wire.CodexNotice) -> Sequence[Draft]:
    """Only a failure is reported."""
    if notice.status != "failed":
        return ()
    return items.notice(key, "mcp_server", f"The MCP server {notice.name} did not start", notice.error)


def titled(key: str, notice: wire.CodexNotice) -> Sequence[Draft]:
    return (SessionUpdated(title=notice.thread_name),) if notice.thread_name else ()


def rerouted(key: str, notice: wire.CodexNotice) -> Sequence[Draft]:
    label = f"The model {notice.from_model} was exchanged for {notice.to_model}"
    return items.notice(key, "model_rerouted", label, notice.reason)


def auth_recovery(key: str, notice: wire.CodexNotice) -> Sequence[Draft]:
    return items.notice(key, "auth_recovery", notice.message or f"Logging in to {notice.provider} again")


def hook(key: str, notice: wire.HookNotice) -> Sequence[Draft]:
    run = notice.run
    if run.source == OWN_HOOKS and run.status != "failed":
        return ()
    return items.notice(key, "hook", f"Hook {run.event_name} {run.status}", run.status_message)


def review(key: str, notice: wire.ReviewNotice) -> Sequence[Draft]:
    label = f"Automatic review: {notice.review.status}"
    return items.notice(key, "approval_review", label, notice.review.rationale, parent=notice.target_item_id)


def goal(key: str, notice: wire.GoalNotice) -> Sequence[Draft]:
    return items.notice(key, "goal", notice.goal.objective, notice.goal.status)


def plan(key: str, notice: wire.PlanNotice) -> Sequence[Draft]:
    steps = [StatusPart(label=each.step, detail=_STEPS.get(each.status, each.status)) for each in notice.plan]
    return items.whole(items.status(key, "plan", steps))


def turn_diff(key: str, diff: str) -> Sequence[Draft]:
    """All changes of the turn, a part for each file."""
    files = [_changed_file(each) for each in _FILES.split(diff) if each]
    return items.whole(items.status(key, "turn_diff", files))


def _changed_file(diff: str) -> FileRefPart:
    """Codex names files relative to the working directory; one that was deleted has its name on the other side."""
    sides = {line[:4]: line[6:].partition("\t")[0] for line in diff.splitlines() if line.startswith(_SIDES)}
    path = sides.get("+++ ") or sides.get("--- ") or "."
    return FileRefPart(path=path, action="patch" if len(sides) == 2 else "write", diff=diff)


def limits(key: str, notice: wire.LimitsNotice) -> Sequence[Draft]:
    """Nothing is reported far from the limit."""
    limits = notice.rate_limits
    windows = [window for window in (limits.primary, limits.secondary) if window]
    facts = ", ".join(
        f"{window.used_percent:.0f}% of {window.window_duration_mins} minutes, resets at {window.resets_at}"
        for window in windows
    )
    if limits.rate_limit_reached_type:
        return (Error(message=f"The account's limit is reached ({facts}).", code="rate_limited"),)
    if any(window.used_percent >= 80 for window in windows):
        return items.notice(key, "rate_limit", "The account's limit is near", facts)
    return ()
