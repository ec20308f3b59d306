"""Requests that never came through a door, for those who keep account of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.observing.observer import Observer


def asker(name: str = "ripley", project: str | None = None, token: str | None = None) -> Asker:
    return Asker(actor=Actor(name, name, Role.AGENT), origin=Origin.HTTP, project=project, token=token)


def ask(
    observer: Observer,
    operation: str = "inbox.list",
    *,
    surface: str = "http",
    by: Asker | None = None,
    client: str = "",
    carrier: Mapping[str, Any] | None = None,
    request: str = "",
    write: bool = False,
    error: MinutebookError | None = None,
    status: int = 200,
) -> None:
    """Tell an observer of one request, as a door does."""
    with observer.request(surface, operation, carrier, request) as seen:
        if by is not None:
            seen.asked_by(by, client)
        if write:
            seen.taken_up()
            seen.done()
        if error is not None:
            seen.failed(error)
        else:
            seen.status(status)
