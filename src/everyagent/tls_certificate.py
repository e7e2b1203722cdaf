"""The certificate with which the daemon serves HTTPS. It is read again when its files change."""

import os
import ssl
from pathlib import Path

import anyio

from everyagent.config import ConfigError
from everyagent.logs import get_logger

_LOOK_SECONDS = 2.0
logger = get_logger(__name__)


class TlsCertificate:
    """`context` serves new connections with the certificate that was read last. Raises `ConfigError`."""

    def __init__(self, cert: Path, key: Path | None) -> None:
        self._cert = cert
        self._key = key
        self._read = self._state()
        try:
            self.context = self._loaded()
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"The certificate {cert} cannot be used: {error}. It must be a PEM file, whose key is in it or in the "
                "file of --tls-key, without a passphrase."
            ) from error

    async def watch(self) -> None:
        """Read the files again when they change. A certificate that cannot be used leaves the former one in place."""
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            if (now := self._state()) == self._read:
                continue
            self._read = now
            try:
                self._loaded()  # into a context of its own: a key that does not fit would break the one in use
                self._load(self.context)
            except (OSError, ssl.SSLError) as error:
                logger.warning("the renewed certificate cannot be used", file=str(self._cert), why=str(error))
            else:
                logger.info("the certificate was read again", file=str(self._cert))

    def _loaded(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self._cert, self._key, password="")  # never ask on the terminal

    def _state(self) -> list[tuple[int, int] | None]:
        return [_state(path) for path in (self._cert, self._key) if path is not None]


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
