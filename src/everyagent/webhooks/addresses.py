"""The addresses to which webhooks may be sent: public ones, and the networks that the operator names."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

import anyio

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
#: The addresses of a host name.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
#: IPv6 addresses that contain an IPv4 address, to which a gateway sends them.
_NAT64: Final = ip_network("64:ff9b::/96")
_IPV6_UNICAST: Final = ip_network("2000::/3")


class AddressRefused(Exception):
    """The message says which address it is, and which setting allows it."""


async def resolve(host: str, port: int) -> Sequence[str]:
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def networks(text: str) -> list[Network]:
    """Networks with commas between them. Raises `ValueError`."""
    return [ip_network(each.strip()) for each in text.split(",")]


class AddressRules:
    """`allowed` are the networks that the operator permits although they are not public."""

    def __init__(self, allowed: Sequence[Network], resolve: Resolve = resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve

    async def checked(self, host: str, port: int, *, encrypted: bool) -> list[str]:
        """The addresses of a host, all of which may be connected to. Raises `AddressRefused`, or `OSError`.

        One that is refused refuses the host: a name with a public and a private address is not used by mistake.
        """
        found = await self._resolve(host, port)
        for text in found:
            self._check(host, text, encrypted=encrypted)
        return list(found)

    def _check(self, host: str, text: str, *, encrypted: bool) -> None:
        address = ip_address(text.partition("%")[0])
        inner = _inner(address)
        if any(each in network for network in self._allowed for each in (address, inner)):
            return
        if not _is_public(address):
            raise AddressRefused(
                f"{host} has the address {text}, which is not public. The operator of the daemon can allow it: "
                f"`serve --webhook-networks {text}`."
            )
        if not encrypted:
            raise AddressRefused(f"{host} has the public address {text}: use https, so that nobody reads the messages.")


def _is_public(address: Address) -> bool:
    inner = _inner(address)
    if isinstance(address, IPv6Address) and isinstance(inner, IPv4Address) and address not in _IPV6_UNICAST:
        return _is_public(inner)
    if isinstance(address, IPv6Address) and address not in _IPV6_UNICAST:
        return False
    return address.is_global and not address.is_multicast and (inner == address or _is_public(inner))


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address
