"""The addresses to which webhooks may be sent."""

from collections.abc import Sequence

import pytest

from everyagent.webhooks.addresses import AddressRefused, AddressRules, networks

NOT_PUBLIC = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fd00::1", "ff02::1", "fec0::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1"),
]


def rules(allowed: str, *addresses: str) -> AddressRules:
    async def resolved(host: str, port: int) -> Sequence[str]:
        return addresses

    return AddressRules(networks(allowed) if allowed else (), resolved)


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_an_address_that_is_not_public_is_refused_with_the_setting_that_allows_it(address: str) -> None:
    with pytest.raises(AddressRefused, match="--webhook-networks"):
        await rules("", address).checked("hooks.example", 443, encrypted=True)


async def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        await rules("", "93.184.215.14", "10.0.0.1").checked("hooks.example", 443, encrypted=True)


async def test_public_addresses_need_https() -> None:
    addresses = ["93.184.215.14", "2606:4700::1111", "64:ff9b::5db8:d70e", "::ffff:93.184.215.14"]
    public = rules("", *addresses)
    assert await public.checked("hooks.example", 443, encrypted=True) == addresses
    with pytest.raises(AddressRefused, match="https"):
        await public.checked("hooks.example", 80, encrypted=False)


async def test_networks_that_the_operator_names_are_allowed_without_https() -> None:
    allowed = "10.0.0.0/8, 127.0.0.1, ::1"
    for address in ("10.9.9.9", "127.0.0.1", "::1", "::ffff:10.0.0.1"):
        assert await rules(allowed, address).checked("inside", 80, encrypted=False) == [address]
    for address in ("127.0.0.2", "192.168.0.1"):
        with pytest.raises(AddressRefused):
            await rules(allowed, address).checked("inside", 80, encrypted=False)
