"""What an operation is called with: who asks, where, when, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from minutebook.ledger.database import Database, Tx
from minutebook.ledger.visibility import Reader
from minutebook.model.actors import Actor, Origin
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import Ids
from minutebook.model.projects import Project
from minutebook.policy.limits import Limits


class Preview(Exception):
    """Raised to have everything undone that was tried, and its outcome returned all the same."""

    def __init__(self, value: Any) -> None:
        super().__init__("preview")
        self.value = value


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What comes in through the door: the clock, ids, randomness, limits."""

    clock: Callable[[], str]
    ids: Ids
    secret: Callable[[], str]
    limits: Limits
    #: where this ledger keeps its backups and its list of erasures
    home: Path


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
        return Reader.of(self.actor.id, self.actor.role, self.project.id)

    def new_id(self) -> str:
        return self.world.ids.new()

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
