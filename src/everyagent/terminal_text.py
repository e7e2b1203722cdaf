"""Makes text safe for a terminal. Text of agents may have sequences that set titles, clipboards, or hide other text."""

import re

#: Control characters but newline and tab; direction marks; line separators; invisible tags; lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Text in which everything that a terminal would act on is a visible sign. Newlines and tabs stay."""
    return _UNSAFE.sub(_sign, text.replace("\r\n", "\n"))


def visible_json(text: str) -> str:
    """The same JSON document, with such characters escaped."""
    return _UNSAFE.sub(lambda found: _escape(ord(found[0])), text)


def _sign(found: "re.Match[str]") -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
