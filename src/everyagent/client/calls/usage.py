"""The call that sums usage and cost."""

from collections.abc import Sequence

from everyagent.client.call import ApiCall, decoded, get, params, path
from everyagent.model.usage import UsageField, UsageReport

_report = decoded(UsageReport)


def usage(
    by: Sequence[UsageField] = (),
    *,
    since: str | None = None,
    until: str | None = None,
    session_id: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    workspace: str | None = None,
    key_id: str | None = None,
    directory: str | None = None,
    limit: int | None = None,
) -> ApiCall[UsageReport]:
    """Tokens, cost, turns and the time in which people were waited for, grouped by the fields `by`.

    `since` (inclusive) and `until` (exclusive) are days in UTC, like `2030-01-31`.
    """
    chosen = params(by=",".join(by) or None, since=since, until=until, sessionId=session_id, agent=agent, model=model)
    return get(
        path("usage"),
        _report,
        {**chosen, **params(workspace=workspace, keyId=key_id, directory=directory, limit=limit)},
    )
