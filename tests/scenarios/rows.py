"""All that a ledger holds, table by table, so that a test can say what changed and what did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

#: Everything but the migrations: also what is derived, which must not change on its own either.
TABLES = (
    "projects", "workspaces", "repos", "actors", "events", "memories", "revisions", "memory_links", "reaches", "tags",
    "proposals", "verdicts", "requests", "claim_keys", "tombstones", "sessions", "session_revisions", "runs", "sources",
    "snapshots", "sightings",
    "ingestion_events", "jobs", "searches", "saved_views", "maintenance", "bands",
)  # fmt: skip

#: What a recorded refusal may add: its verdict, its place in the log, nothing else.
OF_A_REFUSAL = {"verdicts", "events"}

Rows = dict[str, list[str]]


class Readable(Protocol):
    def rows(self, sql: str, **params: Any) -> list[dict[str, Any]]: ...


def all_rows(house: Readable) -> Rows:
    """Every row of every table, in an order of its own."""
    found = {name: sorted(map(_plain, house.rows(f"SELECT * FROM {name}"))) for name in TABLES}
    # Without what PostgreSQL generates beside them.
    found["texts"] = sorted(map(_plain, house.rows("SELECT ref, kind, terms FROM texts")))
    found["shelves"] = sorted(map(_plain, house.rows("SELECT ref, reader, layer, words FROM shelves")))
    return found


def _plain(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def texts_of(house: Readable) -> Iterator[tuple[str, str, str]]:
    """Every text that is stored anywhere, with the table and column that hold it."""
    for name in (*TABLES, "texts", "shelves"):
        for row in house.rows(f"SELECT * FROM {name}"):
            yield from ((name, column, text) for column, text in row.items() if isinstance(text, str))


def changed(before: Rows, after: Rows) -> set[str]:
    """The tables whose rows are not the same."""
    return {name for name in before if before[name] != after[name]}


def lost(before: Rows, after: Rows) -> dict[str, list[str]]:
    """Rows that were there and are not there any more, word for word."""
    gone = {name: sorted(set(rows) - set(after[name])) for name, rows in before.items()}
    return {name: rows for name, rows in gone.items() if rows}
