"""Tunes the memory allocator and the garbage collector at the start of the daemon."""

import ctypes
import gc

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_MIB = 1024 * 1024


def tune() -> None:
    """Keep freed memory for reuse, and exclude objects made at start-up from garbage collection.

    By default, glibc returns every large block to the system at once and faults it in again page by page.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 * _MIB)
        mallopt(_M_TRIM_THRESHOLD, 16 * _MIB)
        mallopt(_M_TOP_PAD, _MIB)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()
