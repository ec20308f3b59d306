"""Everything that is derived, built anew from the rows it is derived from, while the ledger is in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from minutebook.ledger import bands, inbox, memories
from minutebook.ledger.database import Database, Tx
from minutebook.model.inbox import ProposalStatus
from minutebook.model.memories import Status
from minutebook.model.system import Reindexed
from minutebook.policy.similarity import sketch

#: Rows that are rebuilt in one write: others get their turn between two of them.
_AT_ONCE = 100

#: What ought to have a text, and has none.
_MISSING = """
    SELECT (SELECT count(*) FROM memories m WHERE m.status <> 'erased'
               AND NOT EXISTS (SELECT 1 FROM texts t WHERE t.ref = m.id))
         + (SELECT count(*) FROM proposals p WHERE p.claim <> ''
               AND NOT EXISTS (SELECT 1 FROM texts t WHERE t.ref = p.id)) AS n"""
_ORPHANS = """{ref} NOT IN (SELECT id FROM memories WHERE status <> 'erased')
          AND {ref} NOT IN (SELECT id FROM proposals WHERE claim <> '')"""

Sketches = dict[str, set[tuple[str, int]]]


def texts_missing(tx: Tx) -> int:
    """How many memories and proposals cannot be found by their text."""
    row = tx.one(_MISSING)
    return row["n"] if row else 0


def rebuild(database: Database) -> Reindexed:
    """Build texts, sketches and tags anew, some at a time, and the index of the texts."""
    with database.read() as tx:
        mended = texts_missing(tx)
        kept = _sketches(tx)
        all_memories, all_proposals = memories.all_ids(tx), inbox.all_ids(tx)
    # First: a spoilt index would refuse every text that is put in below.
    database.write("global", lambda tx: tx.run(tx.dialect.rebuild_text))
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
    return texts, tx.run(f"DELETE FROM bands WHERE {_ORPHANS.format(ref='ref')}")
