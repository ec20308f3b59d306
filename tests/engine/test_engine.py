"""What works behind the ledger: woken by a commit, tried again after a failure, ended when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import monotonic

import pytest

from minutebook.engine.engine import _REST, Engine
from minutebook.model.errors import MinutebookError
from minutebook.operations import memories
from tests.houses import House

SOON = 20.0


class Counting:
    """A worker that says when it was asked."""

    def __init__(self, name: str = "counting", act: Callable[[int], float | None] = lambda _: None) -> None:
        self.name = name
        self.steps = 0
        self.closed = threading.Event()
        self._act = act
        self._changed = threading.Condition()

    def step(self, ending: threading.Event) -> float | None:
        with self._changed:
            self.steps += 1
            self._changed.notify_all()
        return self._act(self.steps)

    def close(self) -> None:
        self.closed.set()

    def reached(self, steps: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.steps >= steps, SOON)


@pytest.fixture
def engines(house: House) -> Iterator[Callable[..., Engine]]:
    made: list[Engine] = []

    def make(*workers: Counting) -> Engine:
        made.append(Engine(house.service.database, workers, clock=house.clock))
        return made[-1]

    yield make
    for engine in made:
        engine.stop()


def test_a_worker_takes_a_step_at_the_start_and_after_every_commit(
    house: House, engines: Callable[..., Engine]
) -> None:
    worker = Counting()
    engines(worker).start()
    assert worker.reached(1)
    before = worker.steps
    house.mother(memories.write, type="learning", title="Airlock", content="It sticks.")
    assert worker.reached(before + 1)


def test_in_a_storm_of_commits_a_worker_rests_between_its_steps(engines: Callable[..., Engine]) -> None:
    worker = Counting()
    engine = engines(worker)
    engine.start()
    assert worker.reached(1)
    began = monotonic()
    for steps in range(2, 6):
        engine.wake()
        assert worker.reached(steps)
    assert monotonic() - began > 2.5 * _REST


def test_a_worker_that_names_a_time_is_asked_again(engines: Callable[..., Engine]) -> None:
    worker = Counting(act=lambda _: 0.01)
    engines(worker).start()
    assert worker.reached(3)


def test_a_failure_is_said_and_tried_again_and_harms_nobody_else(engines: Callable[..., Engine]) -> None:
    healed = threading.Event()

    def fail(step: int) -> float | None:
        if step < 3:
            raise (
                MinutebookError("io_error", "The disk is not there.") if step == 1 else ValueError("a secret")
            )
        healed.wait(SOON)
        return None

    broken, sound = Counting("broken", fail), Counting("sound", lambda _: 0.01)
    engine = engines(broken, sound)
    engine.start()
    assert broken.reached(3)
    assert sound.reached(3)
    duty = engine.standing()[0]
    assert (duty.name, duty.failures, duty.fault) == ("broken", 2, "ValueError")
    healed.set()
    engine.stop()
    assert engine.standing()[0].fault is None


def test_stopping_ends_a_step_and_lets_every_worker_close(engines: Callable[..., Engine]) -> None:
    worker = Counting(act=lambda _: 3600.0)
    engine = engines(worker)
    engine.start()
    assert worker.reached(1)
    engine.stop()
    assert worker.closed.is_set()
    steps = worker.steps
    engine.wake()
    assert worker.steps == steps
