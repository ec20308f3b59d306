"""A day's log as text, in parts of a bounded size. Nothing is in it but names, kinds and times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minutebook.model.daily import MOST_BYTES, MOST_LINES


def line_of(at: str, kind: str, actor: str, op: str | None, type: str | None, slug: str | None) -> str:
    """One line: when, who, what, and the name of what it was about."""
    about = " ".join(word for word in (op, type, slug) if word)
    return f"- {at[11:19]} {actor} {kind}" + (f": {about}" if about else "")


def parts_of(day: str, scope: str, lines: Iterable[str]) -> Iterator[str]:
    """The log of a day. What does not fit into a part begins the next one: nothing is dropped."""
    head = f"# {day}, {scope}\n\n"
    part, size, count = [], len(head.encode()), 0
    for line in lines:
        length = len(line.encode()) + 1
        if part and (count >= MOST_LINES or size + length > MOST_BYTES):
            yield head + "\n".join(part) + "\n"
            part, size, count = [], len(head.encode()), 0
        part.append(line)
        size, count = size + length, count + 1
    if part:
        yield head + "\n".join(part) + "\n"
