"""Receipts: responses to requests with an Idempotency-Key, kept for a day."""

from typing import cast

import msgspec

from everyagent.errors import KeyReused
from everyagent.log.log import Receipt
from everyagent.log.sql.connection import Connection

KEPT_MICROS = 24 * 3600 * 1_000_000


def find(connection: Connection, key: str, now: int) -> Receipt | None:
    row = connection.execute(
        "SELECT key, fingerprint, status, body, headers FROM receipts WHERE key = ? AND at > ?",
        (key, now - KEPT_MICROS),
    ).fetchone()
    if row is None:
        return None
    key, fingerprint, status, body, headers = cast("tuple[str, str, int, bytes, bytes]", row)
    return Receipt(
        key=key,
        fingerprint=fingerprint,
        status=status,
        body=body,
        headers=msgspec.json.decode(headers, type=dict[str, str]),
    )


def check_unused(connection: Connection, receipt: Receipt | None, now: int) -> None:
    """Raises `KeyReused` if the key was used before, by the same request or another."""
    if receipt is not None and find(connection, receipt.key, now) is not None:
        raise KeyReused("This Idempotency-Key was used before. Send each new request with a new key.")


def store(connection: Connection, receipt: Receipt, now: int) -> None:
    connection.execute(
        "INSERT INTO receipts (key, at, fingerprint, status, headers, body) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET at = excluded.at, fingerprint = excluded.fingerprint, "
        "status = excluded.status, headers = excluded.headers, body = excluded.body",
        (receipt.key, now, receipt.fingerprint, receipt.status, msgspec.json.encode(receipt.headers), receipt.body),
    )


def prune(connection: Connection, now: int) -> None:
    connection.execute("DELETE FROM receipts WHERE at <= ?", (now - KEPT_MICROS,))
