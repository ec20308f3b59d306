"""Services for the official test clients: one with fixtures in this process, one as a user runs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minutebook.surfaces.http.exchange import App, Receive, Scope, Send
from tests.conftest import Clock
from tests.houses import House
from tests.scenarios.program import COMMAND
from tests.surfaces.services import Served
from tests.surfaces.talking import Service, serving

FIXTURES = "tests.conformance.fixtures:Fixtures"


@contextlib.contextmanager
def fixture_service(scratch: Path) -> Iterator[Service]:
    """The whole HTTP service with the suite's fixtures. The suite knows of no tokens, so each request gets one."""
    house = House(f"sqlite://{scratch}/ledger/ledger.db", scratch / "home", Clock())
    try:
        with serving(
            house, scratch / "s", conversation=FIXTURES, around=lambda app: _Bearing(app, house)
        ) as made:
            yield made
    finally:
        house.close()


class _Bearing:
    """Puts a token into every request that comes without one."""

    def __init__(self, app: App, house: House) -> None:
        from minutebook.operations import tokens

        self._app = app
        self._token = house.mother(tokens.create, role="coordinator", agent="Dallas").secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", b"Bearer " + self._token)]}
        await self._app(scope, receive, send)


class Installed(Served):
    command = COMMAND


@contextlib.contextmanager
def bearing(scratch: Path) -> Iterator[tuple[Installed, str, dict[str, str]]]:
    """The installed program with its service, its address, and a token for an agent and an operator."""
    program = Installed(scratch / "home", scratch)
    del program.environment["MINUTEBOOK_PROJECT"]
    try:
        program.ok("init")
        program.ok("actors", "add", "mother", "--role", "operator")
        secrets: dict[str, Any] = {}
        for role, name in (("agent", "ripley"), ("operator", "mother")):
            secrets[role] = program.ok("tokens", "create", "--role", role, "--agent", name)["secret"]
        program.ok("decisions", "write", "technical", "Tabs", "Indent by tabs.")
        yield program, program.status()["service"]["url"], secrets
    finally:
        program.end()
