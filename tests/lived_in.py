"""A ledger with something of everything in it, and empty ones: for archives, backups and restores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.archive import TABLES
from minutebook.model.errors import MinutebookError
from minutebook.operations import decisions, inbox, memories, projects, sessions, system, tombstones, verdicts
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
    gone = house.ripley(
        memories.write, type="update", content="Lambert's phone number is 555 0137 0420.", slug="phone"
    )
    house.mother(memories.erase, ref=str(gone.memory), reason="personal data")
    with pytest.raises(MinutebookError, match="rejected"):
        house.ash(inbox.submit, type="scope", title="Mine only", content="Ash alone decides what is built.")
    _by_hand(house)


def _by_hand(house: House) -> None:
    """Rows of what has tables and no operations yet."""
    project = house.project

    def work(tx: Any) -> None:
        for id, parent in (("R2", None), ("R1", "R2")):  # the parent has the greater id
            tx.run(
                """INSERT INTO runs (id, project_id, agent, task, parent_run_id, status, snapshot_seq, started_at)
                   VALUES (:id, :project, 'ripley', 'fly', :parent, 'open', 3, :at)""",
                id=id, project=project, parent=parent, at=AT,
            )  # fmt: skip
        tx.run(
            """INSERT INTO sources (id, project_id, kind, title, content, digest, size, created_by, created_at)
               VALUES ('S1', :project, 'document', 'log', 'words', 'd', 5, 'ripley', :at)""",
            project=project, at=AT,
        )  # fmt: skip
        tx.run(
            """INSERT INTO ingestion_events (id, project_id, trigger_type, source_id, state, retry_count, created_at)
               VALUES ('I1', :project, 'manual', 'S1', 'done', 0, :at)""",
            project=project, at=AT,
        )  # fmt: skip
        tx.run(
            """INSERT INTO saved_views (id, project_id, name, operation, arguments, created_by, created_at)
               VALUES ('V1', :project, 'waiting', 'inbox.list', '{}', 'dallas', :at)""",
            project=project, at=AT,
        )  # fmt: skip
        tx.run(
            """INSERT INTO jobs (id, project_id, kind, payload, state, priority, due_at, attempts, created_at)
               VALUES ('J1', :project, 'mirror', '{}', 'todo', 0, :at, 0, :at)""",
            project=project, at=AT,
        )  # fmt: skip
        tx.run(
            """INSERT INTO searches (id, project_id, actor, query, filters, state, trace, seq, at)
               VALUES ('Q1', :project, 'ripley', 'proxy', '{}', 'found', '[]', 4, :at)""",
            project=project, at=AT,
        )  # fmt: skip

    house.service.database.write(project, work)


def export(house: House, file: Path, **how: Any) -> bytes:
    house.mother(system.export, file=file, **how)
    return file.read_bytes()


def canonical(house: House) -> dict[str, list[dict[str, Any]]]:
    """Every row that an archive holds."""
    return {
        table.name: house.rows(f"SELECT * FROM {table.name} ORDER BY {', '.join(table.key)}")
        for table in TABLES
    }
