"""Tool policies of the session, as the program applies them; defined in `model/policies.py`. Stdlib only."""

from typing import TypeAlias, cast

Policies: TypeAlias = dict[str, object]


def verdict(policies: Policies, tool: str, server: str | None) -> str:
    """The policy for a tool. The program's own tools have universal names."""
    named, default = _words(policies.get("tools")), str(policies.get("default") or "auto")
    if server is None:
        return named.get(tool, default) if policies.get("ownTools", True) else "deny"
    servers = cast(dict[str, Policies], policies.get("mcp") or {})
    of_server = servers.get(server, {})
    return _words(of_server.get("tools")).get(tool) or str(of_server.get("default") or default)


def refusal(tool: str) -> str:
    return f"The session's tool policies do not allow {tool}. Do it another way, or say that it cannot be done."


def _words(given: object) -> dict[str, str]:
    return cast(dict[str, str], given or {})
