"""Effects of decoding, which the driver carries out after each batch."""

from typing import TypeAlias

from msgspec import Struct


class AllowPermission(Struct, frozen=True):
    """A permission that needs no user."""

    key: str


class AbortTurn(Struct, frozen=True):
    """The model's API keeps failing, so the turn is aborted."""


class CheckTurn(Struct, frozen=True):
    """OpenCode is idle although the turn has no end: its state is fetched."""


OpencodeEffect: TypeAlias = AllowPermission | AbortTurn | CheckTurn
