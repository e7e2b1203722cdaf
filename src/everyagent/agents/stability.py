"""How far an agent's events can be relied on, as `/v1/agents` and the documentation show it."""

from typing import Literal, TypeAlias

Stability: TypeAlias = Literal["stable", "experimental"]

#: Agents with an adapter of their own, whose protocol names its messages and items. Others lack part of what the
#: schema has: Amp's messages have no ids, and the Agent Client Protocol has no requests, costs or ends of items.
STABLE = frozenset({"mock", "claude", "codex", "opencode"})


def stability_of(agent: str) -> Stability:
    return "stable" if agent in STABLE else "experimental"
