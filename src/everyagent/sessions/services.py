"""Services of a daemon that everything above the sessions uses: its folder, records, vault, clock and locks."""

from pathlib import Path

from msgspec import Struct, field

from everyagent.access.keyring import Keyring
from everyagent.clock import Clock
from everyagent.log.records import Records
from everyagent.model.prices import UNPRICED, Prices
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.sessions.locks import Locks


class Services(Struct, frozen=True, kw_only=True):
    folder: Path
    records: Records
    vault: SecretVault
    clock: Clock
    default_agent: str
    prices: Prices = UNPRICED
    keys: Keyring | None = None
    locks: Locks = field(default_factory=Locks)
