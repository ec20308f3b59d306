"""A ledger with something of everything in it, and empty ones: for archives, backups and restores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.archive import TABLES
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.operations import (
    decisions,
    inbox,
    memories,
    projects,
    runs,
    sessions,
    system,
    tombstones,
    verdicts,
)
from tests.houses import House

AT = "2026-01-01T00:00:00.000000Z"


class EmptyHouse(House):
    """A minutebook that nobody has written to."""

    def _settle(self) -> str:
        return ""


def empty(url: str, home: Path, clock: Callable[[], str], seed: int = 7) -> EmptyHouse:
    return EmptyHouse(url, home, clock, seed=seed)


def live_in(house: House) -> None:
    """Let a team work for a while: every table that an archive holds gets rows, every status occurs."""
    one = house.ripley(
        inbox.submit,
        type="architectural",
        title="One store",
        content="All services keep their state in one PostgreSQL server.",
        slug="store",
        rationale="Two stores drift apart.",
        tag=["Storage", "cross-team"],
        evidence=["file:docs/store.md#1-9"],
    )
    house.bishop(
        inbox.submit, type="process", title="Store reviews", content="Reviews look at stores.", slug="store"
    )
    house.dallas(inbox.promote, ref=one.slug, reason="it is simpler", title="One store for all")
    house.dallas(
        decisions.write,
        type="architectural",
        title="Two stores",
        content="Search has an index of its own beside PostgreSQL.",
        supersedes="store",
    )
    bad = house.ash(inbox.submit, type="scope", title="Mine only", content="Ash alone decides what is built.")
    house.dallas(inbox.reject, ref=bad.slug, reason="nobody decides alone")
    house.bishop(
        inbox.submit, type="technical", title="Ünïcode ✓", content="Zeile eins\u2028zwei 'q' \"d\" \\ %s."
    )
    house.ripley(
        memories.write, type="learning", content="The proxy drops bodies above one megabyte.", slug="proxy"
    )
    house.ripley(
        memories.edit, ref="proxy", content="The proxy drops bodies above two megabytes.", confidence=0.5
    )
    house.ripley(memories.tag, ref="proxy", tags=["proxy", "cross-team"])
    house.ripley(
        memories.write,
        type="pattern",
        content="Retry a lost connection once and then report it.",
        slug="retry",
    )
    house.dallas(memories.retire, ref="retry", reason="it hid failures")
    old = house.dallas(memories.write, type="project", content="The ship is called Nostromo.", slug="ship")
    new = house.dallas(
        memories.write, type="project", content="Its registry number ends on 609.", slug="registry"
    )
    house.dallas(memories.link, ref=str(old.memory), relation="supports", other=str(new.memory))
    third = house.dallas(
        memories.write, type="learning", content="Cats find every warm place on board.", slug="cat"
    )
    house.dallas(verdicts.revert, id=third.verdict, reason="not about work")
    laid = house.mother(tombstones.list_, cause="retired").items[0]
    house.mother(tombstones.lift, id=laid.id, reason="it may be said again")
    house.dallas(
        memories.write, type="project", content="Every project writes UTC times.", slug="utc", scope="global"
    )
    house.ripley(
        memories.write,
        type="learning",
        content="Ripley prefers short sentences.",
        slug="style",
        tier="global",
    )
    house.mother(projects.add_repo, name="api", remote="git@example.com:ship/api.git")
    house.mother(projects.see, path="/home/ripley/nostromo", host="ship")
    house.ripley(
        memories.write, type="learning", content="The api tests need a database.", slug="tests", repo="api"
    )
    house.dallas(sessions.start, focus="landing", session="day-1", issue=["engine 2"], summary="on the way")
    house.dallas(sessions.start, focus="repairs", session="day-2")
    flight = house.ripley(runs.start, task="look at the proxy").id
    house.as_("Ripley", run=flight)(
        inbox.submit, type="pattern", title="Doors", content="Doors are closed before the engines start."
    )
    house.ripley(runs.start, task="ask the cat", parent=flight)
    house.ripley(runs.finish, ref=flight, summary="Looked.", transcript="Ripley: the proxy is fine.")
    gone = house.ripley(
        memories.write, type="update", content="Lambert's phone number is 555 0137 0420.", slug="phone"
    )
    house.mother(memories.erase, ref=str(gone.memory), reason="personal data")
    with pytest.raises(MinutebookError, match="rejected"):
        house.ash(inbox.submit, type="scope", title="Mine only", content="Ash alone decides what is built.")
    _by_hand(house)


def _by_hand(house: House) -> None:
    """Rows of what has no operations yet, or takes files or a second project to come about."""

    def add(tx: Tx, table: str, *, of_project: bool = True, **row: Any) -> None:
        if of_project:
            row["project_id"] = house.project
        names = sorted(row)
        tx.run(f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})", **row)

    def work(tx: Tx) -> None:
        run = {"agent": "ripley", "task": "fly", "status": "open", "snapshot_seq": 3, "started_at": AT}
        add(tx, "runs", id="R2", parent_run_id=None, **run)
        add(tx, "runs", id="R1", parent_run_id="R2", **run)  # the parent has the greater id
        document = {"kind": "document", "title": "log", "content": "words", "digest": "d", "size": 5}
        add(tx, "sources", id="S1", created_by="ripley", created_at=AT, **document)
        came = {"trigger_type": "manual_write", "source_id": "S1", "state": "done", "retry_count": 0}
        add(tx, "ingestion_events", id="I1", created_at=AT, started_at=AT, finished_at=AT, **came)
        view = {"name": "waiting", "operation": "inbox.list", "arguments": "{}"}
        add(tx, "saved_views", id="V1", created_by="dallas", created_at=AT, **view)
        job = {"kind": "mirror", "payload": "{}", "state": "todo", "priority": 0, "attempts": 0}
        add(tx, "jobs", id="J1", due_at=AT, created_at=AT, **job)
        asked = {"actor": "ripley", "query": "proxy", "filters": "{}", "state": "found", "trace": "[]"}
        add(tx, "searches", id="Q1", seq=4, at=AT, **asked)
        took = {"actor": "ripley", "state": "done", "started_at": AT, "finished_at": AT}
        add(tx, "adoptions", id="A1", root="/home/ripley/nostromo", **took)
        adopted = {"adoption_id": "A1", "source_id": "S1"}
        add(tx, "adopted_files", of_project=False, path="log.md", dialect="notes", digest="d", **adopted)
        lines = {"first_line": 1, "last_line": 3, "certainty": "sure", "outcome": "refused"}
        add(tx, "adopted_entries", of_project=False, **lines, **adopted)
        looked = {"state": "done", "cause": "asked", "started_by": "dallas", "started_at": AT, "looked": 2}
        ended = {"finished_at": AT, "worker": "w", "lease_until": AT, "counts": "{}", "beyond": 0}
        add(tx, "consolidations", id="C1", seq=4, **looked, **ended)
        said = {
            "kind": "unused",
            "act": "retire",
            "refs": "[]",
            "rule": "unused",
            "key": "k",
            "state": "left",
        }
        add(tx, "suggestions", id="G1", consolidation_id="C1", created_at=AT, **said)
        led = {
            "other_id": "P2",
            "other_slug": "sulaco",
            "memory_id": "",
            "from_id": "",
            "relation": "related_to",
        }
        add(tx, "reaches", id="L1", seq=4, created_by="mother", created_at=AT, **led)

    house.service.database.write(house.project, work)


def export(house: House, file: Path, **how: Any) -> bytes:
    house.mother(system.export, file=file, **how)
    return file.read_bytes()


def canonical(house: House) -> dict[str, list[dict[str, Any]]]:
    """Every row that an archive holds."""
    return {
        table.name: house.rows(f"SELECT * FROM {table.name} ORDER BY {', '.join(table.key)}")
        for table in TABLES
    }
