"""Services of a daemon that everything above the sessions uses: its folder, records, vault, clock and locks."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from everyagent.access.keyring import Keyring
from everyagent.clock import Clock
from everyagent.log.records import Records
from everyagent.model.prices import UNPRICED, Prices
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.sessions.locks import Locks
from everyagent.sessions.runner_sessions import RunnerSessions

if TYPE_CHECKING:
    from everyagent.cluster.node import Node
    from everyagent.webhooks.lazy import LazyWebhooks


class Services(Struct, kw_only=True):
    """`node` is this daemon's part in a cluster, None if it owns all sessions. It is set before any request."""

    folder: Path
    records: Records
    vault: SecretVault
    clock: Clock
    default_agent: str
    prices: Prices = UNPRICED
    keys: Keyring | None = None
    locks: Locks = field(default_factory=Locks)
    node: "Node | None" = None
    webhooks: "LazyWebhooks | None" = None
    runners: RunnerSessions = field(default_factory=RunnerSessions)
