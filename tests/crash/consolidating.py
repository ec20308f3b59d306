"""The victim that consolidates a project and takes what that suggests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from minutebook import settings
from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import consolidation, memories, projects
from minutebook.service import LocalClient, Service
from minutebook.wiring import open_service
from tests.invariants import state_of, violations

MOTHER = Actor("mother", "Mother", Role.OPERATOR)
SAID = {
    "port-one": "The beacon of the lower deck listens on port 8080 when the ship is docked.",
    "port-two": "The beacon of the lower deck listens on port 9090 when the ship is docked.",
    "proxy-one": "The staging proxy of the shop drops every upload that is larger than the limit.",
    "proxy-two": "The staging proxy of the shop drops every upload that is larger than the limit. Always.",
    "freeze": "The release branch of the shop is frozen until 2020-06-30.",
}


def _client(service: Service) -> LocalClient:
    return LocalClient(service, actor=MOTHER, origin=Origin.CLI, project="nostromo")


def prepare(home: Path) -> None:
    service = open_service(settings.load({}, home=home))
    try:
        client = _client(service)
        client(projects.create, name="Nostromo")
        for slug, content in SAID.items():
            client(memories.write, type="project", slug=slug, title=slug, content=content, tag=[slug])
    finally:
        service.close()


def consolidate(home: Path, ready: Callable[[], None]) -> dict[str, Any]:
    """Consolidate, and take everything; `ready` is told when the steps that count begin."""
    service = open_service(settings.load({}, home=home))
    try:
        client = _client(service)
        ready()
        batch = client(consolidation.run)
        for suggestion in batch.suggestions:
            client(consolidation.take, id=suggestion.id)
        with service.database.read() as tx:
            runs = [row["state"] for row in tx.all("SELECT state FROM consolidations ORDER BY id")]
            taken = sorted(
                (row["kind"], row["state"]) for row in tx.all("SELECT kind, state FROM suggestions")
            )
        state = state_of(service.database)
        return {"runs": runs, "taken": taken, "state": state, "violations": violations(state)}
    finally:
        service.close()
