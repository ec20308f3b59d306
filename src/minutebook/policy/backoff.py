"""How long to wait: before something that failed is tried again, and between the pieces of what takes long."""

from __future__ import annotations

#: How long whoever does long work gives way between its pieces, in seconds. A write of somebody else needs the
#: interpreter a dozen times, and waits for us each time: so the pause is long enough for a whole write
#: (measured: bench/engine.py).
GIVING_WAY = 0.004


def pause(failures: int, *, first: float, last: float, chance: float) -> float:
    """Seconds: twice as long after each failure, up to `last`, and never twice the same.

    `chance` is 0 to 1. Half of the time is fixed and half is by chance, so that what failed together does not
    come back together.
    """
    whole = min(last, first * 2.0 ** min(max(failures - 1, 0), 60))
    return whole * (0.5 + chance / 2)
