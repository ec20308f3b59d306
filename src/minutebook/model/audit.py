"""How healthy the memory of a project is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One thing that was looked for."""

    check: str
    count: int
    #: ok, or how much it matters: low, medium, high
    weight: str
    sentence: str
    #: a few of those that are meant, by slug
    examples: tuple[str, ...] = ()
    #: what to do about it
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Month:
    """What happened in a month: memories that were made, that were taken out of use, and showings to runs."""

    month: str
    added: int
    ended: int
    shown: int
    #: that stand at its end
    standing: int


@dataclass(frozen=True, slots=True)
class Audit:
    """A report on the memory of a project."""

    project: str
    at: str
    sentence: str
    #: active memories that were looked at, of how many
    looked: int
    standing: int
    checks: tuple[AuditLine, ...]
    months: tuple[Month, ...]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The same as a page of Markdown, with a plot of growth and use."""

    text: str
