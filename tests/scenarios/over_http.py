"""A house whose people ask from outside: over HTTP, on a port, each with a token of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minutebook.operations import projects, tokens
from minutebook.surfaces.remote import RemoteClient, UrlLink
from tests.houses import PEOPLE, House
from tests.surfaces.serving import Served


class OverHttp:
    """`house.ripley(inbox.submit, …)` is a request with Ripley's token to a service that listens."""

    def __init__(self, house: House, served: Served) -> None:
        self.house = house
        self._link = UrlLink(f"http://127.0.0.1:{served.port}")
        self._clients: dict[tuple[str, str], RemoteClient] = {}

    def as_(self, name: str, *, project: str | None = None) -> RemoteClient:
        place = (name.title(), project or self.house.project)
        if place not in self._clients:
            role = PEOPLE[place[0]]
            secret = self.house.mother(tokens.create, role=role, agent=name, everywhere=True).secret
            self._clients[place] = RemoteClient(self._link, {}, project=place[1], token=secret)
        return self._clients[place]

    def __getattr__(self, name: str) -> RemoteClient:
        if name.title() in PEOPLE:
            return self.as_(name.title())
        raise AttributeError(name)

    def new_project(self, name: str) -> str:
        return self.mother(projects.create, name=name).id

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@contextmanager
def over_http(house: House) -> Iterator[OverHttp]:
    """The house behind its service, which listens as long as this lasts."""
    with tempfile.TemporaryDirectory(prefix="mb-") as place, Served(house, Path(place)) as served:
        asked = OverHttp(house, served)
        try:
            yield asked
        finally:
            asked.close()
