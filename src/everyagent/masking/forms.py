"""The encodings in which a secret is found: plain, JSON-escaped, URL-encoded, base64 and hexadecimal."""

import base64
import re
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

#: Characters that neither JSON nor a URL encodes.
_LITERAL = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SHORT_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
#: `base64` breaks lines after 76 characters.
_LINE_BREAK = rb"(?:\\+[rn]|[\r\n])*"


class Form(Struct, frozen=True):
    """One encoding of a secret. `pattern` finds its variants; `literals` are the variants in common use.

    `runs` are parts that are the same in all variants but for the case of hexadecimal digits.
    """

    pattern: bytes
    literals: tuple[str, ...]
    runs: tuple[bytes, ...]


def forms_of(secret: bytes) -> list[Form]:
    forms = [_hexadecimal(secret), *(_base64(secret, shift) for shift in range(3))]
    try:
        return [_text(secret.decode()), *forms]
    except UnicodeDecodeError:
        return forms


def _text(secret: str) -> Form:
    escaped = msgspec.json.encode(secret).decode()[1:-1]
    literals = (
        secret,
        escaped,
        msgspec.json.encode(escaped).decode()[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
    )
    runs = re.split(rb"[^A-Za-z0-9._~-]+", secret.encode())
    return Form(b"".join(map(_character, secret)), tuple(dict.fromkeys(literals)), tuple(runs))


def _character(character: str) -> bytes:
    encoded = character.encode()
    if len(encoded) == 1 and encoded[0] in _LITERAL:
        return re.escape(encoded)
    percent = b"".join(b"%" + _any_case(b"%02x" % byte) for byte in encoded)
    units = character.encode("utf-16-be")
    pairs = [units[at : at + 2].hex().encode() for at in range(0, len(units), 2)]
    unicode = b"".join(rb"\\+u" + _any_case(pair) for pair in pairs)
    ways = [percent, unicode, re.escape(encoded)]
    if character == "\\":
        ways.append(rb"\\+")
    elif character in '"/':
        ways.append(rb"\\+" + encoded)
    elif character == " ":
        ways.append(rb"\+")
    elif short := _SHORT_ESCAPES.get(character):
        ways.append(rb"\\+" + short.encode())
    return b"(?:" + b"|".join(ways) + b")"


def _base64(secret: bytes, shift: int) -> Form:
    """As it is encoded after `shift` (mod 3) other bytes: only the characters that depend on nothing else."""
    first = (0, 2, 3)[shift]
    whole = (shift + len(secret)) * 8 // 6
    encoded = base64.b64encode(b"\0" * shift + secret)[first:whole]
    pattern = _LINE_BREAK.join(_base64_character(bytes((byte,))) for byte in encoded)
    literals = encoded.decode(), encoded.decode().replace("+", "-").replace("/", "_")
    return Form(pattern, tuple(dict.fromkeys(literals)), tuple(re.split(rb"[+/]+", encoded)))


def _base64_character(character: bytes) -> bytes:
    match character:
        case b"+":
            return rb"(?:[+-]|%2[bB])"
        case b"/":
            return rb"(?:\\*/|_|%2[fF])"
        case _:
            return character


def _hexadecimal(secret: bytes) -> Form:
    lower = secret.hex()
    runs = lower.encode(), lower.upper().encode()
    return Form(_any_case(runs[0]), (lower, lower.upper()), runs)


def _any_case(hexadecimal: bytes) -> bytes:
    """Matches these digits in upper and lower case."""
    digits = (bytes((byte,)) for byte in hexadecimal)
    return b"".join(b"[" + digit + digit.upper() + b"]" if digit.isalpha() else digit for digit in digits)
