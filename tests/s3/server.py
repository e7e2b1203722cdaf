"""A real S3 server for tests: SeaweedFS, from a wheel, in a temporary folder."""

import shutil
import tempfile
import uuid
from pathlib import Path

import obstore

from everyagent.dev_cluster import s3


class S3Server(s3.S3Server):
    """Started by `start`, on the same port each time. Clients take the credentials from `environment`."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="everyagent-s3-", dir="/tmp")))

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def new_url(self) -> str:
        """The address of an empty place, for `--blobs`."""
        return self.url_of(uuid.uuid4().hex)

    def names(self, url: str) -> set[str]:
        """The names of all objects of a place."""
        found = obstore.list(self.store(url.split("?")[0].removeprefix("s3://bucket/"))).collect()
        return {meta["path"].rpartition("/")[2] for meta in found}
