"""Events: the ordered audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    seq: int
    kind: str
    subject: str
    project: str
    actor: str
    role: str
    origin: str
    at: str
    verdict: str | None = None
    run: str | None = None
    #: facts about it; never content
    detail: dict[str, Any] | None = None
