"""The log in one SQLite file, with one writer and many readers."""

from everyagent.log.sqlite.log import SqliteLog

__all__ = ["SqliteLog"]
