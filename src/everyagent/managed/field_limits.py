"""Types with length limits for request fields, and the rules of metadata."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from everyagent.errors import BadRequest

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
Description: TypeAlias = Annotated[str, Meta(max_length=2048)]
PageLimit: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
LongPageLimit: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]

_KEYS = 16
_KEY_LENGTH = 64
_VALUE_LENGTH = 512


def checked_metadata(metadata: dict[str, str]) -> dict[str, str]:
    if len(metadata) > _KEYS:
        raise _refused(f"`metadata` has at most {_KEYS} keys; these are {len(metadata)}.")
    for key, value in metadata.items():
        if not 1 <= len(key) <= _KEY_LENGTH or len(value) > _VALUE_LENGTH:
            raise _refused(
                f"A key of `metadata` has 1 to {_KEY_LENGTH} characters, a value at most {_VALUE_LENGTH}; "
                f"{key[:_KEY_LENGTH]!r} has not."
            )
    return metadata


def merged_metadata(old: dict[str, str], patch: dict[str, str | None] | None) -> dict[str, str]:
    """Merges a patch key by key. A null or empty value removes its key; null as the patch removes all keys."""
    merged: dict[str, str | None] = {} if patch is None else {**old, **patch}
    return checked_metadata({key: value for key, value in merged.items() if value})


def _refused(detail: str) -> BadRequest:
    return BadRequest(detail, field="metadata", error_code="invalid_metadata")
