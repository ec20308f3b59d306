"""How a number of things is said: `1 file`, `2 files`. One place, so that no sentence says `1 files`."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """The number and its noun, which gets an s unless `many` says otherwise."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
