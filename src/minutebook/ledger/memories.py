"""Memories: storing them, and finding the ones that are meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

from minutebook.ledger import bands, fulltext, revisions, shelves
from minutebook.ledger.database import Tx
from minutebook.ledger.plain import (
    dump,
    dump_evidence,
    load_evidence,
    load_tags,
)
from minutebook.ledger.visibility import Reader, visible
from minutebook.model.memories import (
    GOVERNING,
    Importance,
    Memory,
    Status,
    Type,
)
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.policy.similarity import sketch
from minutebook.policy.terms import memory_line

_INSERT = """
    INSERT INTO memories (
        id, project_id, scope, tier, agent, repo_id, session_id, type, slug, title, content, summary, rationale,
        status, importance, confidence, entity, attribute, tags, evidence, author, author_role, origin,
        decided_by, decided_role, proposal_id, source_id, run_id, superseded_by, observed_at, verified_at,
        created_at, updated_at, revision, created_seq, seq, claim)
    VALUES (
        :id, :project_id, :scope, :tier, :agent, :repo_id, :session_id, :type, :slug, :title, :content, :summary,
        :rationale, :status, :importance, :confidence, :entity, :attribute, :tags, :evidence, :author,
        :author_role, :origin, :decided_by, :decided_role, :proposal_id, :source_id, :run_id, :superseded_by,
        :observed_at, :verified_at, :created_at, :updated_at, :revision, :seq, :seq, :claim)"""

# The revision is compared and set: a memory that moved on since it was read is not overwritten.
_UPDATE = """
    UPDATE memories SET
        project_id = :project_id, scope = :scope, tier = :tier, agent = :agent, repo_id = :repo_id,
        session_id = :session_id, type = :type, slug = :slug, title = :title, content = :content,
        summary = :summary, rationale = :rationale, status = :status, importance = :importance,
        confidence = :confidence, entity = :entity, attribute = :attribute, tags = :tags, evidence = :evidence,
        author = :author, author_role = :author_role, origin = :origin, decided_by = :decided_by,
        decided_role = :decided_role, proposal_id = :proposal_id, source_id = :source_id, run_id = :run_id,
        superseded_by = :superseded_by, observed_at = :observed_at, verified_at = :verified_at,
        created_at = :created_at, updated_at = :updated_at, revision = :revision, seq = :seq, claim = :claim
     WHERE id = :id AND revision = :revision - 1"""


def insert(tx: Tx, memory: Memory, claim: str, verdict: str) -> None:
    """Store a new memory with its first revision, tags, text and sketch."""
    tx.put(_INSERT, **_columns(memory, claim))
    _add_tags(tx, memory.id, memory.tags)
    revisions.keep(tx, memory, verdict)
    _derive(tx, memory)


def replace(tx: Tx, prior: Memory, memory: Memory, claim: str, verdict: str) -> bool:
    """Store the next revision of a memory; False when it has moved on from `prior`."""
    if not tx.run(_UPDATE, **_columns(memory, claim)):
        return False
    if prior.tags != memory.tags:
        tx.put("DELETE FROM tags WHERE ref = :ref", ref=memory.id)
        _add_tags(tx, memory.id, memory.tags)
    revisions.keep(tx, memory, verdict)
    if prior.scope.project != memory.scope.project:
        fulltext.move(tx, memory.id, memory.scope.project)
    underive(tx, prior)
    _derive(tx, memory)
    return True


def _add_tags(tx: Tx, ref: str, tags: Sequence[str]) -> None:
    for tag in tags:
        tx.put("INSERT INTO tags (ref, tag) VALUES (:ref, :tag) ON CONFLICT DO NOTHING", ref=ref, tag=tag)


def _derive(tx: Tx, memory: Memory) -> None:
    """Make the memory findable. Only what stands can be a duplicate; what is past can still be searched."""
    shelves.put(tx, memory)
    if memory.status is Status.ERASED:
        fulltext.erase(tx, memory.id)
        return
    fulltext.put(tx, ref=memory.id, kind="memory", project=memory.scope.project, line=memory_line(memory))
    if memory.status is Status.ACTIVE:
        bands.add(tx, memory.scope.project, memory.id, sketch(memory.content))


def underive(tx: Tx, memory: Memory) -> None:
    """Take away the sketch of a memory as it stood."""
    if memory.status is Status.ACTIVE:
        bands.remove(tx, memory.scope.project, memory.id, sketch(memory.content))


def rederive(tx: Tx, memory: Memory) -> None:
    """Build the derived rows of a memory anew."""
    tx.put("DELETE FROM tags WHERE ref = :ref", ref=memory.id)
    _add_tags(tx, memory.id, memory.tags)
    fulltext.move(tx, memory.id, memory.scope.project)
    _derive(tx, memory)


def get(tx: Tx, id: str) -> Memory | None:
    row = tx.one("SELECT * FROM memories WHERE id = :id", id=id)
    return None if row is None else from_row(row)


def seen_by(tx: Tx, id: str, reader: Reader) -> Memory | None:
    """A memory by id, if the reader may see it."""
    clause, params = visible(reader)
    row = tx.one(f"SELECT m.* FROM memories m WHERE m.id = :id AND {clause}", id=id, **params)
    return None if row is None else from_row(row)


def unseen(tx: Tx, ids: Sequence[str], reader: Reader) -> set[str]:
    """Those of the ids that are memories the reader may not see."""
    if not ids:
        return set()
    names = {f"i{index}": id for index, id in enumerate(dict.fromkeys(ids))}
    clause, params = visible(reader)
    rows = tx.all(
        f"""SELECT m.id FROM memories m
             WHERE m.id IN ({", ".join(":" + name for name in names)}) AND NOT ({clause})""",
        **names,
        **params,
    )
    return {row["id"] for row in rows}


def named(tx: Tx, slug: str, reader: Reader, *, governing: bool | None, active: bool = True) -> list[Memory]:
    """Memories of a slug that the reader may see, deepest scope first."""
    clause, params = visible(reader)
    if active:
        clause += " AND m.status = 'active'"
    if governing is not None:
        clause += f" AND m.type {'IN' if governing else 'NOT IN'} ({governing_types()})"
    rows = tx.all(
        f"SELECT m.* FROM memories m WHERE m.slug = :slug AND {clause} ORDER BY m.id DESC LIMIT 20",
        slug=slug,
        **params,
    )
    return sorted((from_row(row) for row in rows), key=lambda m: -m.scope.depth)


def standing_for(tx: Tx, project: str, slug: str) -> list[Memory]:
    """Active memories of a slug that stand for a whole project."""
    rows = tx.all(
        """SELECT * FROM memories
            WHERE slug = :slug AND project_id = :project AND scope = 'project' AND status = 'active' ORDER BY id""",
        slug=slug,
        project=project,
    )
    return [from_row(row) for row in rows]


def of_identity(tx: Tx, scope: Scope, type: Type, slug: str) -> Memory | None:
    """The active memory of an identity."""
    row = tx.one(
        """SELECT * FROM memories
            WHERE project_id = :project AND scope = :scope AND tier = :tier AND agent = :agent
              AND repo_id = :repo AND session_id = :session AND type = :type AND slug = :slug
              AND status = 'active'""",
        type=type,
        slug=slug,
        **_place(scope),
    )
    return None if row is None else from_row(row)


def slugs_like(tx: Tx, scope: Scope, type: Type, slug: str) -> set[str]:
    """Active slugs of the identity's place that begin with `slug`."""
    rows = tx.all(
        """SELECT slug FROM memories
            WHERE project_id = :project AND slug >= :slug AND slug < :end AND scope = :scope AND tier = :tier AND agent = :agent
              AND repo_id = :repo AND session_id = :session AND type = :type AND status = 'active'""",
        type=type,
        slug=slug,
        end=slug + "~",
        **_place(scope),
    )
    return {row["slug"] for row in rows}


