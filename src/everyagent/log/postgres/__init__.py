"""The log in a PostgreSQL database. Needs `everyagent[postgres]`."""

from everyagent.log.postgres.log import PostgresLog

__all__ = ["PostgresLog"]
