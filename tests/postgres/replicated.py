"""A PostgreSQL primary and its synchronous standby, which take each other's place."""

import shutil
import subprocess
from collections.abc import Sequence

from everyagent.dev_cluster.postgres import program
from everyagent.dev_cluster.server import LIMIT
from tests.postgres.server import PostgresServer
from tests.waiting import wait_until

_OPTIONS = {"synchronous_standby_names": "*", "wal_retrieve_retry_interval": "200ms"}


class ReplicatedPostgres:
    """Every commit waits for the standby, and for a standby if there is none."""

    def __init__(self, *, durable: bool) -> None:
        self.primary, self.standby = (PostgresServer(durable=durable, options=_OPTIONS) for _ in range(2))

    @property
    def url(self) -> str:
        """Of both: clients find the one that accepts writes."""
        ports = sorted((self.primary.port, self.standby.port))
        return f"postgresql://everyagent@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres"

    def start(self) -> None:
        self.primary.start()
        self._attach_standby()

    def close(self) -> None:
        for server in (self.primary, self.standby):
            server.close()

    def fail_over(self) -> None:
        """kill -9 of the primary. The standby is promoted; the other one comes back as its standby, with its data."""
        self.primary.kill()
        self.standby.execute("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary
        self._attach_standby()

    def _attach_standby(self) -> None:
        source, copy = self.primary, self.standby
        shutil.rmtree(copy.data)
        words = ("-h", "127.0.0.1", "-p", str(source.port), "-U", "everyagent", "--checkpoint=fast", "--no-sync")
        self._run([program("pg_basebackup"), "-D", str(copy.data), "--write-recovery-conf", *words])
        copy.start()
        wait_until(lambda: source.execute("SELECT sync_state FROM pg_stat_replication") == [("sync",)])

    def _run(self, argv: Sequence[str]) -> None:
        account = self.standby.account
        subprocess.run(
            argv,
            check=True,
            capture_output=True,
            timeout=LIMIT,
            cwd=self.standby.folder,
            user=account.uid if account else None,
            group=account.gid if account else None,
        )
