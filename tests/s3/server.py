"""A real S3 server for tests: SeaweedFS, from a wheel, in a temporary folder."""

import ctypes
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import ClassVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from everyagent.runtime.ports import free_port

#: Seconds that a start or a stop may take.
LIMIT = 120
_KEY, _SECRET = "everyagent", "everyagent-secret"
_PR_SET_PDEATHSIG = 1


class S3Server:
    """Started by `start`, on the same port each time. Clients take the credentials from `environment`."""

    environment: ClassVar = {"AWS_ACCESS_KEY_ID": _KEY, "AWS_SECRET_ACCESS_KEY": _SECRET}

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="everyagent-s3-", dir="/tmp"))
        (self._root / "data").mkdir()
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": _KEY, "secretKey": _SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (self._root / "s3.json").write_text(json.dumps({"identities": [identity]}))
        # Each has a second port for gRPC, 10,000 above it.
        self.port, self._master, self._volume, self._filer = (free_port() for _ in range(4))
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        words = [
            *("server", "-dir", "data", "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-volume.max", "20"),
            *("-master.port", str(self._master), "-volume.port", str(self._volume), "-filer.port", str(self._filer)),
            *("-master.volumeSizeLimitMB", "64", "-master.telemetry=false"),
            *("-s3", "-s3.port", str(self.port), "-s3.config", "s3.json", "-s3.iam=false"),
            # Servers that nobody uses here, on fixed ports.
            *("-s3.port.iceberg", "0", "-s3.port.lance", "0"),
        ]
        with (self._root / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [Path(sys.executable).parent / "weed", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                cwd=self._root,
            )
        store, deadline = self.store("ready"), time.monotonic() + LIMIT
        while True:
            try:
                obstore.put(store, "ready", b"yes")
                return
            except BaseError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise AssertionError((self._root / "log").read_text()[-4000:]) from None
                time.sleep(0.05)

    def stop(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(LIMIT)
            self._process = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._root)

    def new_url(self) -> str:
        """The address of an empty place, for `--blobs`."""
        return f"s3://bucket/{uuid.uuid4().hex}?endpoint={self.endpoint}"

    def store(self, prefix: str) -> S3Store:
        """The same place, without everyagent."""
        return S3Store(
            "bucket",
            prefix=prefix,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=_KEY,
            secret_access_key=_SECRET,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0},
        )

    def names(self, url: str) -> set[str]:
        """The names of all objects of a place."""
        found = obstore.list(self.store(url.split("?")[0].removeprefix("s3://bucket/"))).collect()
        return {meta["path"].rpartition("/")[2] for meta in found}


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
