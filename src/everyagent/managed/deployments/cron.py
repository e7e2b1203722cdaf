"""Cron expressions of five fields, in a time zone: which moments match. Pure."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from everyagent.errors import BadRequest

#: The names and ranges of the fields, in their order.
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
#: An expression without a match in so many days has none: every date occurs within eight years.
_DAYS = 8 * 366


class Cron(NamedTuple):
    """`any_day` and `any_weekday`: that field is `*`. If neither is, a day matches if one of both does."""

    minutes: list[int]
    hours: list[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool
    zone: ZoneInfo

    def after(self, micros: int) -> Iterator[int]:
        """The moments that match later than this one, in order, as microseconds since 1970.

        A local time that a change of clocks leaves out does not occur; one that it repeats occurs once.
        """
        start = datetime.fromtimestamp(micros // 1_000_000, self.zone)
        for offset in range(_DAYS):
            day = start.date() + timedelta(days=offset)
            if self._matches(day):
                for hour in self.hours:
                    for minute in self.minutes:
                        at = _moment(day, hour, minute, self.zone)
                        if at is not None and at > micros:
                            yield at

    def _matches(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_day and by_weekday if self.any_day or self.any_weekday else by_day or by_weekday


def parsed(expression: str, timezone: str) -> Cron:
    """Raises for an expression or a time zone that does not exist, or that never matches."""
    fields = expression.split()
    if len(fields) != len(_FIELDS):
        raise _refused(f"it has {len(fields)} fields and not 5: minute, hour, day of month, month, day of week")
    minutes, hours, days, months, weekdays = (
        _values(text, *field) for text, field in zip(fields, _FIELDS, strict=True)
    )
    cron = Cron(
        minutes=sorted(minutes),
        hours=sorted(hours),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        any_day=fields[2] == "*",
        any_weekday=fields[4] == "*",
        zone=_zone(timezone),
    )
    if next(cron.after(0), None) is None:
        raise _refused("no date matches it")
    return cron


def _values(text: str, name: str, low: int, high: int) -> set[int]:
    """Of a list of numbers, ranges and `*`, each perhaps with a step."""
    values: set[int] = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        numbers = (low, high) if span == "*" else (_number(first, name), _number(last if dash else first, name))
        if slash and not dash and span != "*":
            numbers = (numbers[0], high)
        width = _number(step, name) if slash else 1
        if not (low <= numbers[0] <= numbers[1] <= high and width >= 1):
            raise _refused(f"{part!r} is no {name}: those are {low} to {high}")
        values |= set(range(numbers[0], numbers[1] + 1, width))
    return values


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise _refused(f"{text!r} is no {name}")
    return int(text)


def _zone(timezone: str) -> ZoneInfo:
    try:
        return ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadRequest(
            f"There is no time zone {timezone!r}. Name one of the IANA database, such as Europe/Oslo or UTC.",
            field="schedule.timezone",
        ) from None


def _moment(day: date, hour: int, minute: int, zone: ZoneInfo) -> int | None:
    local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
    at = local.astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        return None
    return round(at.timestamp()) * 1_000_000


def _refused(why: str) -> BadRequest:
    return BadRequest(f"`expression` is no cron expression: {why}.", field="schedule.expression")
