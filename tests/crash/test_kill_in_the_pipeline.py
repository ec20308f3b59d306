"""kill -9 anywhere between a capture and the inbox: every source is read once, nothing is lost, nothing doubled.

`make test` takes a sample; `make crash` a thousand. Each process finds what the one before it left behind.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.database import open_database
from minutebook.model.errors import MinutebookError
from minutebook.operations import captures, projects
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.remote import RemoteClient, SocketLink
from minutebook.wiring import SCHEMA
from tests.crash import pipeline
from tests.crash.runs import Launcher, acknowledged, fresh
from tests.invariants import State, state_of, violations
from tests.surfaces.services import Served, serving_processes, until


def kill_again_and_again(launcher: Launcher, url: str, home: Path, kills: int) -> tuple[int, int, int]:
    """How often it was killed, at how many places, and how many talks were captured.

    Every step of the way has its turn, in an order by lot, before any has its second one.
    """
    acks = home / "acks"
    order: dict[str, Any] = {"url": url, "home": str(home), "acks": str(acks)}
    launcher.order("begin", **order)
    whole = launcher.order("capture", numbers=[0], until_done=True, **order)
    assert whole is not None
    places = list(range(1, len(whole["steps"]) + 1))
    random.Random(7).shuffle(places)
    killed, number, at = 0, 0, set[int]()
    for place in itertools.cycle(places):
        if killed == kills:
            break
        known = {int(line.split()[0]) for line in acknowledged(acks)}
        number += 1
        open_ones = [one for one in range(number) if one not in known]
        if launcher.order("capture", numbers=[*open_ones, number], kill_at=place, **order) is None:
            killed += 1
            at.add(place)
    known = {int(line.split()[0]) for line in acknowledged(acks)}
    rest = [one for one in range(number + 1) if one not in known]
    assert launcher.order("capture", numbers=rest, until_done=True, **order) is not None
    return killed, len(at), number + 1


def check(state: State, talks: int) -> None:
    """Each talk is one source, read to its end, and gave each of its findings once."""
    assert violations(state) == []
    assert len(state["sources"]) == talks
    events = {row["source_id"]: row for row in state["ingestion_events"] if row["state"] != "known"}
    assert {row["state"] for row in events.values()} == {"done"}
    assert len(events) == talks
    proposed = Counter(row["source_id"] for row in state["proposals"])
    assert proposed == {row["id"]: pipeline.FOUND for row in state["sources"]}
    held = Counter(row["source_id"] for row in state["verdicts"] if row["op"] == "hold")
    assert held == proposed
    assert {row["op"] for row in state["verdicts"]} == {"hold"}
    assert {row["state"] for row in state["jobs"]} == {"done"}


def drive(launcher: Launcher, url: str, home: Path, kills: int) -> str:
    began = time.monotonic()
    killed, places, talks = kill_again_and_again(launcher, url, home, kills)
    with open_database(url, schema=SCHEMA, wait=20, clock=pipeline.now) as database:
        check(state_of(database), talks)
    return f"{killed} kills at {places} places, {talks} talks, {time.monotonic() - began:.0f} s"


def test_every_source_is_read_once_on_sqlite(launcher: Launcher, tmp_path: Path) -> None:
    home = fresh(tmp_path / "home")
    drive(launcher, f"sqlite://{home}/ledger.db", home, 25)


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_every_source_is_read_once_on_postgres(launcher: Launcher, tmp_path: Path, ledger_url: str) -> None:
    drive(launcher, ledger_url, fresh(tmp_path / "home"), 8)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_kills_on_sqlite(
    launcher: Launcher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = fresh(tmp_path / "home")
    said = drive(launcher, f"sqlite://{home}/ledger.db", home, 1000)
    with capsys.disabled():
        print(f"\n{said}")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_two_hundred_kills_on_postgres(
    launcher: Launcher, tmp_path: Path, ledger_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = drive(launcher, ledger_url, fresh(tmp_path / "home"), 200)
    with capsys.disabled():
        print(f"\n{said}")


# ── the service itself ──────────────────────────────────────────────────────────────────────────────────────


def test_the_service_is_killed_behind_each_receipt_and_every_talk_turns_up_once(tmp_path: Path) -> None:
    """As a user has it: a client that starts the service when it is absent, and a service that is shot."""
    served = Served(tmp_path / "h", tmp_path, MINUTEBOOK_PORT="0")
    environ = served.environ()

    def client(project: str) -> RemoteClient:
        link = SocketLink(served.places, environ, start=True, tell=lambda _: None)
        return RemoteClient(link, {}, project=project)

    lot = random.Random(3)
    receipts: dict[int, str] = {}
    try:
        with client("global") as owner:
            owner(projects.create, name="Nostromo")
        with client(pipeline.PROJECT) as owner:
            for number in range(4):
                asked = {"content": pipeline.text(number), "consent": "yes"}
                while number not in receipts:
                    try:
                        receipt = owner.invoke(
                            REGISTRY.of(captures.conversation), asked, key=f"talk-{number}"
                        )
                        receipts[number] = receipt.capture
                    except MinutebookError as error:
                        if error.code != "no_service":
                            raise
                for _ in range(lot.randint(0, 4)):  # a little later each time
                    owner(captures.show, ref=receipts[number])
                for pid in serving_processes(served.home):
                    os.kill(pid, signal.SIGKILL)
            for capture in receipts.values():
                until(lambda id=capture: owner(captures.show, ref=id).state == "done", "it was read")
                shown = owner(captures.show, ref=capture)
                assert len(shown.pieces) == pipeline.FOUND
                assert shown.outcome["proposed"] == pipeline.FOUND
    finally:
        served.end()
