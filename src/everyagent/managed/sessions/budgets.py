"""Checks of budgets of managed sessions."""

from everyagent.errors import BadRequest
from everyagent.managed.sessions.shape import Budget


def refuse_spent(budget: Budget, spent_usd: float) -> None:
    """Raises if the budget is spent already."""
    if float(budget.max_list_cost.amount) <= spent_usd * 100:
        raise BadRequest(
            f"The session has cost {spent_usd * 100:.4f} cents so far, and a budget must be more than that. To stop "
            "it, send `user.interrupt`.",
            field="budget",
            error_code="budget_not_raised",
        )
