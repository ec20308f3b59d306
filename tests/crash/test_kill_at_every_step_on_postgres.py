"""kill -9 of the client at every step, while the PostgreSQL server goes on: nothing lost, nothing half done.

`make test` takes a sample of the steps, `make crash` every commit and every fifth of the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import postgres
from tests.conftest import _migrate
from tests.crash.runs import (
    Launcher,
    Undisturbed,
    check_after_kill,
    check_story,
    fresh,
    sampled,
    undisturbed,
)


def kill_postgres(
    launcher: Launcher,
    cluster: postgres.Cluster,
    tmp_path: Path,
    choose: Callable[[list[str]], list[int]],
) -> int:
    template = cluster.template("ledger", _migrate)

    def run(name: str, kill_at: int | None, whole: Undisturbed | None) -> Undisturbed | None:
        database = cluster.fresh(template)
        home = fresh(tmp_path / name)
        url, acks = cluster.url(database), home / "acks"
        try:
            if whole is None:
                return undisturbed(launcher, url, home)
            killed = launcher.order("tell", url=url, home=str(home), acks=str(acks), kill_at=kill_at)
            assert killed is None, f"there was no step {kill_at}"
            where = f"step {kill_at}, {whole.steps[(kill_at or 1) - 1]!r}"
            check_after_kill(launcher, whole, url, home, acks, where)
            return None
        finally:
            cluster.drop(database)

    whole = run("whole", None, None)
    assert whole is not None
    check_story(whole)
    chosen = choose(whole.steps)
    for number in chosen:
        run("run", number, whole)
    return len(chosen)


def test_nothing_acknowledged_is_lost_and_nothing_is_half_done_on_postgres(
    launcher: Launcher, cluster: postgres.Cluster, tmp_path: Path
) -> None:
    kills = kill_postgres(launcher, cluster, tmp_path, lambda steps: sampled(steps, 60)[::5])
    assert kills > 10


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_fifth_step_and_every_commit_on_postgres(
    launcher: Launcher,
    cluster: postgres.Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kills = kill_postgres(launcher, cluster, tmp_path, lambda steps: sampled(steps, 5))
    with capsys.disabled():
        print(f"\n{kills} kills, each restarted, compared and told to its end")
    assert kills > 100


def migrate_and_kill(launcher: Launcher, cluster: postgres.Cluster, every: int) -> int:
    """The first migration, killed at every so manieth statement; how many statements there were."""
    number = 1
    while True:
        database = cluster.fresh()
        url = cluster.url(database)
        told = launcher.order("migrate", url=url, kill_at=number)
        left = launcher.order("look", url=url)
        cluster.drop(database)
        assert left is not None
        assert left["violations"] == []
        assert sorted(row["version"] for row in left["state"]["migrations"]) == list(
            range(1, left["version"] + 1)
        )
        if told is not None:
            return number
        number += every


def test_the_first_migration_on_postgres_that_is_killed_begins_again(
    launcher: Launcher, cluster: postgres.Cluster
) -> None:
    assert migrate_and_kill(launcher, cluster, 7) > 20


@pytest.mark.slow
def test_the_first_migration_on_postgres_is_killed_at_every_statement(
    launcher: Launcher, cluster: postgres.Cluster
) -> None:
    assert migrate_and_kill(launcher, cluster, 1) > 20
