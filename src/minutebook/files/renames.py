"""Two renames that Python does not offer: exchange two names, and rename only onto nothing.

With them a file is taken out of its place, looked at, and only then destroyed, so that an edit made in the
last microsecond is seen. Where the system or the file system has no such call, `exchange` says so.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from typing import Any

_NO_REPLACE, _EXCHANGE = (1, 2) if sys.platform == "linux" else (4, 2)
#: What a system or a file system answers that has no such call.
_MISSING = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(first: str, second: str, folder: int) -> bool:
    """Give each of two names in a folder to what the other one names; False where the system cannot."""
    return _rename(first, second, folder, _EXCHANGE)


def rename_onto_nothing(old: str, new: str, folder: int) -> None:
    """Rename within a folder; FileExistsError where the new name is taken, whatever the system."""
    if not _rename(old, new, folder, _NO_REPLACE):
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(old, dir_fd=folder)


def _rename(old: str, new: str, folder: int, how: int) -> bool:
    call = _call()
    if call is None:
        return False
    if call(folder, os.fsencode(old), folder, os.fsencode(new), how) == 0:
        return True
    number = ctypes.get_errno()
    if number in _MISSING:
        return False
    raise OSError(number, os.strerror(number), new)


@cache
def _call() -> Any:
    """The system's own, or None: `renameat2` on Linux, `renameatx_np` on macOS."""
    library = ctypes.CDLL(None, use_errno=True)
    found = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if found is not None:
        found.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
        found.restype = ctypes.c_int
    return found
