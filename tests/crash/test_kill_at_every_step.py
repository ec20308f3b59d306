"""kill -9 at every statement, before and after every commit: nothing acknowledged is lost, nothing half done.

`make test` takes every second of the moments around a commit and of a sample of the rest; `make crash` takes them all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.wiring import SCHEMA
from tests.crash.runs import (
    Launcher,
    acknowledged,
    check_after_kill,
    check_story,
    fresh,
    sampled,
    undisturbed,
)

#: Of the steps that are no commit, every so manieth is taken in the short run.
SAMPLE = 40
#: A second migration, of statements of every sort that a migration may hold.
SECOND = """
ALTER TABLE memories ADD COLUMN mood ${text};
CREATE TABLE moods (memory_id ${text} PRIMARY KEY REFERENCES memories (id), mood ${text} NOT NULL);
INSERT INTO moods (memory_id, mood) SELECT id, 'calm; or not' FROM memories;
UPDATE memories SET mood = (SELECT mood FROM moods WHERE memory_id = id);
CREATE INDEX moods_by_mood ON moods (mood);
"""


def kill_sqlite(launcher: Launcher, tmp_path: Path, choose: Callable[[list[str]], list[int]]) -> int:
    home = fresh(tmp_path / "whole")
    whole = undisturbed(launcher, f"sqlite://{home}/ledger.db", home)
    check_story(whole)
    chosen = choose(whole.steps)
    for number in chosen:
        home = fresh(tmp_path / "run")
        url, acks = f"sqlite://{home}/ledger.db", home / "acks"
        killed = launcher.order("tell", url=url, home=str(home), acks=str(acks), kill_at=number)
        assert killed is None, f"there was no step {number}"
        where = f"step {number}, {whole.steps[number - 1]!r}"
        check_after_kill(launcher, whole, url, home, acks, where)
    return len(chosen)


def test_nothing_acknowledged_is_lost_and_nothing_is_half_done_on_sqlite(
    launcher: Launcher, tmp_path: Path
) -> None:
    assert kill_sqlite(launcher, tmp_path, lambda steps: sampled(steps, SAMPLE)[::2]) > 30


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_single_step_on_sqlite(
    launcher: Launcher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = kill_sqlite(launcher, tmp_path, lambda steps: list(range(1, len(steps) + 1)))
    with capsys.disabled():
        print(f"\n{kills} kills, each restarted, compared and told to its end")
    assert kills > 400


# ── many writes in one commit ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("threads", [8])
def test_a_commit_that_carries_many_writes_keeps_all_that_were_acknowledged(
    launcher: Launcher, tmp_path: Path, threads: int
) -> None:
    order = {"threads": threads, "rounds": 4}
    kills = 0
    for number in range(1, 200):
        home = fresh(tmp_path / "run")
        url, acks = f"sqlite://{home}/ledger.db", home / "acks"
        told = launcher.order("crowd", url=url, acks=str(acks), kill_at=number, **order)
        left = launcher.order("look", url=url)
        assert left is not None
        there = {row["id"] for row in left["state"]["maintenance"]}
        assert set(acknowledged(acks)) <= there
        assert left["sound"] == "ok"
        if told is not None:
            assert len(there) == threads * order["rounds"]
            break
        kills += 1
    assert kills > 5


# ── migrations ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The schema of a next version, with one more migration."""
    directory = tmp_path / "newer"
    shutil.copytree(SCHEMA, directory)
    number = 1 + max(int(path.name[:4]) for path in directory.glob("[0-9]*.sql"))
    (directory / f"{number:04}_moods.sql").write_text(SECOND)
    return directory


def test_a_migration_that_is_killed_leaves_the_old_schema_or_the_new_one(
    launcher: Launcher, tmp_path: Path, newer: Path
) -> None:
    whole_home = fresh(tmp_path / "whole")
    whole = undisturbed(launcher, f"sqlite://{whole_home}/ledger.db", whole_home)
    content = fresh(tmp_path / "content")
    shutil.copy(whole_home / "ledger.db", content / "ledger.db")
    old = launcher.order("look", url=f"sqlite://{content}/ledger.db")
    assert old is not None
    assert old["state"] == whole.states[-1]

    number, versions = 0, []
    while True:
        number += 1
        home = fresh(tmp_path / "run")
        shutil.copy(content / "ledger.db", home / "ledger.db")
        url = f"sqlite://{home}/ledger.db"
        told = launcher.order(
            "migrate", url=url, schema=str(newer), clock="2027-01-01T00:00:00.000000Z", kill_at=number
        )
        # The restart is at another time, as every restart is.
        left = launcher.order("look", url=url, schema=str(newer), clock="2027-01-01T00:00:01.000000Z")
        assert left is not None
        assert left["sound"] == "ok"
        assert left["version"] == old["version"] + 1
        assert without_moods(left["state"]) == without_moods(old["state"])
        assert {row["mood"] for row in left["state"]["memories"]} == {"calm; or not"}
        copies = sorted((home / "backups").iterdir())
        assert [copy.suffix for copy in copies] == [".db"] * len(copies), "litter"
        versions.append(len(copies))
        for copy in copies:
            kept = launcher.order("look", url=f"sqlite://{copy}")
            assert kept is not None
            assert (kept["version"], kept["state"]) == (old["version"], old["state"])
        if told is not None:
            break
    # One copy where the kill came before it was made or after the commit, two where the work began again.
    assert set(versions) == {1, 2}
    assert number > 20


def without_moods(state: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    return {
        table: [{column: value for column, value in row.items() if column != "mood"} for row in rows]
        for table, rows in state.items()
        if table not in ("migrations", "moods")
    }
