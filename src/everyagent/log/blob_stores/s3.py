"""Contents in an S3 bucket. Credentials come from the environment (`AWS_*`), or from the machine's role."""

import io
import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import parse_qs, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from everyagent.errors import BlobsUnavailable
from everyagent.log.blob_stores.store import MARKER, PIECE_BYTES

if TYPE_CHECKING:
    from obstore.store import S3Config

#: Seconds for which nothing is tried after a failure, so that callers do not queue up.
PAUSE_SECONDS: Final = 0.5
#: One piece is sent or read within this time, with a second attempt for a connection that was cut.
_TIMEOUT, _CONNECT_TIMEOUT = timedelta(seconds=30), timedelta(seconds=3)
_PARALLEL_PIECES = 2


class S3Blobs:
    """`url` is `s3://bucket/prefix`; `?endpoint=` and `?region=` name another server than Amazon's."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        unknown = options.keys() - {"endpoint", "region"}
        if unknown:
            raise BlobsUnavailable(f"{url} has the unknown option {min(unknown)}. Known are endpoint and region.")
        self.name = f"s3://{parts.netloc}{parts.path.rstrip('/')}"
        endpoint = options.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL")
        config: S3Config = {}
        if endpoint:
            config["endpoint"] = endpoint
        if "region" in options or not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
            config["region"] = options.get("region", "us-east-1")
        try:
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                config=config,
                client_options={
                    "allow_http": bool(endpoint and endpoint.startswith("http://")),
                    "timeout": _TIMEOUT,
                    "connect_timeout": _CONNECT_TIMEOUT,
                },
                retry_config={"max_retries": 1, "retry_timeout": _TIMEOUT},
            )
        except BaseError as error:
            raise BlobsUnavailable(f"{self.name} cannot be used: {_reason(error)}.") from error
        self._failed_at = float("-inf")

    def put(self, file: BinaryIO, digest: bytes) -> None:
        """Large contents are sent in parts; S3 shows them only when all are there."""
        with self._explained():
            obstore.put(self._store, digest.hex(), file, chunk_size=PIECE_BYTES, max_concurrency=_PARALLEL_PIECES)

    def pieces(self, digest: bytes) -> Iterator[bytes]:
        """By ranges: each is a request of its own, so that large contents take no longer than their pieces may."""
        name = digest.hex()
        with self._explained():
            size = obstore.head(self._store, name)["size"]
        for start in range(0, size, PIECE_BYTES):
            with self._explained():
                piece = obstore.get_range(self._store, name, start=start, end=min(start + PIECE_BYTES, size))
            yield bytes(piece)

    def remove(self, digest: bytes) -> None:
        with self._explained():
            try:
                obstore.delete(self._store, digest.hex())
            except FileNotFoundError:  # not every S3 server takes this for success
                return

    def marker(self) -> str | None:
        with self._explained():
            try:
                return bytes(obstore.get(self._store, MARKER).bytes()).decode("utf-8", "replace")
            except FileNotFoundError:
                return None

    def mark(self, log_id: str) -> None:
        with self._explained():
            obstore.put(self._store, MARKER, io.BytesIO(log_id.encode()))

    @contextmanager
    def _explained(self) -> Generator[None]:
        if time.monotonic() - self._failed_at < PAUSE_SECONDS:
            raise self._away("it did not answer a moment ago")
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise self._away("the bucket does not exist") from error
            raise FileNotFoundError(str(error)) from error
        except BaseError as error:
            self._failed_at = time.monotonic()
            raise self._away(_reason(error)) from error

    def _away(self, reason: str) -> BlobsUnavailable:
        return BlobsUnavailable(
            f"The blobs in {self.name} cannot be reached ({reason}). Nothing was written; try again."
        )


def _reason(error: BaseError) -> str:
    """Its first line: the others are the request and the answer, for programmers."""
    return str(error).partition("\n")[0].strip().rstrip(".")
