"""The owner's token. A replaced token file takes effect at the next request."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from everyagent.logs import get_logger

logger = get_logger(__name__)


class OwnerToken:
    """`file` is None if the token comes from a setting. `replaced` is called when the file has another token."""

    def __init__(self, token: str | None, file: Path | None = None) -> None:
        self.replaced: list[Callable[[], None]] = []
        self._digest = None if token is None else _digest(token)
        self._file = None if token is None else file
        self._stamp = self._stat()

    def digest(self) -> bytes | None:
        """The SHA-256 of the token that is valid now; None if none is needed."""
        if self._file is not None and (stamp := self._stat()) != self._stamp and stamp is not None:
            self._stamp = stamp
            self._read(self._file)
        return self._digest

    def _read(self, file: Path) -> None:
        try:
            token = file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            logger.error("the token file cannot be read, so the token stays as it is", why=str(error))
            return
        if token and (digest := _digest(token)) != self._digest:
            self._digest = digest
            logger.info("the token was replaced")
            for replaced in self.replaced:
                replaced()

    def _stat(self) -> tuple[int, int] | None:
        if self._file is None:
            return None
        try:
            status = os.stat(self._file)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
