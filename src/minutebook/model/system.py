"""What is said about the house itself: its health, its copies, and what came in or went out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minutebook.model.meaning import Embedded
from minutebook.model.providers import ProviderLine

#: ok, warning (works, but see to it), error (does not work).
State = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do about it."""

    state: State
    what: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class LastSeen:
    """Somebody who asked lately, by who they are, the door they came through, and their program."""

    actor: str
    surface: str
    #: what the program calls itself: a host's name, a library; nothing that was proved
    client: str
    project: str | None
    last_seen_at: str
    requests: int


@dataclass(frozen=True, slots=True)
class Duty:
    """Something that works behind the ledger, and how it is doing."""

    name: str
    #: when its last step succeeded
    stepped_at: str | None
    #: steps that failed since then, why the last one did, and since when that is so
    failures: int = 0
    fault: str | None = None
    failing_since: str | None = None


@dataclass(frozen=True, slots=True)
class Presence:
    """The process that has the ledger open, what works behind it, and who has come to its doors."""

    pid: int = 0
    version: str = ""
    since: str = ""
    #: where it listens; none for a command that owns the ledger for its own time
    addresses: tuple[str, ...] = ()
    connections: int = 0
    followers: int = 0
    requests: int = 0
    visitors: tuple[LastSeen, ...] = ()
    duties: tuple[Duty, ...] = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that has the ledger open and answered."""

    pid: int
    version: str
    since: str
    #: "the service", or "this command, for as long as it runs"
    what: str


@dataclass(frozen=True, slots=True)
class Uptime:
    """The service, when one answered."""

    addresses: tuple[str, ...]
    uptime_seconds: int
    connections: int | None
    followers: int | None
    requests: int | None


@dataclass(frozen=True, slots=True)
class Queue:
    """The writer and what waits for it."""

    waiting: int
    oldest_wait_seconds: float
    #: of the last minutes
    longest_wait_seconds: float
    #: how long the last commits took, the middle one of them
    commit_seconds: float
    #: why no write is accepted any more
    halted: str | None


@dataclass(frozen=True, slots=True)
class Jobs:
    """Later work, by its state; a dead one gave up after its last attempt and waits for somebody."""

    todo: int
    doing: int
    done: int
    dead: int
    #: how many seconds the one that should have begun first is late
    late_seconds: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what is stored can be found: by its text, as a near duplicate, by its tags."""

    #: memories and proposals that have words
    rows: int
    share: float
    texts_missing: int
    sketches_missing: int
    tags_missing: int


@dataclass(frozen=True, slots=True)
class Mirror:
    """The generated files; `none` where nothing is mirrored."""

    state: Literal["none", "current", "behind"] = "none"
    events_behind: int = 0
    #: workspaces on the machine that answers, and what keeps some of them from being served
    workspaces: int = 0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """How the ledger is, seen from the inside, as far as it concerns the one who asks.

    Whoever is not trusted with the whole ledger is told of the house and of their own project: what would
    speak of other projects is left out (None, or nothing in the list).
    """

    state: Literal["ok", "degraded", "failing"]
    findings: tuple[Finding, ...]
    #: the whole ledger, or the project that the rest is about
    about: str
    engine: str
    version: str
    where: str | None
    schema_version: int
    size_bytes: int | None
    wal_bytes: int | None
    disk_free_bytes: int
    projects: int | None
    memories_active: int | None
    proposals_pending: int | None
    tombstones_standing: int | None
    last_backup_at: str | None
    #: in whole days
    last_backup_age: int | None
    last_backup: str | None
    owner: Owner
    service: Uptime | None
    writer: Queue
    #: None where the tables cannot be read
    jobs: Jobs | None
    index: Coverage | None
    mirror: Mirror
    meaning: Embedded
    visitors: tuple[LastSeen, ...]
    #: what works behind the ledger; nothing where a command owns it for its own time
    duties: tuple[Duty, ...] = ()
    #: providers of other packages that are enabled, and how they do here
    providers: tuple[ProviderLine, ...] = ()


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
    #: vectors that were made; None where they were left as they are
    vectors_made: int | None = None


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
