"""The addresses to which webhooks may be sent: public ones, and the networks that the operator names."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

import anyio

from everyagent.runtime.public_address import is_public

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
#: The addresses of a host name.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


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
        if any(_named(text) in network for network in self._allowed):
            return
        if not is_public(text):
            raise AddressRefused(
                f"{host} has the address {text}, which is not public. The operator of the daemon can allow it: "
                f"`serve --webhook-networks {text}`."
            )
        if not encrypted:
            raise AddressRefused(f"{host} has the public address {text}: use https, so that nobody reads the messages.")


def _named(text: str) -> Address:
    """The address, without its scope; an IPv4 address that is written as an IPv6 one is that IPv4 address."""
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
