"""The budget of a session: when it is used up, the turn is stopped and no other begins. Pure."""

from typing import NamedTuple

from everyagent.errors import BudgetExceeded
from everyagent.model.usage import Usage
from everyagent.sessions.launch.config import SessionConfig
from everyagent.sessions.machine.transaction import LogPosition


class SessionBudget(NamedTuple):
    """For all turns of a session together; None is no limit."""

    usd: float | None = None
    tokens: int | None = None

    def used_up(self, position: LogPosition) -> bool:
        """By the ended turns, and by what is known of the running one."""
        cost, usage = position.costs.running
        if self.usd is not None and position.cost_usd + cost >= self.usd:
            return True
        return self.tokens is not None and _tokens(position.usage + usage) >= self.tokens

    def refuse_message(self, position: LogPosition) -> None:
        if self.used_up(position):
            raise BudgetExceeded(
                f"The session has used up its budget of {self}: {_usd(position.cost_usd)} and "
                f"{_tokens(position.usage)} tokens. Nothing was stored. Raise the session's `budgetUsd` or "
                "`budgetTokens` with PATCH, then send the message again.",
                budgetUsd=self.usd,
                budgetTokens=self.tokens,
            )

    def __str__(self) -> str:
        parts = (None if self.usd is None else _usd(self.usd), None if self.tokens is None else f"{self.tokens} tokens")
        return " and ".join(part for part in parts if part)


def budget_of(config: SessionConfig) -> SessionBudget | None:
    """None if the session has no budget."""
    if config.budget_usd is None and config.budget_tokens is None:
        return None
    return SessionBudget(config.budget_usd, config.budget_tokens)


def _usd(amount: float) -> str:
    return f"{amount:.6f}".rstrip("0").rstrip(".") + " USD"


def _tokens(usage: Usage) -> int:
    """Reasoning tokens are among the output tokens."""
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
