"""Forged, stale and redirected requests of nodes are refused."""

import pytest
from msgspec.structs import replace

from everyagent.cluster.signing import VALID_MICROS, Forwarded, signed, verified
from everyagent.errors import Unauthorized, Unavailable
from everyagent.model.principals import OWNER

KEY = b"k" * 32
NOW = 1_000_000_000_000
REQUEST = Forwarded(target="node_b", at=NOW, method="POST", path="/v1/sessions/a/messages?x=1", principal=OWNER)


def check(header: str, now: int = NOW) -> Forwarded:
    return verified(header, KEY, target="node_b", now=now, method="POST", path="/v1/sessions/a/messages?x=1")


def test_a_signed_request_keeps_its_principal():
    assert check(signed(REQUEST, KEY)) == REQUEST


@pytest.mark.parametrize(
    "header",
    [
        "",
        ".",
        "é.é",
        "e30=." + "0" * 64,
        signed(REQUEST, b"another key"),
        signed(REQUEST, KEY)[:-1],
        "x" + signed(REQUEST, KEY),
        signed(replace(REQUEST, method="DELETE"), KEY),
        signed(replace(REQUEST, path="/v1/sessions/b/messages"), KEY),
    ],
)
def test_any_other_is_refused(header: str):
    with pytest.raises(Unauthorized):
        check(header)


@pytest.mark.parametrize(
    "header",
    [
        signed(replace(REQUEST, target="node_c"), KEY),
        signed(replace(REQUEST, at=NOW - VALID_MICROS - 1), KEY),
        signed(replace(REQUEST, at=NOW + VALID_MICROS + 1), KEY),
    ],
)
def test_one_for_another_node_or_time_is_to_be_sent_again(header: str):
    """Its client gets the answer of this node, and has done nothing wrong."""
    with pytest.raises(Unavailable):
        check(header)
