"""What an operation is called with: who asks, where, when, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from minutebook.ledger.database import Database, Tx
from minutebook.ledger.visibility import Reader
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.context import EvidenceState
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence
from minutebook.model.ids import Ids
from minutebook.model.projects import Project
from minutebook.model.system import Presence
from minutebook.policy.limits import Limits


class Preview(Exception):
    """Raised to have everything undone that was tried, and its outcome returned all the same."""

    def __init__(self, value: Any) -> None:
        super().__init__("preview")
        self.value = value


class Watch(Protocol):
    """Whoever wants to know how long a write waited, worked, and took to become durable."""

    def taken_up(self) -> None:
        """The writer begins with it; again when it has to run again."""
        ...

    def done(self) -> None:
        """Its work is done, and only the commit is left."""
        ...


class Witness(Protocol):
    """Whoever can look at what evidence points to, for the time of one call. Never raises, never waits long."""

    def state(self, evidence: Evidence) -> EvidenceState:
        """What became of what is cited."""
        ...

    def why(self, evidence: Evidence) -> tuple[EvidenceState, str]:
        """The same, and in a few words why."""
        ...

    def digest(self, evidence: Evidence) -> str | None:
        """The hash of what is cited, as it is now; None where that cannot be told."""
        ...


class Nobody:
    """The witness where no workspace is known."""

    def state(self, evidence: Evidence) -> EvidenceState:
        return EvidenceState.UNVERIFIABLE

    def why(self, evidence: Evidence) -> tuple[EvidenceState, str]:
        return EvidenceState.UNVERIFIABLE, "no workspace of the project is known here"

    def digest(self, evidence: Evidence) -> str | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What comes in through the door: the clock, ids, randomness, limits, the process around us."""

    clock: Callable[[], str]
    ids: Ids
    secret: Callable[[], str]
    limits: Limits
    #: where this ledger keeps its backups and its list of erasures
    home: Path
    #: the process that has the ledger open, and who was seen at its doors
    presence: Callable[[], Presence] = Presence
    #: looks at files for a call: given the root of a workspace and the id of the project that it must belong to
    witness: Callable[[Path, str], Witness] = lambda _root, _project: Nobody()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, through which door, for which project."""

    actor: Actor
    origin: Origin
    project: Project | None
    run: str | None = None
    key: str | None = None
    #: the id of the bearer token that named the actor, if one did
    token: str | None = None
    #: sees what an agent sees, whatever the role: a token of an agent that may only read
    as_agent: bool = False
    #: the root of the workspace that the caller works in, where its files can be read from here
    workspace: Path | None = None

    @property
    def needed_project(self) -> Project:
        """The project the call is about; an error that says what to do when there is none."""
        if self.project is None:
            raise MinutebookError(
                "no_project",
                "No project was named, and this directory belongs to none.",
                hint="run `minutebook init` here, or give --project NAME",
            )
        return self.project


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation, being carried out inside one transaction."""

    tx: Tx
    caller: Caller
    world: World
    now: str

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def limits(self) -> Limits:
        return self.world.limits

    @property
    def project(self) -> Project:
        return self.caller.needed_project

    @property
    def reader(self) -> Reader:
        role = Role.AGENT if self.caller.as_agent else self.actor.role
        return Reader.of(self.actor.id, role, self.project.id)

    @property
    def witness(self) -> Witness:
        """Whoever can look at the caller's files. Ask once for a call: what was looked at is remembered."""
        if self.caller.workspace is None or self.caller.project is None:
            return Nobody()
        return self.world.witness(self.caller.workspace, self.caller.project.id)

    def new_id(self) -> str:
        return self.world.ids.new()

    def in_bounds(self, project: str) -> bool:
        """Whether the caller may change what is of that project; for who is bound, what is global is not."""
        return self.actor.project in (None, project)

    def check_bounds(self, project: str) -> None:
        """Refuse a change outside the project that the caller is bound to."""
        if not self.in_bounds(project):
            raise MinutebookError(
                "other_project",
                f"{self.actor.name} is bound to one project, and this would change what others see.",
            )

    def preview(self, value: Any) -> NoReturn:
        """Give `value` as the answer, and undo everything that this call wrote."""
        raise Preview(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongCall:
    """One operation that runs outside any transaction, and may open several."""

    database: Database
    caller: Caller
    world: World

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def project(self) -> Project:
        return self.caller.needed_project

    def now(self) -> str:
        return self.world.clock()

    def inside(self, tx: Tx) -> Call:
        """The call as an operation sees it that runs in `tx`."""
        return Call(tx=tx, caller=self.caller, world=self.world, now=self.now())
