"""A Markdown file as every parser sees it: lines, which of them are code, and the headings outside of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from minutebook.files.front_matter import bad_line
from minutebook.files.lines import digest_of, lines_of

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
#: Longer lines are no headings, fields or fences: they are text.
MOST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its line, counted from 0, its level, and its words."""

    line: int
    level: int
    text: str


class Document:
    """The lines of a file, counted from 0 here and from 1 in every span that leaves."""

    def __init__(self, data: bytes) -> None:
        self._bytes = lines_of(data)
        self.lines = [_decoded(line, number) for number, line in enumerate(self._bytes, start=1)]

    def digest(self, first: int, last: int) -> str:
        """The hash of lines, the last one included, both counted from 0."""
        return digest_of(self._bytes[first : last + 1])

    @cached_property
    def shut(self) -> list[bool]:
        """For every line, whether it is code or a comment, in which nothing is structure."""
        return _shut(self.lines)

    @cached_property
    def headings(self) -> list[Heading]:
        found = []
        for number, line in enumerate(self.lines):
            if "#" not in line[:4] or self.shut[number] or len(line) > MOST_LINE:
                continue
            match = _HEADING.match(line)
            if match and (text := _open_ended((match[2] or "").strip())):
                found.append(Heading(number, len(match[1]), text))
        return found

    @cached_property
    def heading_lines(self) -> frozenset[int]:
        return frozenset(heading.line for heading in self.headings)

    def is_blank(self, number: int) -> bool:
        return not self.lines[number].strip()

    def is_rule(self, number: int) -> bool:
        return is_rule(self.lines[number]) and not self.shut[number]


def is_rule(line: str) -> bool:
    """Whether a line draws a rule across the page."""
    return len(line) < 200 and line.strip()[:1] in ("-", "*", "_") and _RULE.match(line) is not None


def _open_ended(text: str) -> str:
    """The words of a heading without the signs that may close it; the one of `C#` is a letter of a word."""
    words = text.rstrip("#")
    return words.strip() if not words or words[-1] in " \t" else text


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad_line(number, f"It is not UTF-8: {error.reason}.") from None


def _fence(line: str) -> tuple[str, int, bool] | None:
    """The sign of a code fence, how often it stands there, and whether nothing follows (so that it can close)."""
    if len(line) > MOST_LINE or ("```" not in line and "~~~" not in line):
        return None
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return None
    return match[1][0], len(match[1]), not match[2].strip()


def _shut(lines: list[str]) -> list[bool]:
    """One pass from the end learns which fences can close at all, one from the start opens and closes them.

    A fence that nothing closes is text: in a ledger that many hands append to, it must not swallow the rest.
    """
    fences = [_fence(line) for line in lines]
    closing: list[tuple[int, int, bool]] = [(0, 0, False)] * (len(lines) + 1)
    for number in range(len(lines) - 1, -1, -1):
        ticks, tildes, arrow = closing[number + 1]
        fence = fences[number]
        if fence is not None and fence[2]:
            ticks, tildes = (
                (max(ticks, fence[1]), tildes) if fence[0] == "`" else (ticks, max(tildes, fence[1]))
            )
        closing[number] = (ticks, tildes, arrow or "-->" in lines[number])
    shut = [False] * len(lines)
    sign, length = "", 0
    for number, line in enumerate(lines):
        fence = fences[number]
        if sign:
            shut[number] = True
            ends = sign == "<" and "-->" in line
            ends = ends or (fence is not None and fence[2] and fence[0] == sign and fence[1] >= length)
            sign = "" if ends else sign
        elif fence is not None and closing[number + 1][0 if fence[0] == "`" else 1] >= fence[1]:
            shut[number] = True
            sign, length = fence[0], fence[1]
        elif line.lstrip(" \t").startswith("<!--"):
            shut[number] = True
            sign = "<" if "-->" not in line and closing[number + 1][2] else ""
    return shut
