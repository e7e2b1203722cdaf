"""Masking of secrets in every encoding, and in text that arrives in pieces."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from everyagent.masking.masker import Masker, marker
from everyagent.masking.stream import Beginnings, MaskedStream

SECRETS = {
    "PLAIN": "sk-live-4f9a8b7c6d5e4f3a2b1c",
    "QUOTED": "pa\"ss\\wo/rd\n<&>+ 'x' 99",
    "UNICODE": "пароль-für-😀-geheim",
    "NUMBER": "9081726354435261",
    "SHORT": "aZ3$kQ9!",
    "LONG": "eyJhbGciOiJIUzI1NiJ9." + "Qm9veWFo" * 30,
}
MASKER = Masker({value.encode(): name for name, value in SECRETS.items()})


def base64_after(prefix: str) -> Callable[[str], str]:
    return lambda secret: base64.b64encode((prefix + secret + " and more").encode()).decode()


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda secret: msgspec.json.encode(secret).decode(),
    "json ascii": json.dumps,
    "json in json": lambda secret: json.dumps(json.dumps({"a": secret})),
    "url": lambda secret: quote(secret, safe=""),
    "form": quote_plus,
    "url lower case": lambda secret: quote(secret, safe="").replace("%2F", "%2f").replace("%3C", "%3c"),
    "base64": base64_after(""),
    "base64 after 1": base64_after("x"),
    "base64 after 2": base64_after("xy"),
    "base64 url": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "base64 lines": lambda secret: base64.encodebytes(("x" * 40 + secret).encode()).decode(),
    "base64 in json": lambda secret: json.dumps(base64.encodebytes(("x" * 50 + secret).encode()).decode()),
    "hex": lambda secret: secret.encode().hex(),
    "hex upper case": lambda secret: secret.encode().hex().upper(),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_masked_in_every_encoding(name: str, encoding: str) -> None:
    encoded = ENCODINGS[encoding](SECRETS[name])
    for padding in range(8):  # the fast check looks at aligned parts
        text = "." * padding + encoded + " tail"
        masked = MASKER.mask_text(text)
        assert marker(name) in masked
        assert masked.startswith("." * padding)
        assert masked.endswith(" tail")
        assert len(masked) < len(encoded) // 2 + 60


def test_text_without_a_secret_is_not_copied() -> None:
    body = b'{"text":"nothing to see"}'
    assert MASKER.mask(body) is body


@given(st.text(max_size=200))
def test_text_without_a_secret_does_not_change(text: str) -> None:
    assert MASKER.mask_text(text) == text


def test_a_secret_in_json_leaves_valid_json() -> None:
    masker = Masker({b"nabcdefgh": "N", b"9081726354435261": "NUMBER"})
    value = {"text": "line\nabcdefgh", "n": 9081726354435261, "list": [1, 2.5, None, True, "nabcdefgh"]}
    masked = msgspec.json.decode(masker.mask_json(msgspec.json.encode(value)))
    assert masked == {
        "text": "line\nabcdefgh",
        "n": "[secret NUMBER]",
        "list": [1, 2.5, None, True, "[secret N]"],
    }


def test_the_longer_of_two_secrets_that_begin_alike_is_masked() -> None:
    masker = Masker({b"abcdefgh": "SHORT", b"abcdefghijkl": "LONG"})
    assert masker.mask_text("abcdefghijkl abcdefghi") == "[secret LONG] [secret SHORT]i"


def test_a_marker_has_no_character_that_json_escapes() -> None:
    assert marker('my "server"\nAuth') == "[secret my_server_Auth]"


WORDS = st.sampled_from(
    [
        *SECRETS.values(),
        *(value[:-1] for value in SECRETS.values()),
        *(value[:3] for value in SECRETS.values()),
        "x ",
        SECRETS["PLAIN"].encode().hex(),
        base64.b64encode(SECRETS["PLAIN"].encode()).decode(),
    ]
)


@given(st.lists(WORDS, max_size=6).map("".join), st.lists(st.integers(1, 9), min_size=1))
@example(SECRETS["PLAIN"], [1])
def test_pieces_are_masked_like_the_whole_text(text: str, sizes: list[int]) -> None:
    stream, shown, at, turn = MaskedStream(MASKER, Beginnings(MASKER.literals)), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        shown += stream.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    assert shown + stream.flush() == MASKER.mask_text(text)


def test_an_end_that_cannot_begin_a_secret_is_not_held_back() -> None:
    stream = MaskedStream(Masker({b"abcdefgh": "A"}), Beginnings(["abcdefgh"]))
    assert [stream.feed(piece) for piece in ("hello ab", "c", "x", "yz")] == ["hello ", "", "abcx", "yz"]
