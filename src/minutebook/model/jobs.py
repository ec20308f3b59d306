"""Jobs: durable later work, enqueued in the transaction that caused it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    WAITING = "todo"
    DOING = "doing"
    DONE = "done"
    #: gave up after its last attempt; waits for somebody
    DEAD = "dead"


class Priority:
    """The smaller, the sooner. Projects take turns within one priority."""

    #: somebody waits for it
    NOW = 0
    #: follows from what somebody did
    SOON = 10
    #: keeps the house in order
    WHENEVER = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job that is asked for."""

    #: what is to be done: a name of the table of kinds
    kind: str
    project: str
    #: ids and numbers; never words that somebody wrote
    payload: dict[str, Any] = field(default_factory=dict)
    #: while one of this key waits or is being done, there is no second one
    unique_key: str | None = None
    #: not before; at once if not given
    due: str | None = None
    priority: int = Priority.SOON


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of later work."""

    id: str
    kind: str
    project: str
    state: JobState
    payload: dict[str, Any]
    priority: int
    due_at: str
    created_at: str
    #: attempts that were begun since it last came along
    attempts: int = 0
    #: how often a worker ended in the middle of it
    interruptions: int = 0
    unique_key: str | None = None
    worker: str | None = None
    lease_until: str | None = None
    fault: str | None = None
    outcome: str | None = None
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a listing."""

    id: str
    kind: str
    state: JobState
    attempts: int
    due_at: str
    #: how long ago it was asked for
    age: str
    fault: str | None
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Jobs that wait again."""

    jobs: tuple[str, ...]
    #: dead ones beyond the number that one call looks at
    more: int
    sentence: str
