"""kill -9 in the middle of an adoption: the next one completes it, and nothing is there twice.

`make test` takes the moments around the commits and a sample of the rest; `make crash` takes every statement.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.adopting import prepare
from tests.crash.runs import Launcher, fresh, sampled
from tests.files.adoptable import adrs, squad

#: Of the steps that are no commit, every so manieth is taken in the short run.
SAMPLE = 400


def outline(state: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What an adoption leaves, without what is drawn by lot."""
    source = {row["id"]: row["digest"] for row in state["sources"]}
    path = {row["source_id"]: row["path"] for row in state["adopted_files"]}
    return {
        "adoptions": [row["state"] for row in state["adoptions"]],
        "sources": sorted((row["digest"], row["locator"]) for row in state["sources"]),
        "files": sorted((row["path"], source[row["source_id"]]) for row in state["adopted_files"]),
        "entries": sorted(
            (path[row["source_id"]], row["first_line"], row["outcome"]) for row in state["adopted_entries"]
        ),
        "proposals": Counter((row["title"], row["scope_agent"], row["status"]) for row in state["proposals"]),
        "memories": Counter((row["title"], row["agent"], row["status"]) for row in state["memories"]),
    }


def kills(
    launcher: Launcher, tmp_path: Path, choose: Callable[[list[str]], list[int]], *, activate: bool
) -> int:
    repository = adrs(squad(tmp_path / "repository"))
    before = fresh(tmp_path / "before")
    prepare(before, repository)

    def victim(name: str, **more: Any) -> dict[str, Any] | None:
        home = tmp_path / name
        return launcher.order("adopt", home=str(home), repository=str(repository), activate=activate, **more)

    shutil.copytree(before, tmp_path / "whole")
    whole = victim("whole")
    assert whole is not None
    wanted = outline(whole["state"])
    assert wanted["adoptions"] == ["done"]
    chosen = choose(whole["steps"])
    for number in chosen:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(before, tmp_path / "run")
        where = f"step {number}, {whole['steps'][number - 1]!r}"
        assert victim("run", kill_at=number) is None, f"there was no {where}"
        after = victim("run")
        assert after is not None
        assert after["violations"] == [], where
        assert outline(after["state"]) == wanted, where
        if number % 10 == 0:
            again = victim("run")
            assert again is not None
            assert again["state"] == after["state"], where
    return len(chosen)


def test_an_adoption_that_is_killed_is_completed_by_the_next_one(launcher: Launcher, tmp_path: Path) -> None:
    assert kills(launcher, tmp_path, lambda steps: sampled(steps, SAMPLE), activate=True) > 10


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("activate", [False, True])
def test_every_single_step_of_an_adoption(
    launcher: Launcher, tmp_path: Path, capsys: pytest.CaptureFixture[str], activate: bool
) -> None:
    done = kills(launcher, tmp_path, lambda steps: list(range(1, len(steps) + 1)), activate=activate)
    with capsys.disabled():
        print(f"\n{done} kills of an adoption, each completed by the next one and compared")
    assert done > 400
