"""Finding what was named in another project: what a link leads to, and what a link shall lead to."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.call import Call
from minutebook.controller.across import sees_all
from minutebook.ledger import memories as kept
from minutebook.ledger import past, projects, reach
from minutebook.ledger.memories import from_row
from minutebook.ledger.reach import Way
from minutebook.ledger.visibility import Reader
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.memories import Memory, Relation
from minutebook.model.text import canonical_slug
from minutebook.operations.given import seq_of


@dataclass(frozen=True, slots=True)
class Linked:
    """A memory of another project, and what that is called."""

    memory: Memory
    project: str


def linked_memory(call: Call, ref: str, as_of: str | None = None) -> Linked | None:
    """The memory of a linked project that an id, or PROJECT/SLUG, means; None where it means none."""
    project, _, slug = ref.rpartition("/")
    if not project and not is_ulid(ref.upper()):
        return None
    seq = None if as_of is None else seq_of(call, as_of)
    if seq is None:
        here = call.project.id
        linked = call.tx.remember(("reach", here), lambda: reach.of(call.tx, here))
    else:
        linked = reach.of(call.tx, call.project.id, seq)
    if not linked:
        return None
    if not project:
        found = _by_id(call, ref.upper(), linked, seq)
    else:
        home = next((id for id, name in linked.called.items() if name == project), None)
        found = None if home is None else _by_slug(call, canonical_slug(slug), home, linked, seq)
    return None if found is None else Linked(found, linked.called[found.scope.project])


def _by_id(call: Call, id: str, linked: reach.Reach, seq: int | None) -> Memory | None:
    if seq is None:
        row = reach.seen(call.tx, id, call.reader)
        return None if row is None else from_row(row)
    stood = past.at(call.tx, id, seq)
    return stood if stood is not None and linked.covers(stood) else None


def _by_slug(call: Call, slug: str, home: str, linked: reach.Reach, seq: int | None) -> Memory | None:
    if seq is None:
        found = [from_row(row) for row in reach.named(call.tx, slug, home, call.reader)]
    else:
        stood = past.named(call.tx, slug, Reader(home), seq, governing=None)
        found = [memory for memory in stood if linked.covers(memory)]
    return _the_one(found, slug)


def _the_one(found: list[Memory], slug: str) -> Memory | None:
    if len(found) > 1:
        raise MinutebookError(
            "ambiguous",
            f"{slug!r} names {len(found)} memories there; give the id of the one that is meant.",
            candidates=[f"{memory.id}  {memory.type}" for memory in found],
        )
    return found[0] if found else None


def foreign_memory(call: Call, ref: str) -> Memory | None:
    """The memory of any other project that an id, or PROJECT/SLUG, means; only for who decides everywhere."""
    if not sees_all(call):
        return None
    if is_ulid(ref.upper()):
        return kept.get(call.tx, ref.upper())
    project, _, slug = ref.rpartition("/")
    home = projects.find(call.tx, project) if project else None
    return None if home is None else _the_one(kept.standing_for(call.tx, home.id, canonical_slug(slug)), slug)


def way_out(call: Call, memory: Memory, relation: Relation, ref: str) -> Way | None:
    """The link from a memory into another project that is meant, whatever became of what it led to."""
    if is_ulid(ref.upper()):
        return reach.way_of(call.tx, memory.id, relation, ref.upper())
    found = linked_memory(call, ref)
    return None if found is None else reach.way_of(call.tx, memory.id, relation, found.memory.id)
