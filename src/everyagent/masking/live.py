"""The secrets of everything that runs in this process, for log lines and errors, which belong to no one session."""

from weakref import WeakSet

from everyagent.masking.masker import Masker

_live: "WeakSet[Masker]" = WeakSet()


def watch(masker: Masker) -> Masker:
    """Mask these secrets in log lines and errors for as long as the masker is in use."""
    if masker:
        _live.add(masker)
    return masker


def mask_live(text: str) -> str:
    for masker in list(_live):
        text = masker.mask_text(text)
    return text


def mask_live_json(body: bytes) -> bytes:
    for masker in list(_live):
        body = masker.mask_json(body)
    return body
