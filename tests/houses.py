"""A whole minutebook for a test: a ledger of either engine, a project, and people who ask."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.call import World
from minutebook.ledger.database import open_database
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.ids import Ids
from minutebook.model.text import fold_name
from minutebook.operations import actors, projects
from minutebook.policy.limits import Limits
from minutebook.service import LocalClient, Service
from minutebook.wiring import SCHEMA

#: The people of every test, by role.
PEOPLE = {
    "Mother": Role.OPERATOR,
    "Dallas": Role.COORDINATOR,
    "Ripley": Role.AGENT,
    "Bishop": Role.AGENT,
    "Ash": Role.AGENT,
    "Jones": Role.VIEWER,
}


@dataclass
class House:
    """`house.ripley(inbox.submit, ...)` asks as Ripley, in the project Nostromo."""

    url: str
    home: Path
    clock: Callable[[], str]
    limits: Limits = field(default_factory=Limits)
    seed: int = 1
    service: Service = field(init=False)
    project: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._ticks = 1_767_225_600_000
        self._random = random.Random(self.seed)
        self.open()
        found = self.mother(projects.list_).items
        known = {project.slug: project.id for project in found}
        self.project = known.get("nostromo") or self._settle()

    def _settle(self) -> str:
        project = self.mother(projects.create, name="Nostromo")
        for name, role in PEOPLE.items():
            if role is not Role.OPERATOR:
                self.mother(actors.add, name=name, role=role)
        return project.id

    def open(self) -> None:
        """Open the ledger, as a starting process does."""
        world = World(
            clock=self.clock,
            ids=Ids(self._tick, self._random.getrandbits),
            secret=lambda: f"{self._random.getrandbits(256):064x}",
            limits=self.limits,
            home=self.home,
        )
        database = open_database(self.url, schema=SCHEMA, wait=10, clock=self.clock)
        self.service = Service(database, world)

    def _tick(self) -> int:
        self._ticks += 1
        return self._ticks

    def restart(self) -> None:
        self.service.close()
        self.open()

    def close(self) -> None:
        self.service.close()

    def new_project(self, name: str) -> str:
        return self.mother(projects.create, name=name).id

    def as_(
        self, name: str, *, project: str | None = None, origin: Origin = Origin.PYTHON, run: str | None = None
    ) -> LocalClient:
        """A caller with that person's name and role; strangers are agents."""
        actor = self.service.actor(name) or Actor(fold_name(name), name, PEOPLE.get(name.title(), Role.AGENT))
        return LocalClient(
            self.service, actor=actor, origin=origin, project=project or self.project or None, run=run
        )

    def __getattr__(self, name: str) -> LocalClient:
        if name.title() in PEOPLE:
            return self.as_(name.title())
        raise AttributeError(name)

    def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        """Look into the tables, for what no operation shows."""
        with self.service.database.read() as tx:
            return tx.all(sql, **params)
