"""Requests that come through a reverse proxy: its forwarded headers, and the prefix of its paths."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from everyagent.api.asgi import Scope


class TrustedProxies:
    """The proxies whose `X-Forwarded-...` headers count. Those of other peers are ignored: anybody can send them."""

    def __init__(self, networks: str) -> None:
        self._networks = tuple(ip_network(each.strip()) for each in networks.split(","))

    def includes(self, peer: str) -> bool:
        address = _address(peer)
        return address is not None and any(address in network for network in self._networks)

    def apply(self, scope: Scope) -> None:
        """Replace the client, the scheme and the `Host` by those that the proxy received."""
        client: tuple[str, int] | None = scope.get("client")
        if client is None or not self.includes(client[0]):
            return
        forwarded: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            if name in (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"):
                forwarded.setdefault(name, []).extend(value.decode("latin-1").split(","))
        if hops := forwarded.get(b"x-forwarded-for"):
            scope["client"] = (self._first_untrusted(hops, client[0]), 0)
        # The last value is the nearest proxy's own; those before it may come from the client.
        if (scheme := _last(forwarded, b"x-forwarded-proto")) in ("http", "https"):
            scope["scheme"] = scheme
        if host := _last(forwarded, b"x-forwarded-host"):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [*others, (b"host", host.encode("latin-1"))]

    def _first_untrusted(self, hops: list[str], nearest: str) -> str:
        """The client's address, as the proxy saw it that is the last trusted one on the way to the client."""
        for hop in reversed(hops):
            if (address := _address(hop.strip())) is None:
                break
            nearest = str(address)
            if not self.includes(nearest):
                break
        return nearest


def without_prefix(scope: Scope, prefix: str) -> None:
    """Remove the prefix from the request's path, if the proxy did not. Links that are sent back have it."""
    scope["root_path"] = prefix
    path: str = scope["path"]
    if path == prefix or path.startswith(prefix + "/"):
        scope["path"] = path.removeprefix(prefix) or "/"
        raw: bytes = scope.get("raw_path") or path.encode()
        scope["raw_path"] = raw.removeprefix(prefix.encode()) or b"/"


def _last(forwarded: dict[bytes, list[str]], name: bytes) -> str:
    return forwarded[name][-1].strip().lower() if name in forwarded else ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
