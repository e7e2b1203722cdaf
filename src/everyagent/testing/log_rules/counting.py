"""Rules of usage: every database has the same sums, and they stay when sessions are deleted."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from everyagent.errors import LogFenced
from everyagent.log.log import Append, ClosedAsk, Log, NewAsk, SessionRecord
from everyagent.log.usage import UsageEntry, UsageQuery, UsageRow, day_of
from everyagent.model.asks import AskKind
from everyagent.model.usage import Usage, UsageField
from everyagent.testing.log_rules.samples import START, LogStore, event, record

_DAY = 86_400_000_000
_USED = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=3, cache_write_tokens=4, reasoning_tokens=5)
_TODAY = day_of(START)


class _Session:
    """Appends one step after another."""

    def __init__(self, log: Log, made: SessionRecord) -> None:
        self._log, self._made, self._head = log, made, 1

    async def step(
        self, at: int, *used: UsageEntry, asks: Sequence[NewAsk] = (), closed: Sequence[ClosedAsk] = (), epoch: int = 0
    ) -> None:
        head, self._head = self._head, self._head + 1
        await self._log.append(
            Append(
                session=self._made.number,
                epoch=epoch,
                expected=head,
                at=at,
                events=[event(head + 1)],
                used=used,
                asks=asks,
                closed_asks=closed,
            )
        )


async def _session(log: Log, name: str, directory: str = "/", workspace: str = "default") -> _Session:
    made = replace(record(name), config=b'{"directory":"%b"}' % directory.encode(), workspace=workspace, topic="Hi")
    return _Session(log, await log.create(made, [event(1)]))


def _turn(model: str = "m", key_id: str = "", cost_usd: float = 0.1, usage: Usage = _USED) -> UsageEntry:
    return UsageEntry(model=model, key_id=key_id, turns=1, usage=usage, cost_usd=cost_usd)


def _ask(name: str, kind: AskKind = "permission") -> NewAsk:
    return NewAsk(name, kind, 2, b"{}")


def _closed(name: str) -> ClosedAsk:
    return ClosedAsk(name, b"{}", 3)


async def _sums(log: Log, *by: UsageField, query: UsageQuery | None = None) -> list[UsageRow]:
    found = await log.usage(replace(query or UsageQuery(), by=by))
    return sorted(found, key=lambda row: [str(value) for value in row.fields.values()])


async def _turns(log: Log, *by: UsageField, query: UsageQuery | None = None) -> list[tuple[object, ...]]:
    return [(*row.fields.values(), row.turns) for row in await _sums(log, *by, query=query)]


class CountingRules:
    async def test_usage_is_summed_by_every_field(self, log: Log) -> None:
        one, two = await _session(log, "one", "/web", "red"), await _session(log, "two", "/api", "blue")
        await one.step(START, _turn())
        await one.step(START + 1, _turn("other", "key_1"), _turn("other", "key_1"))
        await two.step(START + _DAY, _turn(key_id="key_2"))
        three_turns = Usage(
            input_tokens=300, output_tokens=60, cache_read_tokens=9, cache_write_tokens=12, reasoning_tokens=15
        )
        assert await _sums(log, "session") == [
            UsageRow({"session": "one"}, "Hi", 1, 3, three_turns, 300_000_000, 0),
            UsageRow({"session": "two"}, "Hi", 1, 1, _USED, 100_000_000, 0),
        ]
        assert await _turns(log, "day") == [(_TODAY, 3), (_TODAY + 1, 1)]
        assert await _turns(log, "agent") == [("mock", 4)]
        assert await _turns(log, "model") == [("m", 2), ("other", 2)]
        assert await _turns(log, "workspace") == [("blue", 1), ("red", 3)]
        assert await _turns(log, "key") == [("", 1), ("key_1", 2), ("key_2", 1)]
        assert await _turns(log, "directory") == [("/api", 1), ("/web", 3)]
        assert await _turns(log, "day", "model") == [(_TODAY, "m", 1), (_TODAY, "other", 2), (_TODAY + 1, "m", 1)]
        assert [row.sessions for row in await _sums(log)] == [2]

    async def test_usage_is_limited_by_every_field(self, log: Log) -> None:
        one, two = await _session(log, "one", "/web", "red"), await _session(log, "two", "/api", "blue")
        await one.step(START, _turn("m", "key_1"))
        await two.step(START + _DAY, _turn("n", "key_2"))
        for query in (
            UsageQuery(until=_TODAY + 1),
            UsageQuery(session_id="one"),
            UsageQuery(model="m"),
            UsageQuery(workspace="red"),
            UsageQuery(key_id="key_1"),
            UsageQuery(directory="/web"),
            UsageQuery(agent="mock", until=_TODAY + 1),
        ):
            assert await _turns(log, "session", query=query) == [("one", 1)], query
        assert await _turns(log, "session", query=UsageQuery(since=_TODAY + 1)) == [("two", 1)]
        assert await _turns(log, query=UsageQuery(agent="none")) == [(0,)]

    async def test_usage_outlives_its_session_without_its_name(self, log: Log, store: LogStore) -> None:
        await (await _session(log, "one", "/web")).step(START, _turn())
        await log.delete("one")
        await log.close()
        again = await store.open()
        assert await _turns(again, "session", "directory", "agent") == [(None, None, "mock", 1)]
        assert [row.title for row in await _sums(again, "session")] == [None]
        await again.close()

    async def test_a_refused_step_is_not_counted(self, log: Log) -> None:
        one = await _session(log, "one")
        with pytest.raises(LogFenced):
            await one.step(START, _turn(), epoch=7)
        assert await _turns(log) == [(0,)]

    async def test_nonsense_of_an_agent_has_a_sum(self, log: Log) -> None:
        one = await _session(log, "one")
        for number in range(3):
            await one.step(START + number, _turn(cost_usd=1e300, usage=Usage(input_tokens=2**53 - 1)))
        (row,) = await _sums(log)
        assert row.usage.input_tokens == 3 << 40

    async def test_time_in_which_people_are_waited_for_is_counted_once(self, log: Log) -> None:
        one = await _session(log, "one")
        answered = UsageEntry(model="m", key_id="", answered=True)
        await one.step(START, asks=[_ask("a"), _ask("t", "tool")])
        await one.step(START + 10, asks=[_ask("b")])
        await one.step(START + 100, answered, closed=[_closed("a")])
        await one.step(START + 130, answered, closed=[_closed("b")])
        await one.step(START + 500, closed=[_closed("t")])
        assert [row.waited for row in await _sums(log)] == [130]
        await one.step(START + 1000, asks=[_ask("c")])
        await one.step(START + 1007, answered, _turn(), closed=[_closed("c")])
        await one.step(START + 2000, answered, asks=[_ask("d")], closed=[_closed("d")])
        assert [row.waited for row in await _sums(log)] == [137]
