"""What erasing must reach beside the rows of the erased thing itself.

Names are made from titles, and so may hold what was to go; they stand quoted in the reasons, traces and
answers of other rows. The list of erasures lies beside the database, because a backup that is older than an
erasure does not know of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from minutebook.ledger.database import Tx

#: Tables that held erased words.
TABLES = ("memories", "revisions", "proposals", "verdicts", "events", "tombstones", "texts", "requests", "tags", "bands")

#: Text columns that may quote a slug.
_QUOTING = (
    ("verdicts", "reason"),
    ("verdicts", "trace"),
    ("verdicts", "candidate"),
    ("events", "detail"),
    ("tombstones", "slug"),
    ("proposals", "would"),
    ("requests", "answer"),
)
_FILE = "erasures.jsonl"


def scrub(tx: Tx, slugs: Iterable[str]) -> None:
    """Replace slugs, wherever they stand quoted or alone in a column, by a mark."""
    for slug in sorted(set(slugs)):
        for table, column in _QUOTING:
            tx.run(
                f"""UPDATE {table} SET {column} =
                        REPLACE(REPLACE({column}, :single, '''[erased]'''), :double, '"[erased]"')
                     WHERE {column} LIKE :like""",
                single=f"'{slug}'",
                double=f'"{slug}"',
                like=f"%{slug}%",
            )
        tx.run("UPDATE tombstones SET slug = '[erased]' WHERE slug = :slug", slug=slug)


def note(home: Path, *, ref: str, at: str, by: str) -> None:
    """Add to the list of erasures, durably. It holds ids and names of actors, never content."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps({"ref": ref, "at": at, "by": by}) + "\n"
    descriptor = os.open(home / _FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def noted(home: Path) -> list[str]:
    """Ids of everything that was ever erased here."""
    path = home / _FILE
    if not path.exists():
        return []
    return [json.loads(line)["ref"] for line in path.read_text().splitlines() if line.strip()]
