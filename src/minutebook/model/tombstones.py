"""Tombstones: the traces of what was rejected, retired or erased, so that a correction sticks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    REJECTED = "rejected"
    RETIRED = "retired"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Tombstone:
    id: str
    project: str
    cause: Cause
    #: what lies under it: a memory or a proposal
    ref: str
    slug: str
    actor: str
    reason: str
    at: str
    seq: int
    #: the only agent that it holds for; empty for everyone
    agent: str = ""
    lifted_at: str | None = None
    lifted_by: str | None = None
