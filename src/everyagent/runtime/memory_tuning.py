"""How this process keeps memory: tuned once, when the daemon starts."""

import ctypes
import gc

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_MIB = 1024 * 1024


def tune() -> None:
    """Memory that a page of events took is there for the next one; what start-up made is not looked through again.

    By default glibc hands every large block back to the system at once, and fetches it anew page by page.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 * _MIB)
        mallopt(_M_TRIM_THRESHOLD, 16 * _MIB)
        mallopt(_M_TOP_PAD, _MIB)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
