"""The settings of the HTTP API, and the objects that every handler can use."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from everyagent import __version__
from everyagent.api.metrics import Metrics
from everyagent.api.proxies import TrustedProxies
from everyagent.api.start_limits import StartLimits, StartSettings
from everyagent.api.streaming import OpenStreams
from everyagent.model.oidc import OidcSettings
from everyagent.sessions import Sessions

if TYPE_CHECKING:
    from everyagent.api.forwarding import ClusterNode, Forwarder
    from everyagent.managed import Managed

MIB = 1 << 20


class ApiSettings(Struct, frozen=True, kw_only=True):
    """`token_file` is watched for another token; None if the token is a setting.

    `hosts` are accepted host names or whole `Host` values; `origins` are those of web pages that may use the API.
    Sessions of API keys work below `key_directory`, and never in a folder that contains `data_dir`.
    At most `max_requests` are handled at a time; 0 is no limit. Streams and downloads that have begun do not count.
    With `oidc`, people can sign in to the inspector with a provider. Requests may have `prefix` before their path, and
    forwarded headers count from `proxies`. With `access_log`, each response has a line in the log.
    `starts` limits the sessions that agents start over MCP.
    """

    token: str | None
    token_file: Path | None = None
    hosts: Collection[str] = ("127.0.0.1", "localhost", "[::1]")
    origins: Collection[str] = ()
    data_dir: Path | None = None
    key_directory: Path | None = None
    oidc: OidcSettings | None = None
    prefix: str = ""
    proxies: TrustedProxies | None = None
    access_log: bool = False
    starts: StartSettings = StartSettings()
    max_body: int = 32 * MIB
    max_upload: int = 1024 * MIB
    max_requests: int = 5_000
    version: str = __version__


class Context(Struct, frozen=True, kw_only=True):
    """`openapi` and `schema` return the encoded documents, `managed` the Managed Agents services; each is made once.

    `forwarder` and `node` are this daemon's part in a cluster, if it has one.
    """

    sessions: Sessions
    settings: ApiSettings
    metrics: Metrics
    readers: OpenStreams
    managed: "Callable[[], Managed] | None"
    openapi: Callable[[], bytes]
    schema: Callable[[], bytes]
    start_limits: StartLimits
    forwarder: "Forwarder | None" = None

    @property
    def node(self) -> "ClusterNode | None":
        return self.forwarder.node if self.forwarder else None
