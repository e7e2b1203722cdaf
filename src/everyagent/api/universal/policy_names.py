"""Warnings about names in tool policies that neither the agent nor the session is known to have."""

from collections.abc import Iterable, Iterator, Sequence

from everyagent.model.policies import TOOLS, AgentTool
from everyagent.model.sessions import SessionInfo

#: A response header holds the warnings, so they are few and short.
_MOST, _LENGTH = 10, 60


def unknown_names(session: SessionInfo, tools: Sequence[AgentTool]) -> list[str]:
    """`tools` are those that the agent is known to have; it may have more, so these names are not refused."""
    policies = session.tool_policies
    known = {*TOOLS, *(tool.name for tool in tools), *session.tools}
    warnings = list(_unknown("tools", policies.tools, known, f"{session.agent} is not known to have this tool"))
    return warnings + list(_unknown("mcp", policies.mcp, session.mcp, "the session has no such MCP server"))


def _unknown(field: str, given: Iterable[str], known: Iterable[str], why: str) -> Iterator[str]:
    names = list(known)
    for name in [each for each in given if each not in names][:_MOST]:
        nearest = _nearest(name[:_LENGTH], names)
        yield f"toolPolicies.{field}.{name[:_LENGTH]}: {why}{f'; did you mean {nearest}?' if nearest else ''}"


def _nearest(name: str, known: Sequence[str]) -> str | None:
    from difflib import get_close_matches  # seldom needed, and slow to load

    return next(iter(get_close_matches(name, known, 1)), None)
