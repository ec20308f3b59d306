"""A process that exchanges two names, over and over, while the test works between them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = """
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).renameat2
call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
first, second = (os.fsencode(path) for path in sys.argv[1:])
swaps = 0
print("ready", flush=True)
os.set_blocking(0, False)
while True:
    for _ in range(64):
        swaps += call(-100, first, -100, second, 2) == 0
    # The pipe is closed when the test is over, whatever became of it.
    try:
        if os.read(0, 1) == b"":
            break
    except BlockingIOError:
        pass
print(swaps, flush=True)
"""


class Attacker:
    """The process, and how often it made the exchange once it has stopped."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.swaps = 0

    def stop(self) -> None:
        if not self.swaps:
            told, _ = self._process.communicate(timeout=20)
            self.swaps = int(told.split()[-1])


@contextmanager
def exchanging(first: Path, second: Path) -> Iterator[Attacker]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, str(first), str(second)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    attacker = Attacker(process)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield attacker
        attacker.stop()
    finally:
        process.kill()
        process.communicate()
