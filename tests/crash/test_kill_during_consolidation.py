"""kill -9 in the middle of a consolidation, or of taking what it suggests: the next one begins, and ends the same.

`make test` takes the moments around the commits and a sample of the rest; `make crash` takes every statement.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.consolidating import prepare
from tests.crash.runs import Launcher, fresh, sampled

#: Of the steps that are no commit, every so manieth is taken in the short run.
SAMPLE = 60


def outline(found: dict[str, Any]) -> dict[str, Any]:
    """What is left, without what is drawn by lot and without the looks that were broken off."""
    state = found["state"]
    slug = {row["id"]: row["slug"] for row in state["memories"]}
    return {
        "memories": sorted((row["slug"], row["status"], row["revision"]) for row in state["memories"]),
        "links": sorted(
            (slug[row["from_id"]], row["relation"], slug[row["to_id"]]) for row in state["memory_links"]
        ),
        "taken": found["taken"],
    }


def kills(launcher: Launcher, tmp_path: Path, choose: Callable[[list[str]], list[int]]) -> tuple[int, int]:
    before = fresh(tmp_path / "before")
    prepare(before)

    def victim(name: str, **more: Any) -> dict[str, Any] | None:
        return launcher.order("consolidate", home=str(tmp_path / name), **more)

    shutil.copytree(before, tmp_path / "whole")
    whole = victim("whole")
    assert whole is not None
    wanted = outline(whole)
    assert wanted["taken"] == [["contradiction", "taken"], ["near_duplicate", "taken"], ["outdated", "taken"]]
    broken_off = 0
    chosen = choose(whole["steps"])
    for number in chosen:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(before, tmp_path / "run")
        where = f"step {number}, {whole['steps'][number - 1]!r}"
        assert victim("run", kill_at=number) is None, f"there was no {where}"
        after = victim("run")
        assert after is not None
        assert after["violations"] == [], where
        assert outline(after) == wanted, where
        assert after["runs"][-1] == "done", where
        broken_off += "abandoned" in after["runs"]
    return len(chosen), broken_off


def test_a_consolidation_that_is_killed_holds_nothing_and_the_next_one_ends_the_same(
    launcher: Launcher, tmp_path: Path
) -> None:
    done, broken_off = kills(launcher, tmp_path, lambda steps: sampled(steps, SAMPLE))
    assert done > 10
    assert broken_off > 0, "one of them was killed with the lock in its hand"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_single_step_of_a_consolidation(
    launcher: Launcher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, broken_off = kills(launcher, tmp_path, lambda steps: list(range(1, len(steps) + 1)))
    with capsys.disabled():
        print(
            f"\n{done} kills of a consolidation, {broken_off} of them in the middle of a look; each went on"
        )
    assert done > 100
