"""The duty that keeps files in step: at once after a write, again after a failure, and never in git's way."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from minutebook.engine.engine import Engine
from minutebook.files.mirror_worker import MirrorWorker
from minutebook.operations import decisions, memories, system
from tests.files.mirroring import Office
from tests.houses import House

SOON = 20.0


@pytest.fixture
def office(house: House, tmp_path: Path) -> Office:
    return Office(house, tmp_path)


@pytest.fixture
def duty(office: Office, house: House, clock: Callable[[], str]) -> Iterator[Engine]:
    worker = MirrorWorker(office.means, office.desk)
    running = Engine(house.service.database, [worker], clock=clock)
    yield running
    running.stop()


def until(holds: Callable[[], bool], what: str) -> float:
    """How long it took for something to be so that another thread does."""
    began = monotonic()
    while not holds():
        assert monotonic() - began < SOON, what
        sleep(0.005)
    return monotonic() - began


def holds(path: Path, words: bytes) -> Callable[[], bool]:
    return lambda: path.exists() and words in path.read_bytes()


def test_a_write_is_in_the_file_within_a_second(office: Office, house: House, duty: Engine) -> None:
    root = office.make()
    duty.start()
    took = []
    for number in range(5):
        house.dallas(decisions.write, type="technical", title=f"Rule {number}", content=f"The {number}th.")
        took.append(
            until(holds(root / ".squad/decisions.md", b"Rule %d" % number), "the file did not follow")
        )
    assert sorted(took)[2] < 1.0, took


def test_what_happened_while_nobody_served_is_caught_up(office: Office, house: House, duty: Engine) -> None:
    root = office.make()
    house.dallas(decisions.write, type="technical", title="Tabs", content="Indent with tabs.")
    duty.start()
    until(holds(root / ".squad/decisions.md", b"Tabs"), "the file was not caught up")


def test_a_workspace_that_fails_is_said_in_health_and_served_when_it_is_back(
    office: Office, house: House, duty: Engine
) -> None:
    good, bad = office.make("good"), office.make("bad")
    shutil.move(bad, bad.with_name("away"))
    duty.start()
    house.dallas(decisions.write, type="technical", title="Tabs", content="Indent with tabs.")
    until(holds(good / ".squad/decisions.md", b"Tabs"), "the good one waits for the bad one")
    until(lambda: bool(house.mother(system.health).mirror.faults), "health does not tell")
    found = house.mother(system.health)
    assert found.state == "degraded"
    assert str(bad) in found.mirror.faults[0]
    # Whoever is not trusted with the whole ledger is told of no path.
    assert house.ripley(system.health).mirror.faults == ()
    shutil.move(bad.with_name("away"), bad)
    until(holds(bad / ".squad/decisions.md", b"Tabs"), "it was not served again")
    until(lambda: not house.mother(system.health).mirror.faults, "health still complains")
    assert house.mother(system.health).mirror.state == "current"


def test_nothing_is_written_while_git_changes_the_tree(office: Office, house: House) -> None:
    root = office.make()
    (root / ".git").mkdir()
    (root / ".git/index.lock").touch()
    worker = MirrorWorker(office.means, office.desk)
    house.dallas(decisions.write, type="technical", title="Tabs", content="Indent with tabs.")
    pause = worker.step(threading.Event())
    assert pause is not None
    assert pause < 1
    assert not (root / ".squad").exists()
    (root / ".git/index.lock").unlink()
    until(lambda: worker.step(threading.Event()) is not None and (root / ".squad").exists(), "it waits on")


def test_a_project_at_rest_costs_no_write(office: Office, house: House) -> None:
    office.make()
    office.sync()
    before = house.rows("SELECT * FROM positions")
    other = house.new_project("Sulaco")
    house.as_("Mother", project=other)(memories.write, type="project", content="Of Sulaco.")
    assert office.sync().sentence == "nothing to do"
    assert house.rows("SELECT * FROM positions") == before