def of_claim(tx: Tx, scope: Scope, claim: str) -> list[Memory]:
    """Active memories of a scope that say exactly this."""
    rows = tx.all(
        """SELECT * FROM memories
            WHERE claim = :claim AND project_id = :project AND scope = :scope AND tier = :tier
              AND agent = :agent AND repo_id = :repo AND session_id = :session AND status = 'active'
            LIMIT 5""",
        claim=claim,
        **_place(scope),
    )
    return sorted((from_row(row) for row in rows), key=lambda memory: memory.id)


def of_slot(tx: Tx, scope: Scope, entity: str, attribute: str) -> list[Memory]:
    """Active memories of a scope that fill the same slot."""
    rows = tx.all(
        """SELECT * FROM memories
            WHERE project_id = :project AND entity = :entity AND attribute = :attribute AND scope = :scope
              AND tier = :tier AND agent = :agent AND repo_id = :repo AND session_id = :session
              AND status = 'active'
            LIMIT 6""",
        entity=entity,
        attribute=attribute,
        **_place(scope),
    )
    return sorted((from_row(row) for row in rows), key=lambda memory: memory.id)


def near(tx: Tx, scope: Scope, refs: Sequence[str]) -> list[Memory]:
    """Those of the refs that are active memories of this very place."""
    found = []
    for ref in refs:
        memory = get(tx, ref)
        if memory is not None and memory.scope == scope and memory.status is Status.ACTIVE:
            found.append(memory)
    return found


