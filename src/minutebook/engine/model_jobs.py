"""Asking for what a model does: a job of its own, so that a model that is down costs nothing but its own work."""

from __future__ import annotations

from minutebook.engine.jobs import Desk
from minutebook.ledger import jobs
from minutebook.ledger.database import Tx
from minutebook.model.jobs import Priority, Request

EXTRACT_MODEL = "extract_model"


def ask_for(tx: Tx, desk: Desk, capture: str) -> None:
    """Have a model read what the rules have read, where there is one."""
    if desk.world.mind is None:
        return
    request = Request(
        kind=EXTRACT_MODEL,
        project=desk.job.project,
        payload={"capture": capture},
        unique_key=capture,
        priority=Priority.WHENEVER,
    )
    jobs.add(tx, desk.world.ids.new(), request, at=desk.world.clock())
