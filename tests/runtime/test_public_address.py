"""Which addresses count as the public internet."""

import asyncio
import socket
from ipaddress import ip_address

import pytest
from tests.runtime.test_proxy import asked, page, proxied, serving

from everyagent.runtime.public_address import is_public

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.1
172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.0 223.255.255.255
2606:4700::1111 2a00:1450::1 2001:4860:4860::8888 2400:cb00::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
"""
NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.169.254
169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1
198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::10.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:192.168.0.1 ::ffff:0.0.0.0
::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::7f00:1 100::1 2001::1 2001:0:7f00:1:: 2001:10::1
2001:db8::1 2002:7f00:1:: 2002:c0a8:101:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%lo fec0::1 ff02::1
localhost 0x7f000001
"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC.split())
def test_an_address_of_this_machine_or_its_networks_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
async def test_an_allowed_name_does_not_lead_to_an_address_that_is_not_public(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """The server of the test listens where the name leads, so that an unchecked connection would succeed."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    async def resolve(*_: object, **__: object) -> list[object]:
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0))]

    async with (
        serving(page) as there,
        proxied("trap.example.org") as port,
        proxied("trap.example.org", str(ip_address(address))) as open_,
    ):
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        request = b"GET http://trap.example.org:%d/ HTTP/1.1\r\nHost: x\r\n\r\n" % there
        refused, admitted = await asked(port, request), await asked(open_, request)
    assert refused.startswith(b"HTTP/1.1 502 ")
    assert b"is not public" in refused
    assert admitted.startswith(b"HTTP/1.1 200 ")
