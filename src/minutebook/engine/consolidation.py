"""Consolidation on its own: a recurring job looks at the gates of every project, and where all are open asks for one."""

from __future__ import annotations

from minutebook.controller.consolidate import Task, consolidate
from minutebook.engine.jobs import Desk, Ending, Kind
from minutebook.ledger import consolidations, jobs, projects
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.consolidation import GATES_JOB, JOB
from minutebook.model.errors import MinutebookError
from minutebook.model.jobs import Priority, Request
from minutebook.model.scopes import GLOBAL
from minutebook.policy.gates import all_open, gates_of

#: Whose name the gates' consolidations bear.
CONSOLIDATOR = Actor(id="consolidation", name="consolidation", role=Role.SCRIBE)
#: Projects whose gates are looked at.
_PROJECTS = 10_000


def _look_at_gates(desk: Desk) -> Ending:
    """Ask for a consolidation of each project whose gates are open."""
    with desk.read() as tx:
        found = projects.list_(tx, archived=False, only=None, after=None, limit=_PROJECTS)
    ready: list[str] = []
    for project in found:
        if project.id == GLOBAL:
            continue
        desk.check()
        with desk.read() as tx:
            if _open(desk, tx, project.id):
                ready.append(project.id)

    def ask(tx: Tx) -> str:
        for project in ready:
            jobs.add(
                tx,
                desk.world.ids.new(),
                Request(kind=JOB, project=project, unique_key=project, priority=Priority.WHENEVER),
                at=desk.world.clock(),
            )
        return f"{len(ready)} of {len(found)} projects are ready."

    return ask


def _open(desk: Desk, tx: Tx, project: str) -> bool:
    limits = desk.world.limits
    return all_open(gates_of(consolidations.seen(tx, project, limits, desk.world.clock()), limits))


def _consolidate(desk: Desk) -> Ending:
    """One consolidation, in small pieces with pauses between them."""
    try:
        done = consolidate(
            Task(
                database=desk.database,
                world=desk.world,
                project=desk.job.project,
                actor=CONSOLIDATOR,
                origin=Origin.CONSOLIDATION,
                cause="gates",
                pace=desk.pace,
            )
        )
    except MinutebookError as error:
        if error.code != "exists":
            raise
        return lambda _tx: "Somebody is at it already."
    said = f"{done.looked} memories looked at; suggestions that wait: {sum(done.counts.values())}."
    return lambda _tx: said


GATING = Kind(GATES_JOB, _look_at_gates)
CONSOLIDATION = Kind(JOB, _consolidate, most_seconds=3_600.0)
