"""Checks that the cost of a session will be known, so that a budget for it can be kept."""

from everyagent.agents.adapter import Adapter, Catalog
from everyagent.errors import BadRequest
from everyagent.model.prices import Prices


def require_known_costs(
    adapter: Adapter, catalog: Catalog, model: str | None, prices: Prices, field: str = "budget"
) -> None:
    """Raises if neither the agent nor the operator's prices give the session's cost. `field` is the budget's."""
    chosen = model or catalog.default_model or adapter.name
    known = catalog.costs or any(each.id == chosen and each.costs for each in catalog.models)
    if not known and chosen not in prices:
        raise BadRequest(
            f"A budget for this session could not be kept: {adapter.title} does not say what {chosen!r} costs, and the "
            f"daemon has no price for it. Give {chosen!r} a price in the daemon's prices.json (see `everyagent serve "
            f"--prices`) and restart the daemon, or leave `{field}` out.",
            field=field,
            error_code="model_not_budgetable",
        )
