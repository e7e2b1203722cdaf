"""The audit trail: who did what, as a chain of hashes in which a changed, removed or reordered entry is found."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import msgspec
from msgspec import Struct

#: The hash before the first entry.
START = bytes(32)


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`at` is in microseconds; `operation` is a route or command; `outcome` is `ok` or the code of an error.

    `subject` is the other thing that it concerns: an ask, a key, a resource.
    """

    at: int
    key_id: str
    name: str
    workspace: str
    operation: str
    outcome: str = "ok"
    session_id: str | None = None
    subject: str | None = None


class AuditRecord(NamedTuple):
    """`entry` is the encoded `AuditEntry`; `digest` is `chained` of the digest before it. Numbers start at 1."""

    number: int
    entry: bytes
    digest: bytes

    def decoded(self) -> AuditEntry:
        return msgspec.json.decode(self.entry, type=AuditEntry)


class AuditQuery(Struct, frozen=True, kw_only=True):
    """Newest first, before the number `before`; or with `after` oldest first, from the number after it."""

    workspace: str | None = None
    session_id: str | None = None
    key_id: str | None = None
    before: int | None = None
    after: int | None = None
    limit: int = 100


class AuditHead(NamedTuple):
    """The number and digest of the last entry; `AuditHead(0, START)` if there is none."""

    number: int
    digest: bytes


class AuditFault(NamedTuple):
    """`number` is the first entry that is not as it was written."""

    number: int
    problem: str


class AuditTrail(Protocol):
    """The entries of a log. Their digests form one chain, in the order of their transactions."""

    async def keep(self, entry: AuditEntry) -> None:
        """Adds an entry for something that had no transaction of its own."""
        ...

    async def page(self, query: AuditQuery) -> list[AuditRecord]:
        """At most `limit + 1` entries."""
        ...

    async def head(self) -> AuditHead: ...


def chained(previous: bytes, number: int, entry: bytes) -> bytes:
    """The digest of an entry."""
    return hashlib.sha256(previous + number.to_bytes(8, "big") + entry).digest()


class AuditCheck:
    """Follows the chain from its start, page by page. `head` is the last entry that was right."""

    def __init__(self) -> None:
        self.head = AuditHead(0, START)

    def add(self, records: Iterable[AuditRecord]) -> AuditFault | None:
        for record in records:
            number, digest = self.head.number + 1, self.head.digest
            if record.number != number:
                return AuditFault(number, f"the entry {number} is missing: the next one has the number {record.number}")
            if record.digest != chained(digest, number, record.entry):
                return AuditFault(number, f"the entry {number} was changed, or is not where it was written")
            self.head = AuditHead(number, record.digest)
        return None

    def finish(self, head: AuditHead) -> AuditFault | None:
        """`head` is what the storage has as the last entry, apart from the entries."""
        if head == self.head:
            return None
        number = self.head.number + 1
        return AuditFault(number, f"the entries end at {self.head.number}, but {head.number} were written")


async def verified(trail: AuditTrail) -> AuditFault | AuditHead:
    """Checks all entries that there are now. Returns the last one if all are right."""
    check, end = AuditCheck(), await trail.head()
    while check.head.number < end.number:
        records = await trail.page(AuditQuery(after=check.head.number, limit=1000))
        records = [record for record in records[:1000] if record.number <= end.number]
        if fault := check.add(records):
            return fault
        if not records:
            break
    return check.finish(end) or end
