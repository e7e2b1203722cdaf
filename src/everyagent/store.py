"""Opens the log that the settings name: SQLite in the data folder, or PostgreSQL."""

from everyagent.clock import Clock
from everyagent.config import ConfigError, Settings
from everyagent.errors import StoreUnavailable
from everyagent.log.log import Log
from everyagent.log.sqlite.log import SqliteLog

_ORIGINS = "It is the setting store: --store, EVERYAGENT_STORE, or store in config.toml."


async def open_log(settings: Settings, clock: Clock) -> Log:
    """`ConfigError` if the store that was set cannot be used, `Unavailable` if another process has the data folder."""
    if settings.store is None:
        return await SqliteLog.open(settings.data_dir, clock)
    try:
        from everyagent.log.postgres import PostgresLog
    except ImportError as error:
        raise ConfigError(
            f"A PostgreSQL store needs more packages ({error}). Install them: pip install 'everyagent[postgres]'. "
            f"{_ORIGINS}"
        ) from error
    try:
        return await PostgresLog.open(settings.store, settings.data_dir / "uploads", clock)
    except StoreUnavailable as error:
        raise ConfigError(f"{error.detail} {_ORIGINS}") from error
