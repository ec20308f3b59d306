"""One request is told once to everybody who listens, whatever becomes of it."""

from __future__ import annotations

import asyncio
import time

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import memories
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.observing.observer import GONE, Observation, Observer
from tests.houses import House
from tests.surfaces.accounting import ask, asker


class Ear:
    def __init__(self) -> None:
        self.heard: list[Observation] = []

    def ended(self, seen: Observation) -> None:
        self.heard.append(seen)


def test_everybody_who_listens_is_told_once_and_in_turn() -> None:
    first, second = Ear(), Ear()
    ask(Observer(first, second), "inbox.submit", by=asker(), client="curl", write=True, status=201)
    (seen,) = first.heard
    assert second.heard == [seen]
    assert (seen.surface, seen.operation, seen.status_code, seen.code) == ("http", "inbox.submit", 201, "")
    assert (seen.asker, seen.client) == (asker(), "curl")
    assert seen.began <= seen.asked <= seen.left_queue <= seen.worked <= seen.ended
    assert seen.seconds >= 0


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (MinutebookError("not_found"), 404, "not_found"),
        (ValueError("ours"), 500, "internal"),
        (asyncio.CancelledError(), GONE, ""),
    ],
)
def test_what_a_request_raises_is_told_and_goes_on(raised: BaseException, status: int, code: str) -> None:
    ear = Ear()
    with pytest.raises(type(raised)), Observer(ear).request("http", "inbox.list"):
        raise raised
    assert [(seen.status_code, seen.code) for seen in ear.heard] == [(status, code)]


def test_an_error_that_was_answered_stands() -> None:
    ear = Ear()
    seen = Observer(ear).request("http", "inbox.list")
    seen.failed(MinutebookError("too_large"))
    with pytest.raises(ConnectionError), seen:
        raise ConnectionError("the caller hung up on it")
    assert [(seen.status_code, seen.code) for seen in ear.heard] == [(413, "too_large")]


def test_doors_say_what_can_be_counted_at_any_moment() -> None:
    observer = Observer()
    assert observer.gauge("connections") == 0
    observer.gauges["connections"] = lambda: 3
    assert observer.gauge("connections") == 3
    assert observer.listener(Ear) is None
    ear = Ear()
    assert Observer(ear).listener(Ear) is ear


def test_a_write_tells_when_it_was_taken_up_and_when_it_was_done(house: House) -> None:
    ear = Ear()
    operation = REGISTRY.of(memories.write)
    caller = house.ripley
    with Observer(ear).request("python", operation.name) as seen:
        house.service.invoke(
            operation,
            {"type": "learning", "content": "The doors jam in the cold."},
            actor=caller.actor,
            origin=caller.origin,
            project=caller.project,
            watch=seen,
        )
    assert 0 < seen.began <= seen.left_queue < seen.worked < seen.ended


def test_nobody_listening_costs_next_to_nothing() -> None:
    observer = Observer()
    began = time.perf_counter()
    for _ in range(2_000):
        with observer.request("http", "inbox.list") as seen:
            seen.status(200)
    # A microsecond or so; the bound is for a machine that does much else.
    assert (time.perf_counter() - began) / 2_000 < 50e-6