def counts(tx: Tx, project: str) -> dict[str, int]:
    rows = tx.all(
        """SELECT status, count(*) AS n FROM memories WHERE project_id = :project
            GROUP BY status ORDER BY status""",
        project=project,
    )
    return {row["status"]: row["n"] for row in rows}


def supersession_chain(tx: Tx, id: str) -> set[str]:
    """Ids that follow `id` by supersession, itself included."""
    rows = tx.all(
        """WITH RECURSIVE chain (id) AS (
               SELECT m.id FROM memories m WHERE m.id = :id
               UNION SELECT m.superseded_by FROM memories m JOIN chain ON m.id = chain.id
                WHERE m.superseded_by IS NOT NULL)
           SELECT id FROM chain""",
        id=id,
    )
    return {row["id"] for row in rows}


def all_ids(tx: Tx) -> list[str]:
    return [row["id"] for row in tx.all("SELECT id FROM memories ORDER BY id")]


def blanked(memory: Memory, placeholder: str) -> Memory:
    return changed(
        memory,
        title=placeholder,
        content=placeholder,
        slug=f"erased-{memory.id.lower()}",
        summary=None,
        rationale=None,
        entity=None,
        attribute=None,
        tags=(),
        evidence=(),
    )


def governing_types() -> str:
    """The governing types, as a list in SQL."""
    return ", ".join(f"'{member.value}'" for member in sorted(GOVERNING))


def _place(scope: Scope) -> dict[str, str]:
    return {
        "project": scope.project,
        "scope": scope.kind,
        "tier": scope.tier,
        "agent": scope.agent,
        "repo": scope.repo,
        "session": scope.session,
    }


def _columns(memory: Memory, claim: str) -> dict[str, Any]:
    scope = memory.scope
    return {
        "id": memory.id,
        "project_id": scope.project,
        "scope": scope.kind.value,
        "tier": scope.tier,
        "agent": scope.agent,
        "repo_id": scope.repo,
        "session_id": scope.session,
        "type": memory.type.value,
        "slug": memory.slug,
        "title": memory.title,
        "content": memory.content,
        "summary": memory.summary,
        "rationale": memory.rationale,
        "status": memory.status.value,
        "importance": memory.importance.value,
        "confidence": memory.confidence,
        "entity": memory.entity,
        "attribute": memory.attribute,
        "tags": dump(memory.tags) if memory.tags else "[]",
        "evidence": dump_evidence(memory.evidence),
        "author": memory.author,
        "author_role": memory.author_role,
        "origin": memory.origin,
        "decided_by": memory.decided_by,
        "decided_role": memory.decided_role,
        "proposal_id": memory.proposal,
        "source_id": memory.source,
        "run_id": memory.run,
        "superseded_by": memory.superseded_by,
        "observed_at": memory.observed_at,
        "verified_at": memory.verified_at,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "revision": memory.revision,
        "seq": memory.seq,
        "claim": claim,
    }


def scope_of(row: dict[str, Any]) -> Scope:
    return Scope(
        ScopeKind(row["scope"]),
        row["project_id"],
        row["tier"],
        row["agent"],
        row["repo_id"],
        row["session_id"],
    )


def from_row(row: dict[str, Any]) -> Memory:
    """A memory from its row; columns of another table beside it are left alone."""
    return Memory(
        id=row["id"],
        scope=scope_of(row),
        type=Type(row["type"]),
        slug=row["slug"],
        title=row["title"],
        content=row["content"],
        status=Status(row["status"]),
        author=row["author"],
        author_role=row["author_role"],
        origin=row["origin"],
        decided_by=row["decided_by"],
        decided_role=row["decided_role"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        revision=row["revision"],
        summary=row["summary"],
        rationale=row["rationale"],
        importance=Importance(row["importance"]),
        confidence=row["confidence"],
        entity=row["entity"],
        attribute=row["attribute"],
        tags=load_tags(row["tags"]),
        evidence=load_evidence(row["evidence"]),
        proposal=row["proposal_id"],
        source=row["source_id"],
        run=row["run_id"],
        superseded_by=row["superseded_by"],
        observed_at=row["observed_at"],
        verified_at=row["verified_at"],
        seq=row["seq"],
    )
