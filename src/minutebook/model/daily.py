"""Daily logs: what happened in a scope on one day, in lines."""

from __future__ import annotations

from dataclasses import dataclass

#: A part of a day's log holds so much; the next one goes on.
MOST_LINES = 5_000
MOST_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class DailyLine:
    """One day of one scope, counted."""

    day: str
    #: project, global, or agent:NAME
    scope: str
    events: int
    added: int
    changed: int
    proposed: int
    refused: int


@dataclass(frozen=True, slots=True)
class DailyLog:
    """A day of one scope: a part of it, and how many there are."""

    day: str
    scope: str
    part: int
    parts: int
    text: str
