"""Which lines of a text hold a credential, and a text without some of its lines: pure, and no value leaves.

A file that is kept whole must not become the place where a secret is kept. Lines stay where they are, so that
whatever cites the other ones still finds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from minutebook.model.text import plain
from minutebook.policy import secrets

WITHHELD = "[withheld]"
#: Stretches that are looked for where no single line is one: a key over many lines, a token over two.
_MOST_STRETCHES = 50
#: A line that goes on with the credential above it: one unbroken run of the letters of keys, or the end of a block.
_GOES_ON = re.compile(
    r"[\s>\"'+|\\]*(?:[A-Za-z0-9+/_=-]{16,}|[A-Za-z0-9+/]{1,15}={0,2}|-----END[A-Z0-9 ]*-----)[\s\"'+|\\,;n]*"
)
_ENDS = "-----END"


def credential_lines(text: str) -> dict[int, str] | None:
    """Lines, counted from 1, that hold a credential, and the name of the rule that says so.

    None where there is one that cannot be pinned to lines: then nothing of the text may be kept.
    """
    if not _refusing(text):
        return {}
    lines = text.split("\n")
    found: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        rule = _refusing(line)
        if rule:
            found |= dict.fromkeys(_with_body(lines, number, number), rule)
    for _ in range(_MOST_STRETCHES):
        rest = _blanked(lines, found)
        rule = _refusing("\n".join(rest))
        if not rule:
            return found
        first, last = _stretch(rest)
        if first > last:
            return None
        found |= dict.fromkeys(_with_body(lines, first, last), rule)
    return None


def _with_body(lines: Sequence[str], first: int, last: int) -> range:
    """A stretch, and the lines below that go on with it: a rule is content with the beginning of a long key."""
    if not any("-----BEGIN" in line or "Private-Lines" in line for line in lines[first - 1 : last]):
        return range(first, last + 1)
    while last < len(lines) and _ENDS not in lines[last - 1] and _GOES_ON.fullmatch(lines[last][:4_000]):
        last += 1
    return range(first, last + 1)


def without_lines(text: str, numbers: Iterable[int]) -> str:
    """The text with a mark in the place of these lines, counted from 1; a CR at their end stays."""
    return "\n".join(_blanked(text.split("\n"), dict.fromkeys(numbers, "")))


def _refusing(text: str) -> str:
    refusing, _ = secrets.look(plain(text))
    return refusing[0] if refusing else ""


def _blanked(lines: Sequence[str], found: dict[int, str]) -> list[str]:
    return [
        line if number not in found else WITHHELD + ("\r" if line.endswith("\r") else "")
        for number, line in enumerate(lines, start=1)
    ]


def _stretch(lines: Sequence[str]) -> tuple[int, int]:
    """The first and last line, counted from 1, of a stretch that holds a credential; (1, 0) where none is found.

    By halving: the shortest beginning that is refused, then the shortest end of that.
    """
    low, high = 0, len(lines)
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _refusing("\n".join(lines[:middle])) else (middle, high)
    last = high
    low, high = 0, last
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if _refusing("\n".join(lines[middle:last])) else (low, middle)
    first = low + 1
    return (first, last) if _refusing("\n".join(lines[first - 1 : last])) else (1, 0)
