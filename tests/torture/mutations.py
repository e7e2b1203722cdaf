"""Hostile values and mutations of JSON lines, for fuzzers and for the hostile agent."""

import random

import msgspec

SURROGATE = b'"\\ud800"'
DEEP = b"[" * 1_000_000 + b"]" * 1_000_000

#: Lines that no agent should send.
LINES: dict[str, bytes] = {
    "bad UTF-8": b'{"type":"text","text":"\xff\xfe\xc3\x28"}',
    "NUL": b'{"type":"te\x00xt"}\x00',
    "escaped NUL": b'{"type":"text","id":"a","index":0,"text":"\\u0000"}',
    "lone surrogate": b'{"type":"text","id":"b","index":0,"text":"\\ud800"}',
    "depth of 1,000,000": DEEP,
    "depth of 1,000,000 in a known frame": b'{"type":"assistant","message":' + DEEP + b"}",
    "number of 5,000 digits": b'{"type":"text","id":"c","index":' + b"9" * 5000 + b',"text":"x"}',
    "float without end": b'{"type":"result","duration_ms":1e400,"id":1e400}',
    "NaN": b'{"type":NaN,"method":NaN}',
    "torn JSON": b'{"type":"text","id":"d","ind',
    "byte order mark": b'\xef\xbb\xbf{"type":"text"}',
    "duplicate keys": b'{"type":"text","type":"result","method":"a","method":"b"}',
    "array": b"[1,2,3]",
    "bare string": b'"text"',
    "empty object": b"{}",
}

_VALUES: list[object] = [
    None, True, False, 0, -1, 2**53, 2**64, -(2**63), 1.5, "", "x", "\x00", "𐏿", "a" * 300,
    [], {}, [None], [[[]]], {"type": "text"}, {"id": None}, [{"type": "tool_use"}],
]  # fmt: skip


def mutated(line: bytes, chance: random.Random) -> bytes:
    """A line with one or more values replaced, removed, repeated or torn."""
    if chance.random() < 0.15:
        return _torn(line, chance)
    try:
        value: object = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _torn(line, chance)
    for _ in range(chance.randint(1, 3)):
        value = _changed(value, chance)
    body = msgspec.json.encode(value)
    if chance.random() < 0.1:
        body = body.replace(b'"x"', SURROGATE).replace(b"18446744073709551616", b"9" * 5000)
    return body


def _torn(line: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line) + 1)
    kind = chance.randrange(4)
    if kind == 0:
        return line[:at] or b" "
    if kind == 1:
        return line[:at] + bytes([chance.randrange(1, 256)]) + line[at + 1 :]
    if kind == 2:
        return line[:at] + b"\\ud800" + line[at:]
    return line[:at] + line[max(0, at - 20) :]


def _changed(value: object, chance: random.Random) -> object:
    if isinstance(value, dict) and value and chance.random() < 0.85:
        fields: dict[str, object] = dict(value)
        name = chance.choice(list(fields))
        if chance.random() < 0.2:
            del fields[name]
        else:
            fields[name] = _changed(fields[name], chance)
        return fields
    if isinstance(value, list) and value and chance.random() < 0.85:
        items: list[object] = list(value)
        at = chance.randrange(len(items))
        if chance.random() < 0.2:
            items.insert(at, items[at])
        else:
            items[at] = _changed(items[at], chance)
        return items
    return chance.choice(_VALUES)
