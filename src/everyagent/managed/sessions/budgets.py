"""Checks of budgets: the session's cost must be known, and below the budget."""

from everyagent.agents.adapter import Adapter, Catalog
from everyagent.errors import BadRequest
from everyagent.managed.sessions.shape import Budget
from everyagent.model.prices import Prices


def refuse_blind(adapter: Adapter, catalog: Catalog, model: str | None, prices: Prices) -> None:
    """Raises if neither the agent nor the operator's prices give the session's cost."""
    chosen = model or catalog.default_model or adapter.name
    known = catalog.costs or any(each.id == chosen and each.costs for each in catalog.models)
    if not known and chosen not in prices:
        raise BadRequest(
            f"A budget for this session could not be kept: {adapter.title} does not say what {chosen!r} costs, and the "
            f"daemon has no price for it. Give {chosen!r} a price in the daemon's prices.json (see `everyagent serve "
            "--prices`) and restart the daemon, or leave `budget` out.",
            field="budget",
            error_code="model_not_budgetable",
        )


def refuse_spent(budget: Budget, spent_usd: float) -> None:
    """Raises if the budget is spent already."""
    if float(budget.max_list_cost.amount) <= spent_usd * 100:
        raise BadRequest(
            f"The session has cost {spent_usd * 100:.4f} cents so far, and a budget must be more than that. To stop "
            "it, send `user.interrupt`.",
            field="budget",
            error_code="budget_not_raised",
        )
