"""Rules of records: all or nothing, unique keys, versions, pages; and bytes that live as long as their record."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from everyagent.errors import RecordChanged, RecordExists, RecordNotFound, VaultError
from everyagent.log.log import Log
from everyagent.log.records import Delete, Insert, RecordQuery, Records, Replace
from everyagent.testing.log_rules.samples import LogStore, new_session


def new(id: str, *, kind: str = "thing", parent: str = "", key: str | None = None) -> Insert:
    return Insert(kind=kind, id=id, parent=parent, key=key, body=b'{"id":"%b"}' % id.encode())


async def pieces(*given: bytes) -> AsyncIterator[bytes]:
    for piece in given:
        yield piece


async def content(records: Records, digest: bytes) -> bytes:
    with await records.blob(digest) as file:
        return file.read()


class RecordingRules:
    async def test_a_record_is_found_as_it_was_written(self, log: Log) -> None:
        (written,) = await log.records.write(Insert(kind="thing", id="a", body=b"{}", secret=b"sealed"))
        assert (written.version, written.archived_at, written.parent, written.key) == (1, None, "", None)
        assert (written.body, written.secret, written.created_at) == (b"{}", b"sealed", written.updated_at)
        assert await log.records.find("thing", "a") == written
        with pytest.raises(RecordNotFound):
            await log.records.find("thing", "b")
        with pytest.raises(RecordNotFound):
            await log.records.find("other", "a")

    async def test_records_are_there_when_the_log_is_opened_again(self, store: LogStore, log: Log) -> None:
        (written,) = await log.records.write(new("a"))
        async with log.records.upload(pieces(b"one", b"two")) as upload:
            await log.records.write(Insert(kind="file", id="f", body=b"{}", uploads=[upload]))
        await log.close()
        again = await store.open()
        try:
            assert await again.records.find("thing", "a") == written
            assert await content(again.records, upload.digest) == b"onetwo"
        finally:
            await again.close()

    async def test_changes_are_written_all_or_none(self, log: Log) -> None:
        await log.records.write(new("a"))
        with pytest.raises(RecordExists):
            await log.records.write(new("b"), Delete(kind="thing", id="a"), new("c"), new("b"))
        assert [record.id for record in await log.records.page(RecordQuery(kind="thing"))] == ["a"]
        with pytest.raises(RecordNotFound):
            await log.records.write(new("b"), Delete(kind="thing", id="nobody"))
        assert [record.id for record in await log.records.page(RecordQuery(kind="thing"))] == ["a"]

    async def test_only_one_of_two_who_read_the_same_version_may_change_it(self, log: Log) -> None:
        await log.records.write(new("a"))
        change = Replace(kind="thing", id="a", version=1, body=b"[]")
        outcomes = await asyncio.gather(log.records.write(change), log.records.write(change), return_exceptions=True)
        assert [isinstance(outcome, RecordChanged) for outcome in outcomes].count(True) == 1
        assert (await log.records.find("thing", "a")).version == 2

    async def test_a_key_is_unique_among_a_kind_and_a_parent_until_it_is_given_up(self, log: Log) -> None:
        records = log.records
        await records.write(new("a", key="name"), new("b", key="name", parent="p"), new("c", key="name", kind="other"))
        with pytest.raises(RecordExists):
            await records.write(new("d", key="name"))
        await records.write(new("d", key="free"))
        with pytest.raises(RecordExists):
            await records.write(Replace(kind="thing", id="d", version=1, body=b"{}", key="name"))
        await records.write(Replace(kind="thing", id="a", version=1, body=b"{}", key=None, archived=True))
        (taken,) = await records.write(Replace(kind="thing", id="d", version=1, body=b"{}", key="name"))
        assert (taken.key, taken.version) == ("name", 2)

    async def test_what_a_change_leaves_out_stays(self, log: Log) -> None:
        await log.records.write(Insert(kind="thing", id="a", key="k", body=b"{}", secret=b"sealed"))
        (kept,) = await log.records.write(Replace(kind="thing", id="a", version=1, body=b"[]", archived=True))
        assert (kept.key, kept.secret, kept.body) == ("k", b"sealed", b"[]")
        assert kept.archived_at is not None
        (purged,) = await log.records.write(Replace(kind="thing", id="a", version=2, body=b"[]", secret=None))
        assert (purged.secret, purged.archived_at) == (None, kept.archived_at)

    async def test_pages_go_by_the_order_of_making_and_filter_as_asked(self, log: Log) -> None:
        records = log.records
        for number in range(5):
            await records.write(new(f"t{number}", parent="even" if number % 2 == 0 else "odd"))
        await records.write(Replace(kind="thing", id="t4", version=1, body=b"{}", archived=True))

        async def ids(query: RecordQuery) -> list[str]:
            return [record.id for record in await records.page(query)]

        assert await ids(RecordQuery(kind="thing")) == ["t3", "t2", "t1", "t0"]
        assert await ids(RecordQuery(kind="thing", archived=True, limit=2)) == ["t4", "t3", "t2"]
        assert await ids(RecordQuery(kind="thing", parent="even", order="asc", archived=True)) == ["t0", "t2", "t4"]
        assert await ids(RecordQuery(kind="thing", ids=["t1", "t0", "nobody"])) == ["t1", "t0"]
        first = (await records.find("thing", "t1")).number
        assert await ids(RecordQuery(kind="thing", after=first)) == ["t0"]
        assert await ids(RecordQuery(kind="thing", after=first, order="asc")) == ["t2", "t3"]
        made = (await records.find("thing", "t2")).created_at
        assert set(await ids(RecordQuery(kind="thing", since=made))) >= {"t3", "t2"}
        assert await ids(RecordQuery(kind="thing", until=made - 1_000_000_000)) == []
        assert await records.count("thing", "even") == 2

    async def test_a_record_goes_with_all_that_belongs_to_it(self, log: Log) -> None:
        records = log.records
        await records.write(new("a"), new("b", parent="a"), new("c", parent="b", kind="leaf"), new("other"))
        await records.write(Delete(kind="thing", id="a"))
        assert [record.id for record in await records.page(RecordQuery(kind="thing"))] == ["other"]
        with pytest.raises(RecordNotFound):
            await records.find("leaf", "c")

    async def test_equal_bytes_stay_until_the_last_record_that_has_them_goes(self, log: Log) -> None:
        records = log.records
        for id in ("a", "b"):
            async with records.upload(pieces(b"same", b"bytes")) as upload:
                await records.write(Insert(kind="file", id=id, body=b"{}", uploads=[upload]))
        await records.write(Insert(kind="file", id="c", body=b"{}", blobs=[upload.digest]))
        await records.write(Delete(kind="file", id="c"))
        assert upload.size == 9
        await records.write(Delete(kind="file", id="a"))
        assert await content(records, upload.digest) == b"samebytes"
        open_one = await records.blob(upload.digest)
        await records.write(Delete(kind="file", id="b"))
        await records.write(new("later"), new("latest"))
        with open_one:
            assert open_one.read() == b"samebytes"
        with pytest.raises(RecordNotFound):
            await records.blob(upload.digest)
        with pytest.raises(RecordNotFound):
            await records.write(Insert(kind="file", id="d", body=b"{}", blobs=[upload.digest]))

    async def test_an_upload_that_nobody_took_leaves_nothing(self, log: Log) -> None:
        async with log.records.upload(pieces(b"lost")) as upload:
            pass
        assert not upload.path.exists()
        with pytest.raises(RecordNotFound):
            await log.records.blob(upload.digest)

    async def test_everything_sealed_is_sealed_anew_or_nothing(self, log: Log) -> None:
        await log.records.write(new("plain"), Insert(kind="thing", id="a", body=b"{}", secret=b"old"))
        session = await new_session(log)

        def failing(sealed: bytes, about: str) -> bytes:
            if about == "a":
                raise VaultError("does not open")
            return b"new"

        with pytest.raises(VaultError):
            await log.reseal(failing)
        assert (await log.session(session.session_id)).secrets == b"sealed"
        count = await log.reseal(lambda sealed, about: sealed + about.encode())
        assert count == 2
        assert (await log.session(session.session_id)).secrets == b"sealedone"
        assert (await log.records.find("thing", "a")).secret == b"olda"
        assert (await log.records.find("thing", "plain")).secret is None
