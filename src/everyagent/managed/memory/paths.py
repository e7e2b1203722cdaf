"""Paths of memories: validation, conflicts, and listing level by level. Pure."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from everyagent.errors import BadRequest

MAX_PATH_BYTES = 1024
MAX_SEGMENTS = 20
MOUNTS = "/mnt/memory"
_SLUG_CHARS = 200
#: Control and format characters, surrogates, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def fault_of(path: str) -> str | None:
    """The reason why a path is invalid, or None."""
    segments = path.split("/")
    if segments[0]:
        return "it does not begin with `/`"
    if any(unicodedata.category(char) in _UNSEEN for char in path):
        return "it has a control or format character in it"
    if any(segment in ("", ".", "..") for segment in segments[1:]):
        return "a part of it is empty, `.` or `..`"
    if len(segments) - 1 > MAX_SEGMENTS:
        return f"it has more than {MAX_SEGMENTS} parts"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"it has more than {MAX_PATH_BYTES} bytes"
    if not unicodedata.is_normalized("NFC", path):
        return "it is not in Unicode's normalization form C"
    return None


def checked_path(path: str) -> str:
    if fault := fault_of(path):
        raise BadRequest(f"{path[:MAX_PATH_BYTES]!r} is no path of a memory: {fault}.", field="path")
    return path


def folders_of(path: str) -> Iterator[str]:
    """The folders above a path, from the root, which is empty, down to its own."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def mount_path(name: str, store_id: str, taken: Iterable[str]) -> str:
    """A mount path made of the store's name, and a number if it is taken."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:_SLUG_CHARS].strip("-")
    wanted = f"{MOUNTS}/{slug or store_id.lower().replace('_', '-')}"
    used, path, number = set(taken), wanted, 1
    while path in used:
        number += 1
        path = f"{wanted}-{number}"
    return path


class ListedPath(NamedTuple):
    """A memory's path, or the folder of memories below the requested depth."""

    path: str
    is_prefix: bool


def entries(paths: Iterable[str], prefix: str, depth: int) -> Iterator[ListedPath]:
    """The paths below the prefix, in order; with a depth, deeper ones are listed by their folder, once."""
    folder = prefix[: prefix.rindex("/") + 1]
    last = ""
    for path in sorted(path for path in paths if path.startswith(prefix)):
        segments = path[len(folder) :].split("/")
        if not depth or len(segments) <= depth:
            yield ListedPath(path, is_prefix=False)
        elif (rolled := folder + "/".join(segments[:depth]) + "/") != last:
            last = rolled
            yield ListedPath(rolled, is_prefix=True)


def cursor_of(path: str, order: str) -> str:
    return "page_" + base64.urlsafe_b64encode(f"{order}:{path}".encode()).decode().rstrip("=")


def place_of(page: str, order: str) -> str:
    """Decodes a cursor."""
    try:
        encoded = page.removeprefix("page_")
        made, colon, path = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode().partition(":")
    except (binascii.Error, ValueError):
        made = colon = path = ""
    if not colon or made != order:
        raise BadRequest(
            "`page` is no cursor of this list. Use the `next_page` of the page before, as it came.", field="page"
        )
    return path
