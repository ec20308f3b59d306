"""The victim that adopts a repository: its ledger, and what it finds in it when it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minutebook import settings
from minutebook.files import workspace
from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import adopt as adopting
from minutebook.operations import projects
from minutebook.operations.registry import to_plain
from minutebook.service import LocalClient, Service
from minutebook.wiring import open_service
from tests.invariants import state_of, violations

MOTHER = Actor("mother", "Mother", Role.OPERATOR)


def opened(home: Path) -> Service:
    return open_service(settings.load({}, home=home))


def client_of(service: Service, repository: Path) -> LocalClient:
    project = None
    if (repository / workspace.FOLDER).exists():
        project = workspace.read(repository / workspace.FOLDER / workspace.NAME).project
    return LocalClient(service, actor=MOTHER, origin=Origin.CLI, project=project, workspace=repository)


def prepare(home: Path, repository: Path) -> None:
    """A ledger that knows the project, and a directory that is bound to it."""
    service = opened(home)
    try:
        made = client_of(service, repository)(projects.create, name="Nostromo")
        workspace.create(repository, project=made.id, name="Nostromo", created_at="2026-01-01T00:00:00Z")
    finally:
        service.close()


def adopt(home: Path, repository: Path, *, activate: bool, ready: Any) -> dict[str, Any]:
    """Adopt; `ready` is told when the ledger is open and the steps that count begin."""
    service = opened(home)
    try:
        ready()
        told = client_of(service, repository)(adopting.adopt, confirm=True, activate=activate)
        state = state_of(service.database)
        return {"told": to_plain(told), "state": state, "violations": violations(state)}
    finally:
        service.close()
