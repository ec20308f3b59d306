"""ULIDs: ids that sort by the time they were made, in Python alone."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PATTERN = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_RANDOM_BITS = 80
#: The end of the year 9999, in milliseconds: no clock is later.
_LAST_YEAR = 253_402_300_799_999


def is_ulid(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None


#: Every pair of letters, so that thirteen look-ups spell an id.
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)


def encode(milliseconds: int, randomness: int) -> str:
    value = (milliseconds << _RANDOM_BITS) | randomness
    high, low = value >> 60, value & (1 << 60) - 1  # halves are small integers, which Python shifts faster
    letters = [_PAIRS[high >> shift & 1023] for shift in (60, 50, 40, 30, 20, 10, 0)]
    return "".join(letters) + "".join([_PAIRS[low >> shift & 1023] for shift in (50, 40, 30, 20, 10, 0)])


class Ids:
    """Makes ULIDs that never repeat and always grow within a process, also when the clock goes back."""

    def __init__(self, milliseconds: Callable[[], int], random_bits: Callable[[int], int]) -> None:
        self._milliseconds = milliseconds
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._last = (-1, 0)

    def after(self, id: str) -> None:
        """Go on above an id that exists, so that ids grow over a ledger's life, whatever the clock says."""
        value = 0
        for letter in id:
            value = value << 5 | _ALPHABET.index(letter)
        with self._lock:
            # From a random start above it: counting on from the id itself, two processes whose clocks are
            # behind would make the same ids.
            self._last = max(self._last, ((value >> _RANDOM_BITS) + 1, self._random_bits(_RANDOM_BITS - 1)))

    def new(self) -> str:
        with self._lock:
            now, (then, randomness) = self._milliseconds(), self._last
            if now > then:
                # one bit is left free so that a burst within a millisecond cannot overflow
                self._last = (now, self._random_bits(_RANDOM_BITS - 1))
            else:
                self._last = (then, randomness + 1)
            return encode(*self._last)
