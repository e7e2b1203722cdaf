"""What a daemon stands on: one data folder, and what is kept in it beside the sessions. `managed/` builds on it."""

from pathlib import Path

from msgspec import Struct, field

from everyagent.clock import Clock
from everyagent.log.records import Records
from everyagent.model.prices import UNPRICED, Prices
from everyagent.sessions.launch.secrets import Vault
from everyagent.sessions.locks import Locks


class Services(Struct, frozen=True, kw_only=True):
    folder: Path
    records: Records
    vault: Vault
    clock: Clock
    default_agent: str
    prices: Prices = UNPRICED
    locks: Locks = field(default_factory=Locks)
