"""Numbers for Prometheus: they add up, and no name that is not ours is among them."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from minutebook.model.errors import MinutebookError
from minutebook.operations import inbox, memories
from minutebook.settings import Settings
from minutebook.surfaces.asking import Doorkeeper
from minutebook.surfaces.observing import metrics
from minutebook.surfaces.observing.metrics import Tally
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.reach import Reach
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code
from tests.surfaces.accounting import ask, asker

Found = dict[str, dict[tuple[tuple[str, str], ...], float]]


@pytest.fixture
def reach(house: House) -> Iterator[Reach]:
    found = _reach(house)
    yield found
    found.waking.close()


def _reach(house: House) -> Reach:
    return Reach(
        service=house.service,
        doorkeeper=Doorkeeper(house.service, uid=os.getuid()),
        settings=Settings(home=house.home),
        since="2026-01-01T00:00:00.000000Z",
        observer=Observer(Tally()),
    )


def numbers(reach: Reach) -> Found:
    """Every sample, by its name and labels, as Prometheus would read it."""
    found: Found = {}
    for family in text_string_to_metric_families(metrics.render(reach).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def one(found: Found, name: str, **labels: str) -> float:
    return found[name][tuple(sorted(labels.items()))]


def test_requests_are_counted_by_operation_surface_and_status(reach: Reach) -> None:
    for _ in range(3):
        ask(reach.observer, "inbox.list")
    ask(reach.observer, "inbox.list", surface="mcp")
    ask(reach.observer, "inbox.list", error=MinutebookError("bad_token"))
    ask(reach.observer, "unknown", error=MinutebookError("no_token"))
    ask(reach.observer, "memories.show", error=MinutebookError("not_found"))
    found = numbers(reach)
    counted = "minutebook_requests_total"
    assert one(found, counted, operation="inbox.list", surface="http", status="200") == 3
    assert one(found, counted, operation="inbox.list", surface="mcp", status="200") == 1
    assert one(found, counted, operation="inbox.list", surface="http", status="401") == 1
    assert one(found, "minutebook_errors_total", code="not_found") == 1
    assert one(found, "minutebook_tokens_refused_total") == 2
    took = "minutebook_request_seconds"
    assert one(found, f"{took}_count", operation="inbox.list", surface="http") == 4
    buckets = {
        dict(labels)["le"]: value
        for labels, value in found[f"{took}_bucket"].items()
        if ("operation", "inbox.list") in labels and ("surface", "http") in labels
    }
    assert buckets["+Inf"] == 4
    assert sorted(buckets.values()) == list(buckets.values())


def test_the_writer_the_readers_and_the_ledger_are_measured(house: House, reach: Reach) -> None:
    before = numbers(reach)
    for number in range(3):
        house.ripley(
            memories.write, type="learning", content=f"Deck {number} is dark.", slug=f"deck-{number}"
        )
    house.ripley(memories.write, type="learning", content="Deck 1 is dark.", slug="again")
    house.ripley(inbox.submit, type="scope", title="Gate", content="Close the gate.")
    secret = "The key is AKIA" + "Q3EGRFFKJ2LMNOPQ"
    assert code(house.ripley, memories.write, type="learning", content=secret) == "secret"
    found = numbers(reach)
    grown = one(found, "minutebook_commit_seconds_count") - one(before, "minutebook_commit_seconds_count")
    assert grown == 6
    assert one(found, "minutebook_batch_writes_sum") - one(before, "minutebook_batch_writes_sum") == 6
    verdicts = {dict(labels)["op"]: value for labels, value in found["minutebook_verdicts_total"].items()}
    assert verdicts == {"add": 3, "skip": 1, "hold": 1, "refuse": 1}
    assert numbers(reach)["minutebook_verdicts_total"] == found["minutebook_verdicts_total"]
    assert one(found, "minutebook_ledger_bytes") > 10_000
    assert one(found, "minutebook_ledger_readable") == 1
    assert one(found, "minutebook_writes_waiting") == one(found, "minutebook_writer_halted") == 0
    assert one(found, "minutebook_readers") > one(found, "minutebook_readers_in_use")
    assert one(found, "process_resident_memory_bytes") > 1_000_000
    assert one(found, "process_open_fds") > 2


def test_doors_are_counted_when_asked(reach: Reach) -> None:
    reach.observer.gauges["connections"] = lambda: 7
    found = numbers(reach)
    assert (one(found, "minutebook_connections"), one(found, "minutebook_followers")) == (7, 0)


def test_no_name_of_anybody_is_among_the_labels(house: House, reach: Reach) -> None:
    other = house.new_project("Canary Wharf")
    house.as_("Canary", project=other)(
        memories.write, type="learning", content="Canary sings.", slug="canary", tag=["canary"]
    )
    ask(reach.observer, by=asker("canary", project=other), client="canary-host")
    ask(reach.observer, "canary says: “drop me”\n", by=asker("canary"))
    text = metrics.render(reach).decode().casefold()
    assert "canary" not in text
    assert other.casefold() not in text
    assert 'operation="other"' in text


def test_made_up_names_end_in_one_place(reach: Reach) -> None:
    for number in range(1_000):
        ask(reach.observer, f"made.up{number}")
    counted = numbers(reach)["minutebook_request_seconds_count"]
    assert len(counted) < 450
    assert sum(counted.values()) == 1_000


def test_counting_from_many_threads_loses_nothing(reach: Reach) -> None:
    def many() -> None:
        for _ in range(500):
            ask(reach.observer, "inbox.list")

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = numbers(reach)
    name = "minutebook_requests_total"
    assert one(found, name, operation="inbox.list", surface="http", status="200") == 2_000


def test_a_ledger_that_is_gone_still_leaves_the_numbers_of_the_process(tmp_path: Path, clock: Clock) -> None:
    house = House(f"sqlite://{tmp_path}/ledger.db", tmp_path, clock)
    reach = _reach(house)
    try:
        subprocess.run(["rm", str(tmp_path / "ledger.db")], check=True)
        assert code(house.ripley, memories.write, type="learning", content="Too late.") == "ledger_gone"
        found = numbers(reach)
        assert one(found, "minutebook_writer_halted") == 1
        assert one(found, "minutebook_ledger_readable") == 0
        assert one(found, "process_open_fds") > 2
    finally:
        reach.waking.close()
        house.close()


def test_a_reach_that_counts_nothing_still_tells_of_the_ledger(house: House, reach: Reach) -> None:
    silent = dataclasses.replace(reach, observer=Observer())
    try:
        found: Any = numbers(silent)
    finally:
        silent.waking.close()
    assert one(found, "minutebook_ledger_readable") == 1
    assert "minutebook_requests_total" not in found
