"""Memories as they stood when the log had reached a number: what changed since is read from the revisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from minutebook.ledger import listings
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.listings import Filter
from minutebook.ledger.memories import from_row
from minutebook.ledger.plain import load_state
from minutebook.ledger.visibility import Reader, visible
from minutebook.model.memories import CROSS_TEAM, GOVERNING, Memory, MemoryLine, Status
from minutebook.model.scopes import GLOBAL, ScopeKind


@dataclass(frozen=True, slots=True)
class Then:
    """A memory that changed since, as it stood."""

    memory: Memory
    created_seq: int
    #: its words are gone for good, also those that it had then
    erased: bool


def changed_since(tx: Tx, seq: int) -> list[Then]:
    """Everything that existed then and changed since, oldest first."""
    rows = tx.all(
        """SELECT r.memory_id, r.revision, r.seq, r.state, m.created_seq, m.status
             FROM memories m JOIN revisions r ON r.memory_id = m.id AND r.revision =
                  (SELECT max(x.revision) FROM revisions x WHERE x.memory_id = m.id AND x.seq <= :seq)
            WHERE m.created_seq <= :seq AND m.id IN (SELECT n.memory_id FROM revisions n WHERE n.seq > :seq)
            ORDER BY m.created_seq, m.id""",
        seq=seq,
    )
    return [_then(row) for row in rows]


def _then(row: Row) -> Then:
    memory = load_state(row["state"], id=row["memory_id"], revision=row["revision"], seq=row["seq"])
    return Then(memory, row["created_seq"], row["status"] == Status.ERASED)


def sees(reader: Reader, memory: Memory) -> bool:
    """Whether a reader may see a memory that is not a row: the same rule as the clause of visibility."""
    scope = memory.scope
    if scope.project not in (reader.project, GLOBAL):
        return False
    if reader.agent is None or scope.kind is not ScopeKind.AGENT or scope.agent == reader.agent:
        return True
    return scope.project == reader.project and CROSS_TEAM in memory.tags


def get(tx: Tx, id: str, reader: Reader, seq: int) -> Memory | None:
    """A memory by its id, as it stood then, if it existed and the reader may see what it was."""
    memory = at(tx, id, seq)
    return memory if memory is not None and sees(reader, memory) else None


def at(tx: Tx, id: str, seq: int) -> Memory | None:
    """A memory by its id, as it stood then, whoever may see it."""
    row = tx.one("SELECT * FROM memories WHERE id = :id AND created_seq <= :seq", id=id, seq=seq)
    if row is None:
        return None
    if row["seq"] <= seq:
        memory = from_row(row)
    else:
        kept = tx.one(
            """SELECT revision, seq, state FROM revisions WHERE memory_id = :id AND seq <= :seq
                ORDER BY revision DESC LIMIT 1""",
            id=id,
            seq=seq,
        )
        if kept is None:
            return None
        memory = load_state(kept["state"], id=id, revision=kept["revision"], seq=kept["seq"])
        if row["status"] == Status.ERASED:
            memory = replace(memory, status=Status.ERASED)
    return memory


def named(tx: Tx, slug: str, reader: Reader, seq: int, *, governing: bool | None) -> list[Memory]:
    """Memories that bore a slug and stood then, and that the reader may see, deepest scope first."""
    clause, params = visible(reader)
    rows = tx.all(
        f"""SELECT m.* FROM memories m {tx.dialect.by_name}
             WHERE m.slug = :slug AND m.status = 'active' AND m.seq <= :seq AND {clause}""",
        slug=slug,
        seq=seq,
        **params,
    )
    found = [from_row(row) for row in rows]
    found += [
        then.memory
        for then in changed_since(tx, seq)
        if then.memory.slug == slug and then.memory.status is Status.ACTIVE and sees(reader, then.memory)
    ]
    if governing is not None:
        found = [memory for memory in found if (memory.type in GOVERNING) == governing]
    return sorted(found, key=lambda memory: (-memory.scope.depth, memory.id))


def list_(
    tx: Tx, reader: Reader, wanted: Filter, seq: int, *, after: str | None, limit: int
) -> list[MemoryLine]:
    """A listing as it was then, newest first. What stood in contradiction then is not known: links have no past."""
    unchanged = listings.list_(tx, reader, wanted, after=after, limit=limit, until_seq=seq)
    unchanged = [
        line if line.status != "contradicted" else replace(line, status="active") for line in unchanged
    ]
    lines = {line.id: line for line in unchanged}
    for memory in _matching(changed_since(tx, seq), reader, wanted):
        if after is None or memory.id < after:
            lines[memory.id] = _line(memory)
    return sorted(lines.values(), key=lambda line: line.id, reverse=True)[:limit]


def _matching(changed: Iterable[Then], reader: Reader, wanted: Filter) -> Iterable[Memory]:
    for then in changed:
        memory = replace(then.memory, status=Status.ERASED) if then.erased else then.memory
        if sees(reader, memory) and fits(memory, wanted):
            yield memory


def fits(memory: Memory, wanted: Filter) -> bool:
    """The same as the listing asks of rows."""
    if wanted.governing is not None and memory.governs != wanted.governing:
        return False
    if wanted.status not in (None, "all", memory.status.value):
        return False
    facts = {
        "type": memory.type,
        "scope": memory.scope.kind,
        "agent": memory.scope.agent,
        "author": memory.author,
        "importance": memory.importance,
        "run": memory.run,
    }
    if any(getattr(wanted, name) not in (None, value) for name, value in facts.items()):
        return False
    if wanted.since is not None and memory.updated_at < wanted.since:
        return False
    if wanted.until is not None and memory.updated_at > wanted.until:
        return False
    return set(wanted.tags) <= set(memory.tags)


def _line(memory: Memory) -> MemoryLine:
    return MemoryLine(
        id=memory.id,
        type=memory.type,
        slug=memory.slug,
        title=memory.title,
        scope=str(memory.scope),
        status=memory.status.value,
        importance=memory.importance,
        author=memory.author,
        tags=memory.tags,
        revision=memory.revision,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
    )
