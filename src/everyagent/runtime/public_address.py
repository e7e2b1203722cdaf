"""Decides whether an IP address belongs to the public internet. `ipaddress.is_global` is wrong for several kinds."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this machine
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, also used by metadata services
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, also used by metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
#: Inside of `2000::/3`: special purposes, Teredo, documentation, and 6to4 (which contains an IPv4 address).
_NOT_PUBLIC_6 = tuple(IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
#: An IPv4 address in the last 32 bits: mapped, and that of NAT64.
_EMBEDDED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


def is_public(address: str) -> bool:
    """`address` may have a scope, as in `fe80::1%eth0`. Anything that is no address is not public."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public_4(found) if isinstance(found, IPv4Address) else _is_public_6(found)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC)


def _is_public_6(address: IPv6Address) -> bool:
    if any(address in network for network in _EMBEDDED):
        return _is_public_4(IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _GLOBAL_UNICAST and not any(address in network for network in _NOT_PUBLIC_6)
