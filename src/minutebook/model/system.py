"""What is said about the house itself: its health, its copies, and what came in or went out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ok, warning (works, but see to it), error (does not work).
State = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do about it."""

    state: State
    what: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """How the ledger is, seen from the inside."""

    state: Literal["ok", "degraded", "failing"]
    findings: tuple[Finding, ...]
    engine: str
    version: str
    where: str
    schema_version: int
    size_bytes: int
    wal_bytes: int | None
    disk_free_bytes: int
    owner_pid: int | None
    writes_waiting: int
    projects: int
    memories_active: int
    proposals_pending: int
    tombstones_standing: int
    texts_missing: int
    last_backup_at: str | None
    last_backup: str | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What doctor found, from the outside in."""

    state: State
    findings: tuple[Finding, ...]
    health: Health | None


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the ledger that was restored once, to be sure of it."""

    file: str
    bytes: int
    rows: int
    schema_version: int
    proof: str
    pruned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """An archive that was written."""

    file: str
    bytes: int
    sha256: str
    project: str | None
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class Clash:
    """A row of an archive that is here already, with other content. The one here stands."""

    table: str
    id: str
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """Something that came in otherwise than it was: put away, renamed, closed or without its words."""

    table: str
    id: str
    became: str
    because: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an archive brought, or would bring."""

    applied: bool
    file: str
    rows: dict[str, int]
    known: int
    conflicts: tuple[Clash, ...]
    asides: tuple[Aside, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was built anew."""

    memories: int
    proposals: int
    texts_mended: int
    texts_removed: int
    bands_removed: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did, or would do."""

    applied: bool
    file: str
    where: str
    schema_version: int
    rows: int
    erased_again: tuple[str, ...]
    kept: str | None
    sentence: str
