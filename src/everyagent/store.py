"""Opens the log that the settings name: SQLite in the data folder, or PostgreSQL."""

import hmac
import socket
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from everyagent import __version__
from everyagent.clock import Clock, ClusterClock
from everyagent.cluster.lease import LEASE_SECONDS
from everyagent.config import ConfigError, Settings
from everyagent.errors import BlobsUnavailable, BusUnavailable, StoreUnavailable
from everyagent.log.log import Log
from everyagent.log.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from everyagent.log.blob_stores.store import BlobStore
    from everyagent.log.copy.ends import Source, Target
    from everyagent.log.fanout import OpenBus
    from everyagent.log.postgres.cluster_log import ClusterLog
    from everyagent.log.sql.connection import Connection
    from everyagent.log.sql.verify import OpenBlob

_ORIGINS = "It is the setting {0}: --{0}, EVERYAGENT_{1}, or {0} in config.toml."


async def open_log(settings: Settings, clock: Clock) -> Log:
    """`ConfigError` if the store that was set cannot be used, `Unavailable` if another process has the data folder."""
    if settings.store is None:
        return await SqliteLog.open(settings.data_dir, clock)
    with _explained():
        from everyagent.log.postgres import PostgresLog

        outside = _blob_store(settings.blobs)
        return await PostgresLog.open(settings.store, settings.data_dir / "uploads", clock, outside=outside)


async def join_cluster(
    settings: Settings, clock: ClusterClock, url: str, derived: Callable[[bytes], bytes]
) -> "ClusterLog":
    """Opens a store that other daemons share, as a node that they reach at `url`, and sets the clock.

    Raises `ConfigError`.

    `derived` makes keys for a purpose, the same ones on all nodes.
    """
    assert settings.store is not None
    with _explained():
        from everyagent.log.postgres.cluster_log import ClusterLog
        from everyagent.log.postgres.nodes import NodeAddress, PostgresMembership, read_time

        if settings.bus is not None:
            await _check_bus(settings.bus)
        outside = _blob_store(settings.blobs)
        clock.set(await read_time(settings.store))
        log = await ClusterLog.open(settings.store, settings.data_dir / "uploads", clock, outside=outside)
        address = NodeAddress(
            name=socket.gethostname(),
            url=url,
            version=__version__,
            lease_seconds=LEASE_SECONDS,
            key_check=derived(b"cluster check"),
        )
        membership = PostgresMembership(log.database, address)
        log.start(membership, _opener(settings, log, derived(b"bus")))
        try:
            await membership.join()
        except BaseException:
            await log.close()
            raise
        return log


def _opener(settings: Settings, log: "ClusterLog", key: bytes) -> "OpenBus":
    if settings.bus is not None:
        from everyagent.log.nats_bus import NatsBus

        return partial(NatsBus, settings.bus, hmac.digest(key, log.identity, "sha256"))
    from everyagent.log.postgres.notify import NotifyBus

    return partial(NotifyBus, log.database)


async def _check_bus(servers: str) -> None:
    try:
        from everyagent.log.nats_bus import check

        await check(servers)
    except ImportError as error:
        raise ConfigError(
            f"NATS needs one more package ({error}). Install it: pip install 'everyagent[nats]'. {_origins('bus')}"
        ) from error
    except BusUnavailable as error:
        raise ConfigError(f"{error.detail} {_origins('bus')}") from error


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"A PostgreSQL store needs more packages ({error}). Install them: pip install 'everyagent[postgres]'. "
            f"{_origins('store')}"
        ) from error
    except StoreUnavailable as error:
        setting = "blobs" if isinstance(error, BlobsUnavailable) else "store"
        raise ConfigError(f"{error.detail} {_origins(setting)}") from error


def _origins(setting: str) -> str:
    return _ORIGINS.format(setting, setting.upper())


def _blob_store(address: str | None) -> "BlobStore | None":
    """None: blobs are in the database."""
    if address is None:
        return None
    if not address.startswith("s3:"):
        from everyagent.log.blob_stores.folder import FolderStore

        return FolderStore(Path(address))
    try:
        from everyagent.log.blob_stores.s3 import S3Blobs
    except ImportError as error:
        raise ConfigError(
            f"Blobs in S3 need one more package ({error}). Install it: pip install 'everyagent[s3]'. "
            f"{_origins('blobs')}"
        ) from error
    return S3Blobs(address)


@contextmanager
def copy_ends(source: str, target: str, blobs: str | None) -> "Generator[tuple[Source, Target]]":
    """Both ends of a copy, by their addresses. `blobs` are those of a source in PostgreSQL. Raises `ConfigError`."""
    for address in (source, target):
        if not address.startswith(("sqlite:", "postgresql:", "postgres:")):
            raise ConfigError(
                f"{address!r} is no address of a log. Use sqlite:FOLDER, with the data folder of a daemon, or "
                "postgresql://user@host/database."
            )
    with ExitStack() as at_the_end:
        try:
            read = _copy_source(source, blobs)
            at_the_end.callback(read.close)
            written = _copy_target(target)
            at_the_end.callback(written.close)
        except ImportError as error:
            raise ConfigError(
                f"PostgreSQL needs more packages ({error}). Install them: pip install 'everyagent[postgres]'."
            ) from error
        except StoreUnavailable as error:
            raise ConfigError(error.detail) from error
        yield read, written


def _copy_source(address: str, blobs: str | None) -> "Source":
    if address.startswith("sqlite:"):
        from everyagent.log.copy.sqlite_ends import SqliteSource

        return SqliteSource(Path(address.removeprefix("sqlite:")))
    from everyagent.log.copy.postgres_ends import PostgresSource

    return PostgresSource(address, _blob_store(blobs))


def _copy_target(address: str) -> "Target":
    if address.startswith("sqlite:"):
        from everyagent.log.copy.sqlite_ends import SqliteTarget

        return SqliteTarget(Path(address.removeprefix("sqlite:")))
    from everyagent.log.copy.postgres_ends import PostgresTarget

    return PostgresTarget(address)


@contextmanager
def reading(settings: Settings) -> "Generator[tuple[Connection, OpenBlob]]":
    """A connection that only reads, with or without a daemon beside it, and what opens blobs. Raises `ConfigError`."""
    if settings.store is None:
        path = settings.data_dir / "everyagent.db"
        if not path.exists():
            raise ConfigError(f"There is no log in {settings.data_dir}. Choose another folder with --data-dir.")
        from everyagent.log.sqlite.database import Database as SqliteDatabase

        connection = SqliteDatabase(path).reader()
        blobs = settings.data_dir / "blobs"
        try:
            yield connection, lambda digest: (blobs / digest.hex()).open("rb")
        finally:
            connection.close()
        return
    with _explained(), TemporaryDirectory() as folder:
        import psycopg

        from everyagent.log.postgres.blobs import BlobReader
        from everyagent.log.postgres.database import Database

        database, reader = Database(settings.store), BlobReader(_blob_store(settings.blobs), Path(folder))
        opened = database.connect()

        def open_blob(digest: bytes) -> BinaryIO:
            return reader.copy_inside(opened, digest) or reader.copy_outside(digest)

        try:
            yield opened, open_blob
        except psycopg.Error as error:
            raise database.read_failure(error) from error
        finally:
            opened.close()
