"""The way from a capture to the inbox, in a process that is killed on it: a part of the launcher."""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minutebook.call import World
from minutebook.engine.jobs import JobWorker, Times, end_leases
from minutebook.engine.kinds import KINDS
from minutebook.ledger.database import open_database
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import Ids
from minutebook.model.times import text_of
from minutebook.operations import captures, projects
from minutebook.operations.registry import REGISTRY
from minutebook.policy.limits import Limits
from minutebook.service import LocalClient, Service
from minutebook.wiring import SCHEMA

PROJECT = "nostromo"
#: Short, so that a job whose worker was killed is taken again at once where nobody can know that it is dead.
TIMES = Times(lease=0.3, first_pause=0.01, last_pause=0.05, interruptions=1000)
#: What each text says that is worth keeping, and how often.
FOUND = 3


def now() -> str:
    return text_of(datetime.now(UTC))


def text(number: int) -> str:
    """A talk of which each settles three things that no other one does."""
    lot = random.Random(number)
    names = ["".join(lot.choices("bcdfghklmnprstvz", k=9)) for _ in range(6)]
    return (
        f"Ana: what about {names[0]}?\n"
        f"Sebas: We decided to use {names[1]} instead of {names[2]} for the {names[3]} of {number}.\n"
        f"Ana: Turns out the {names[4]} of {number} was caused by the {names[5]} sharing one temp directory.\n"
        f"Sebas: Never push {names[0]} directly to {names[3]} or to {names[5]}, please.\n"
    )


def service_of(url: str, home: Path) -> Service:
    world = World(
        clock=now,
        ids=Ids(lambda: time.time_ns() // 1_000_000, secrets.randbits),
        secret=lambda: secrets.token_hex(32),
        limits=Limits(),
        home=home,
    )
    return Service(open_database(url, schema=SCHEMA, wait=20, clock=now), world)


def client_of(service: Service) -> LocalClient:
    mother = Actor("mother", "Mother", Role.OPERATOR)
    return LocalClient(service, actor=mother, origin=Origin.PYTHON, project=PROJECT)


def begin(order: dict[str, Any]) -> dict[str, Any]:
    """Make the project."""
    service = service_of(order["url"], Path(order["home"]))
    client = client_of(service)
    client.project = None
    client(projects.create, name="Nostromo")
    service.close()
    return {}


def go_on(order: dict[str, Any], steps: Any) -> dict[str, Any]:
    """Capture what was not acknowledged, and do what waits; `until_done` waits for what others left behind."""
    steps.watch()
    service = service_of(order["url"], Path(order["home"]))
    client = client_of(service)
    acks = os.open(order["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in order["numbers"]:
        receipt = client.invoke(
            REGISTRY.of(captures.conversation),
            {"content": text(number), "consent": "yes"},
            key=f"talk-{number}",
        )
        os.write(acks, f"{number} {receipt.source}\n".encode())
    end_leases(service.database)
    _work(service, until_done=bool(order.get("until_done")))
    service.close()
    return {"steps": steps.names}


def _work(service: Service, *, until_done: bool) -> None:
    worker = JobWorker("jobs", service.database, service.world, KINDS, times=TIMES)
    ending = threading.Event()
    deadline = time.monotonic() + 60
    pause = worker.step(ending)
    while until_done and pause is not None:
        if time.monotonic() > deadline:
            raise MinutebookError("internal", "what was left behind is not taken up")
        ending.wait(pause)
        pause = worker.step(ending)
