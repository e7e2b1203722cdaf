"""Makes foreign Markdown safe inside an export: its tags become text, its fences are closed."""

import re

#: An escaped character, a code span, a run of back-ticks without its pair, or what may begin a tag.
_TOKENS = re.compile(r"\\.|(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|(?P<lone>`+)|(?P<tag><(?=[A-Za-z/!?]))")
_TAGS = re.compile(r"<(?=[A-Za-z/!?])")
_OPENING_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*$|(~{3,}))")


def contained(text: str) -> str:
    """The escaped text. An indented fence is moved to the margin: inside a list, it could end with the list."""
    lines: list[str] = []
    fence = ""
    plain = True
    for line in text.split("\n"):
        if fence:
            if re.fullmatch(rf" {{0,3}}{fence}{fence[0]}*[ \t]*", line):
                fence = ""
        elif opening := _OPENING_FENCE.match(line):
            fence = opening[1] or opening[2]
            line = line.lstrip(" ")
            plain = True
        else:
            plain = not line.strip(" \t") or (plain and _pairs_its_ticks(line))
            line = _TOKENS.sub(_tag_as_text, line) if plain else _TAGS.sub("&lt;", line)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def _pairs_its_ticks(line: str) -> bool:
    """True if all code spans of the line are closed. If so for every line of a paragraph, all readers agree on them.

    False for a table, whose cells may split a code span.
    """
    return "|" not in line and not any(token["lone"] for token in _TOKENS.finditer(line))


def _tag_as_text(token: re.Match[str]) -> str:
    return "&lt;" if token["tag"] else token[0]
