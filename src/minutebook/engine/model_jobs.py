"""Asking for what a model does: a job of its own, so that a model that is down costs nothing but its own work."""

from __future__ import annotations

from minutebook.call import Mind
from minutebook.engine.jobs import Desk
from minutebook.ledger import jobs
from minutebook.ledger.database import Tx
from minutebook.model.jobs import Priority, Request

EXTRACT_MODEL = "extract_model"


def ask_for(tx: Tx, desk: Desk, capture: str) -> None:
    """Have a model read what the rules have read, where there is one; and each extractor that was enabled."""
    if desk.world.model() is not None:
        _ask(tx, desk, {"capture": capture}, capture)
    for extractor in desk.world.providers.extractors():
        name = extractor.name
        _ask(tx, desk, {"capture": capture, "extractor": name}, f"{capture} {name}")


def _ask(tx: Tx, desk: Desk, payload: dict[str, str], key: str) -> None:
    request = Request(
        kind=EXTRACT_MODEL,
        project=desk.job.project,
        payload=payload,
        unique_key=key,
        priority=Priority.WHENEVER,
    )
    jobs.add(tx, desk.world.ids.new(), request, at=desk.world.clock())


def mind_of(desk: Desk) -> Mind | None:
    """Whoever is to read for a job: the extractor that it names, else the model."""
    name = desk.job.payload.get("extractor")
    if name is None:
        return desk.world.model()
    return next((each for each in desk.world.providers.extractors() if each.name == name), None)
