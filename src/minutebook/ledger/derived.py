"""Everything that is derived, built anew from the rows it is derived from, while the ledger is in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TypeVar

from minutebook.ledger import bands, fulltext, inbox, memories, shelves, spellings
from minutebook.ledger.database import Database, Tx
from minutebook.model.inbox import ProposalStatus
from minutebook.model.memories import Status
from minutebook.model.system import Coverage, Reindexed
from minutebook.policy.similarity import sketch

T = TypeVar("T")

#: Rows that are rebuilt in one write: others get their turn between two of them.
_AT_ONCE = 100

#: What has words. `{only}` is empty, or holds to one project.
_ROWS = """
    SELECT (SELECT count(*) FROM memories WHERE status <> 'erased' {only})
         + (SELECT count(*) FROM proposals WHERE claim <> '' {only}) AS n"""
#: What ought to have a text, and has none.
_NO_TEXT = """
    SELECT id FROM memories
     WHERE status <> 'erased' AND NOT EXISTS (SELECT 1 FROM texts t WHERE t.ref = memories.id) {only}
     UNION ALL
    SELECT id FROM proposals
     WHERE claim <> '' AND NOT EXISTS (SELECT 1 FROM texts t WHERE t.ref = proposals.id) {only}"""
#: What stands and has no sketch; a text of very few words needs none.
_NO_SKETCH = """
    SELECT id, content FROM memories
     WHERE status = 'active' AND id NOT IN (SELECT ref FROM bands) {only}
     UNION ALL
    SELECT id, content FROM proposals
     WHERE status = 'pending' AND claim <> '' AND id NOT IN (SELECT ref FROM bands) {only}"""
_NO_TAGS = """
    SELECT id FROM memories
     WHERE tags <> '[]' AND status <> 'erased'
       AND NOT EXISTS (SELECT 1 FROM tags t WHERE t.ref = memories.id) {only}"""
_ORPHANS = """{ref} NOT IN (SELECT id FROM memories WHERE status <> 'erased')
          AND {ref} NOT IN (SELECT id FROM proposals WHERE claim <> '')"""

Sketches = dict[str, set[tuple[str, int]]]


def coverage(tx: Tx, project: str | None = None) -> Coverage:
    """How much of the ledger, or of one project, can be found by its text, its likeness and its tags."""
    only = "" if project is None else "AND project_id = :project"
    given = {} if project is None else {"project": project}
    counted = tx.one(_ROWS.format(only=only), **given)
    rows = counted["n"] if counted else 0
    texts = {row["id"] for row in tx.all(_NO_TEXT.format(only=only), **given)}
    tags = {row["id"] for row in tx.all(_NO_TAGS.format(only=only), **given)}
    bare = tx.all(_NO_SKETCH.format(only=only), **given)
    sketches = {row["id"] for row in bare if sketch(row["content"])}
    return Coverage(
        rows=rows,
        share=1 - len(texts | tags | sketches) / rows if rows else 1.0,
        texts_missing=len(texts),
        sketches_missing=len(sketches),
        tags_missing=len(tags),
    )


def rebuild(database: Database) -> Reindexed:
    """Build texts, sketches and tags anew, some at a time, and the index of the texts."""
    with database.read() as tx:
        mended = coverage(tx).texts_missing
        kept = _sketches(tx)
        all_memories, all_proposals = memories.all_ids(tx), inbox.all_ids(tx)
    # First: a spoilt index would refuse every text that is put in below.
    database.write("global", lambda tx: tx.run(tx.dialect.rebuild_text))
    database.write("global", spellings.clear)
    database.write("global", lambda tx: tx.run(tx.dialect.rebuild_words))
    removed = 0
    for some in _batches(all_memories):
        removed += database.write("global", lambda tx, some=some: _memories(tx, some, kept))
    for some in _batches(all_proposals):
        removed += database.write("global", lambda tx, some=some: _proposals(tx, some, kept))
    texts, more = database.write("global", _orphans)
    return Reindexed(
        memories=len(all_memories),
        proposals=len(all_proposals),
        texts_mended=mended,
        texts_removed=texts,
        bands_removed=removed + more,
    )


def shelve(database: Database) -> None:
    """Put everything that stands on its shelf, in a ledger that is older than the shelves.

    Killed on the way it is begun again by whoever opens the ledger next.
    """
    with database.read() as tx:
        standing = memories.all_ids(tx)
    for some in _batches(standing):
        database.write("global", lambda tx, some=some: _shelve(tx, some))
    database.write("global", shelves.filled)


def read_texts(database: Database) -> None:
    """Take in the terms of everything, in a ledger that is older than they are.

    Killed on the way it is begun again by whoever opens the ledger next.
    """
    with database.read() as tx:
        all_memories, all_proposals = memories.all_ids(tx), inbox.all_ids(tx)
    for some in _batches(all_memories):
        database.write("global", lambda tx, some=some: _read(tx, some, memories.get, memories.rederive))
    for some in _batches(all_proposals):
        database.write("global", lambda tx, some=some: _read(tx, some, inbox.get, inbox.rederive))
    database.write("global", fulltext.read)


def _read(
    tx: Tx, ids: list[str], get: Callable[[Tx, str], T | None], rederive: Callable[[Tx, T], None]
) -> None:
    for id in ids:
        found = get(tx, id)
        if found is not None:
            rederive(tx, found)


def _shelve(tx: Tx, ids: list[str]) -> None:
    for id in ids:
        memory = memories.get(tx, id)
        if memory is not None:
            shelves.put(tx, memory)


def _batches(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _AT_ONCE):
        yield ids[start : start + _AT_ONCE]


def _sketches(tx: Tx) -> Sketches:
    found: Sketches = defaultdict(set)
    for row in tx.all("SELECT project_id, band, ref FROM bands"):
        found[row["ref"]].add((row["project_id"], row["band"]))
    return found


def _memories(tx: Tx, ids: list[str], kept: Sketches) -> int:
    removed = 0
    for id in ids:
        memory = memories.get(tx, id)
        if memory is not None:
            standing = sketch(memory.content) if memory.status is Status.ACTIVE else ()
            removed += _remove_stale(tx, id, kept, {(memory.scope.project, band) for band in standing})
            memories.rederive(tx, memory)
    return removed


def _proposals(tx: Tx, ids: list[str], kept: Sketches) -> int:
    removed = 0
    for id in ids:
        proposal = inbox.get(tx, id)
        if proposal is not None:
            standing = sketch(proposal.content) if proposal.status is ProposalStatus.PENDING else ()
            removed += _remove_stale(tx, id, kept, {(proposal.project, band) for band in standing})
            inbox.rederive(tx, proposal)
    return removed


def _remove_stale(tx: Tx, ref: str, kept: Sketches, wanted: set[tuple[str, int]]) -> int:
    """Remove what was there when we looked and belongs to no text that stands now."""
    stale = kept.get(ref, set()) - wanted
    for project, band in stale:
        bands.remove(tx, project, ref, [band])
    return len(stale)


def _orphans(tx: Tx) -> tuple[int, int]:
    texts = tx.run(f"DELETE FROM texts WHERE {_ORPHANS.format(ref='ref')}")
    tx.run(f"DELETE FROM tags WHERE {_ORPHANS.format(ref='ref')}")
    tx.run("DELETE FROM vectors WHERE ref NOT IN (SELECT id FROM memories WHERE status <> 'erased')")
    tx.run("DELETE FROM shelves WHERE ref NOT IN (SELECT id FROM memories WHERE status = 'active')")
    return texts, tx.run(f"DELETE FROM bands WHERE {_ORPHANS.format(ref='ref')}")
