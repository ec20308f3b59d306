"""kill -9 of the service while it embeds, and another model in the middle: nothing is lost, and nothing mixed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook import wiring
from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import memories
from minutebook.service import LocalClient
from minutebook.settings import load
from tests.minds import tiny
from tests.surfaces.services import Served, until

MEMORIES = 150


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "work").mkdir()
    made = Served(tmp_path / "home", tmp_path / "work", MINUTEBOOK_PORT="0")
    yield made
    made.end()


def written(home: Path) -> set[str]:
    """A ledger whose memories are long, so that embedding them takes a while."""
    service = wiring.open_service(load({}, home=home, service="never"))
    try:
        mother = LocalClient(
            service, actor=Actor("mother", "Mother", Role.OPERATOR), origin=Origin.PYTHON, project="global"
        )
        text = " ".join(f"{line} matters" for line in tiny.MEANINGS) * 60
        done = [
            mother(memories.write, type="project", title=f"Number {number}", content=f"{number} {text}")
            for number in range(MEMORIES)
        ]
    finally:
        service.close()
    return {one.memory for one in done if one.memory is not None}


def held(home: Path) -> list[tuple[str, str, int]]:
    service = wiring.open_service(load({}, home=home, service="never"))
    try:
        with service.database.read() as tx:
            rows = tx.all("SELECT ref, space, numbers FROM vectors")
    finally:
        service.close()
    return [(row["ref"], row["space"], len(row["numbers"])) for row in rows]


def missing(served: Served) -> int:
    return served.ok("health")["meaning"]["missing"]


@pytest.mark.slow
def test_a_service_that_is_killed_while_it_embeds_goes_on_and_never_mixes_two_models(served: Served) -> None:
    refs = written(served.home)
    tiny.install(served.home, name="first")
    left = MEMORIES
    for round in range(4):
        with served.serving() as process:
            until(lambda left=left: missing(served) < left, "some more are embedded")
            os.kill(process.pid, signal.SIGKILL)
        left = len(refs) - len({ref for ref, _, _ in held(served.home)})
        if round == 1:
            tiny.install(served.home, name="second", seed=2, width=48)
            left = MEMORIES
    with served.serving():
        until(lambda: missing(served) == 0, "everything is embedded")
        space = served.ok("health")["meaning"]["space"]
    rows = held(served.home)
    assert space.startswith("second@")
    assert {ref for ref, where, _ in rows if where == space} == refs
    # Each vector is whole, and as wide as its model makes it.
    for _, where, size in rows:
        width = 48 if where == space else tiny.WIDTH
        assert size % (2 * width) == 0
        assert size // (2 * width) > 1
