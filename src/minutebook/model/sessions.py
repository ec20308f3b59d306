"""Sessions: the project's current focus; one open per project."""

from __future__ import annotations

from dataclasses import dataclass

#: Characters of a session's summary.
MOST_SUMMARY = 65_536


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    project: str
    #: the caller's own name for it, unique in the project
    session: str
    focus: str
    issues: tuple[str, ...]
    summary: str
    state: str | None
    started_by: str
    started_at: str
    updated_at: str
    ended_at: str | None = None
    ended_by: str | None = None

    @property
    def open(self) -> bool:
        return self.ended_at is None
