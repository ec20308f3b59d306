"""Runs over HTTP and MCP, and where a caller works: said on the socket, and never over the network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from minutebook.files import workspace
from minutebook.files.evidence import Workspaces
from minutebook.operations import decisions
from tests.houses import House
from tests.surfaces.serving import Served

LESSON = {
    "type": "learning",
    "title": "Proxy",
    "content": "The staging proxy drops bodies.",
    "importance": "high",
}


@pytest.fixture
def served(house: House, tmp_path: Path) -> Iterator[Served]:
    with Served(house, tmp_path) as running:
        yield running


@pytest.fixture
def root(house: House, tmp_path: Path) -> Path:
    """A workspace of the house's project, whose name no header holds as it is."""
    made = tmp_path / "Schiff ⚓"
    made.mkdir()
    workspace.create(made, project=house.project, name="Nostromo", created_at="2026-01-01T00:00:00.000000Z")
    (made / "app.py").write_text("one\ntwo\n")
    object.__setattr__(house.service.world, "witness", Workspaces())
    return made


def at(root: Path, **more: str) -> dict[str, str]:
    return {"Minutebook-Workspace": quote(str(root)), "Minutebook-Agent": "ripley", **more}


def test_the_whole_loop_over_http(served: Served) -> None:
    served.house.dallas(decisions.write, type="scope", title="S", content="No telephones.", slug="s")
    token = served.token("agent", "Ripley")
    made = served.ask("POST", "/api/runs", {"task": "fix it"}, token=token)
    run = made.json["run"]["id"]
    assert (made.status, made.headers["location"]) == (201, f"/api/runs/{run}")
    assert "| No telephones." in made.json["snapshot"]["bundle"]["text"]
    inside = {"Minutebook-Run": run}
    assert served.ask("POST", "/api/inbox", LESSON, token=token, headers=inside).status == 201
    report = served.ask("POST", f"/api/runs/{run}/finish", {"outcome": "completed"}, token=token)
    assert [one["slug"] for one in report.json["promoted"]] == ["proxy"]
    again = served.ask("POST", f"/api/runs/{run}/finish", {"outcome": "failed"}, token=token)
    assert again.body == report.body
    late = served.ask("POST", "/api/inbox", {**LESSON, "content": "Late."}, token=token, headers=inside)
    assert (late.status, late.json["code"]) == (409, "bad_transition")
    told = served.ask("GET", "/api/context", token=token).json
    assert "| The staging proxy drops bodies." in told["text"]
    seen = served.ask("GET", "/api/memories/s/seen", token=token).json["items"]
    assert [one["run"] for one in seen] == [run]


def test_a_run_of_somebody_else_takes_no_write_and_no_end_over_http(served: Served) -> None:
    mine, theirs = (served.token("agent", name) for name in ("Ripley", "Ash"))
    run = served.ask("POST", "/api/runs", {}, token=mine).json["run"]["id"]
    for path, body in (("/api/inbox", LESSON), (f"/api/runs/{run}/finish", {})):
        refused = served.ask("POST", path, body, token=theirs, headers={"Minutebook-Run": run})
        assert (refused.status, refused.json["code"]) == (403, "other_agent")


def test_evidence_is_looked_at_where_a_caller_on_the_socket_says_it_works(served: Served, root: Path) -> None:
    cited = {**LESSON, "slug": "cited", "evidence": ["file:app.py#1"]}
    assert served.ask("POST", "/api/memories", cited, headers=at(root)).status == 201
    checked = served.ask("GET", "/api/memories/verify", headers=at(root)).json["items"]
    assert [one["state"] for one in checked] == ["fresh"]
    (root / "app.py").write_text("first\n")
    assert "evidence stale" in served.ask("GET", "/api/context", headers=at(root)).json["text"]
    blind = served.ask("GET", "/api/memories/verify", headers={"Minutebook-Agent": "ripley"}).json["items"]
    assert [one["state"] for one in blind] == ["unverifiable"]


def test_nobody_on_the_network_has_a_file_of_this_machine_looked_at(served: Served, root: Path) -> None:
    token = served.token("agent", "Ripley")
    headers = {"Minutebook-Workspace": quote(str(root))}
    cited: dict[str, Any] = {**LESSON, "slug": "cited", "evidence": ["file:app.py#1"]}
    assert served.ask("POST", "/api/memories", cited, token=token, headers=headers).status == 201
    shown = served.ask("GET", "/api/memories/cited", token=token).json
    assert shown["memory"]["evidence"][0]["digest"] is None
    checked = served.ask("GET", "/api/memories/verify", token=token, headers=headers).json["items"]
    assert [one["state"] for one in checked] == ["unverifiable"]


@pytest.mark.parametrize("said", ["relative/path", "/nowhere/at/all", "/", "%00", "/etc"])
def test_a_workspace_that_is_none_tells_nothing_and_breaks_nothing(
    served: Served, root: Path, said: str
) -> None:
    headers = {"Minutebook-Workspace": said, "Minutebook-Agent": "ripley"}
    cited = {**LESSON, "slug": "cited", "evidence": ["file:hostname", "file:app.py"]}
    assert served.ask("POST", "/api/memories", cited, headers=headers).status == 201
    checked = served.ask("GET", "/api/memories/verify", headers=headers).json["items"]
    assert {one["state"] for one in checked} == {"unverifiable"}
