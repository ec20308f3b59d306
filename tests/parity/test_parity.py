"""Every operation through every surface: one answer, one error, on both databases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.operations.registry import REGISTRY
from tests import postgres
from tests.parity import story
from tests.parity.surfaces import SURFACES, InProcess, Surface, open_surface

ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", re.IGNORECASE)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
#: A time or a day as a page for people has it.
CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ|\b\d\d:\d\d:\d\d\b")
SECRET = re.compile(r"mbk_[A-Za-z0-9_-]{43}")
SHA = re.compile(r"\b[0-9a-f]{32,64}\b")
#: What a surface may say in its own way: which door it was, and what is true of one process or file only.
OWN = {"origin", "bytes", "rows", "sha256", "last_used_at", "size_bytes", "wal_bytes", "pid", "made_with"}


class Telling:
    """What was asked and answered, with everything that is drawn by lot replaced by its place."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.lines: list[tuple[str, Any]] = []
        self._ids: dict[str, str] = {}

    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        answer = self.surface.ask(who, operation, **arguments)
        said = self._plain({"who": who, "operation": operation, **arguments})
        self.lines.append((json.dumps(said), self._plain(self._own(operation, answer))))
        return answer

    def _own(self, operation: str, answer: Any) -> Any:
        if operation == "system.health" and "error" not in answer:
            return sorted(answer)  # of two processes at two moments: the same things are told
        if isinstance(answer, dict) and answer.get("error", {}).get("code") == "invalid_input":
            return {"error": "invalid_input"}  # each surface names what was wrong in its own terms
        if operation in ("files.sync", "files.replace") and "error" not in answer:
            return answer["status"]  # what is left to do depends on how far the service's own worker came
        return answer

    def _plain(self, value: Any, key: str = "") -> Any:
        if key in OWN:
            return "…"
        if isinstance(value, dict):
            return {name: self._plain(item, name) for name, item in sorted(value.items())}
        if isinstance(value, list):
            return [self._plain(item) for item in value]
        if isinstance(value, str):
            value = value.replace(str(self.surface.home), "HOME")
            value = SHA.sub("…", SECRET.sub("SECRET", CLOCK.sub("TIME", TIME.sub("TIME", value))))
            return ULID.sub(
                lambda found: self._ids.setdefault(found[0].upper(), f"ID-{len(self._ids)}"), value
            )
        return value


def told(surface: Surface) -> list[tuple[str, Any]]:
    try:
        story.settle(surface.ask)
        surface.settled()
        telling = Telling(surface)
        story.tell(telling.ask, surface.home)
        return telling.lines
    finally:
        surface.close()


@pytest.fixture
def urls(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Two fresh ledgers of one engine."""
    if engine == "sqlite":
        yield f"sqlite://{tmp_path}/a/ledger.db", f"sqlite://{tmp_path}/b/ledger.db"
        return
    cluster: postgres.Cluster = request.getfixturevalue("cluster")
    names = cluster.fresh(), cluster.fresh()
    yield cluster.url(names[0]), cluster.url(names[1])
    for name in names:
        cluster.drop(name)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_gives_the_answers_and_errors_of_every_other(
    surface: str, urls: tuple[str, str], tmp_path: Path
) -> None:
    expected = told(InProcess(tmp_path / "a", urls[0]))
    found = told(open_surface(surface, tmp_path / "b", urls[1]))
    differing = [(wanted, got) for wanted, got in zip(expected, found, strict=True) if wanted != got]
    assert differing == []


def test_the_story_asks_for_every_operation_with_success(tmp_path: Path) -> None:
    told_of = told(InProcess(tmp_path / "a", f"sqlite://{tmp_path}/a/ledger.db"))
    went_well = {
        json.loads(asked)["operation"]
        for asked, answer in told_of
        if not (isinstance(answer, dict) and "error" in answer)
    }
    assert {operation.name for operation in REGISTRY.all()} - went_well == story.NEVER_WELL
