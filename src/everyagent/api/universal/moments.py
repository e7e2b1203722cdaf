"""Times in queries: RFC 3339 with a zone, or seconds since 1970."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from msgspec import Meta

Moment = Annotated[datetime, Meta(tz=True)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)
