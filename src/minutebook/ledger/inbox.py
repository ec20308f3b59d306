"""Proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minutebook.ledger import bands, fulltext
from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, dump_evidence, dump_would, load_evidence, load_tags, load_would
from minutebook.ledger.visibility import Reader, visible
from minutebook.model.inbox import Proposal, ProposalStatus, Risk
from minutebook.model.memories import Importance, Type
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.policy.similarity import sketch
from minutebook.policy.terms import proposal_line

_INSERT = """
    INSERT INTO proposals (
        id, project_id, slug, requested_slug, agent, author_role, origin, scope_project, scope, tier, scope_agent,
        repo_id, session_id, type, title, content, rationale, status, risk, would, importance, confidence, entity,
        attribute, tags, evidence, observed_at, source_id, run_id, base_id, base_revision, memory_id, decided_at,
        reviewer, reviewer_role, reason, edits, created_at, updated_at, revision, seq, claim)
    VALUES (
        :id, :project_id, :slug, :requested_slug, :agent, :author_role, :origin, :scope_project, :scope, :tier,
        :scope_agent, :repo_id, :session_id, :type, :title, :content, :rationale, :status, :risk, :would,
        :importance, :confidence, :entity, :attribute, :tags, :evidence, :observed_at, :source_id, :run_id,
        :base_id, :base_revision, :memory_id, :decided_at, :reviewer, :reviewer_role, :reason, :edits,
        :created_at, :updated_at, :revision, :seq, :claim)"""


def insert(tx: Tx, proposal: Proposal, claim: str) -> None:
    tx.run(_INSERT, **_columns(proposal, claim))
    _derive(tx, proposal)


def replace(tx: Tx, prior: Proposal, proposal: Proposal, claim: str) -> bool:
    """Store a pending proposal's new words; False when it is not pending any more."""
    changed = tx.run(
        """UPDATE proposals SET
               type = :type, title = :title, content = :content, rationale = :rationale, risk = :risk,
               would = :would, importance = :importance, confidence = :confidence, entity = :entity,
               attribute = :attribute, tags = :tags, evidence = :evidence, observed_at = :observed_at,
               source_id = :source_id, run_id = :run_id, base_id = :base_id, base_revision = :base_revision,
               scope_project = :scope_project, scope = :scope, tier = :tier, scope_agent = :scope_agent,
               repo_id = :repo_id, session_id = :session_id, updated_at = :updated_at, revision = :revision,
               seq = :seq, claim = :claim
            WHERE id = :id AND status = 'pending' AND revision = :revision - 1""",
        **{k: v for k, v in _columns(proposal, claim).items() if k in _REPLACED},
    )
    if changed:
        _underive(tx, prior)
        _derive(tx, proposal)
    return bool(changed)


_REPLACED = frozenset(
    [
        "id",
        "type",
        "title",
        "content",
        "rationale",
        "risk",
        "would",
        "importance",
        "confidence",
        "entity",
        "attribute",
        "tags",
        "evidence",
        "observed_at",
        "source_id",
        "run_id",
        "base_id",
        "base_revision",
        "scope_project",
        "scope",
        "tier",
        "scope_agent",
        "repo_id",
        "session_id",
        "updated_at",
        "revision",
        "seq",
        "claim",
    ]
)


def settle(
    tx: Tx,
    proposal: Proposal,
    status: ProposalStatus,
    *,
    memory: str | None,
    reviewer: str,
    role: str,
    reason: str | None,
    edits: str | None,
    at: str,
    seq: int,
) -> bool:
    """Compare and set pending to merged or rejected; False when somebody was faster."""
    changed = tx.run(
        """UPDATE proposals SET status = :status, memory_id = :memory, decided_at = :at, reviewer = :reviewer,
                  reviewer_role = :role, reason = :reason, edits = :edits, updated_at = :at, seq = :seq
            WHERE id = :id AND status = 'pending'""",
        id=proposal.id,
        status=status.value,
        memory=memory,
        at=at,
        reviewer=reviewer,
        role=role,
        reason=reason,
        edits=edits,
        seq=seq,
    )
    if changed:
        _underive(tx, proposal)
    return bool(changed)


def reopen(tx: Tx, proposal: Proposal, *, at: str, seq: int) -> None:
    """Back to pending: only ever by the revert of the verdict that settled it."""
    tx.run(
        """UPDATE proposals SET status = 'pending', memory_id = NULL, decided_at = NULL, reviewer = NULL,
                  reviewer_role = NULL, reason = NULL, edits = NULL, updated_at = :at, seq = :seq
            WHERE id = :id""",
        id=proposal.id,
        at=at,
        seq=seq,
    )
    bands.add(tx, proposal.project, proposal.id, sketch(proposal.content))


def _derive(tx: Tx, proposal: Proposal) -> None:
    line = proposal_line(proposal.title, proposal.content, proposal.rationale)
    fulltext.put(tx, ref=proposal.id, kind="proposal", project=proposal.project, line=line)
    if proposal.status is ProposalStatus.PENDING:
        bands.add(tx, proposal.project, proposal.id, sketch(proposal.content))


def _underive(tx: Tx, proposal: Proposal) -> None:
    bands.remove(tx, proposal.project, proposal.id, sketch(proposal.content))


def underive(tx: Tx, proposal: Proposal) -> None:
    """Make a proposal unfindable."""
    _underive(tx, proposal)
    fulltext.erase(tx, proposal.id)


def rederive(tx: Tx, proposal: Proposal) -> None:
    """Build the derived rows of a proposal anew; what was erased has none."""
    if proposal.slug == f"erased-{proposal.id.lower()}":
        underive(tx, proposal)
    else:
        _derive(tx, proposal)


def get(tx: Tx, id: str) -> Proposal | None:
    row = tx.one("SELECT * FROM proposals WHERE id = :id", id=id)
    return None if row is None else _proposal(row)


def unseen(tx: Tx, ids: Sequence[str], reader: Reader) -> set[str]:
    """Those of the ids that are proposals whose words became a memory that the reader may not see."""
    if reader.agent is None or not ids:
        return set()
    names = {f"i{index}": id for index, id in enumerate(dict.fromkeys(ids))}
    clause, params = visible(reader)
    rows = tx.all(
        f"""SELECT p.id FROM proposals p JOIN memories m ON m.id = p.memory_id
             WHERE p.id IN ({", ".join(":" + name for name in names)}) AND p.agent <> :reader_agent
               AND NOT ({clause})""",
        **names,
        **params,
    )
    return {row["id"] for row in rows}


def by_slug(tx: Tx, project: str, slug: str) -> Proposal | None:
    row = tx.one(
        "SELECT * FROM proposals WHERE project_id = :project AND slug = :slug", project=project, slug=slug
    )
    return None if row is None else _proposal(row)


def of_memory(tx: Tx, memory: str) -> list[Proposal]:
    """Every proposal that was promoted into a memory, the oldest first."""
    rows = tx.all("SELECT * FROM proposals WHERE memory_id = :memory ORDER BY id", memory=memory)
    return [_proposal(row) for row in rows]


def by_request(tx: Tx, project: str, requested: str, agent: str) -> Proposal | None:
    """The newest proposal that this agent made under the slug it asked for, whatever slug it got."""
    row = tx.one(
        """SELECT * FROM proposals
            WHERE project_id = :project AND requested_slug = :requested AND agent = :agent
            ORDER BY id DESC LIMIT 1""",
        project=project,
        requested=requested,
        agent=agent,
    )
    return None if row is None else _proposal(row)


def slugs_like(tx: Tx, project: str, slug: str) -> set[str]:
    """Slugs of the project that begin with `slug`."""
    rows = tx.all(
        "SELECT slug FROM proposals WHERE project_id = :project AND slug >= :slug AND slug < :end",
        project=project,
        slug=slug,
        end=slug + "~",
    )
    return {row["slug"] for row in rows}


def merged_of_claim(tx: Tx, project: str, type: str, claim: str) -> Proposal | None:
    """The last proposal of a type that said exactly this and was accepted, whatever its memory says now."""
    rows = tx.all(
        """SELECT * FROM proposals
            WHERE claim = :claim AND project_id = :project AND type = :type AND status = 'merged'""",
        claim=claim,
        project=project,
        type=type,
    )
    return _proposal(max(rows, key=lambda row: row["seq"])) if rows else None


def of_claim(tx: Tx, project: str, agent: str, type: str, claim: str, scope: Scope) -> Proposal | None:
    """The oldest pending proposal of the same agent, type and scope that says exactly this."""
    rows = tx.all(
        """SELECT * FROM proposals
            WHERE claim = :claim AND project_id = :project AND agent = :agent AND type = :type
              AND status = 'pending' AND scope_project = :home AND scope = :scope AND tier = :tier
              AND scope_agent = :whose AND repo_id = :repo AND session_id = :session""",
        claim=claim,
        project=project,
        agent=agent,
        type=type,
        home=scope.project,
        scope=scope.kind,
        tier=scope.tier,
        whose=scope.agent,
        repo=scope.repo,
        session=scope.session,
    )
    # Sorted here: ORDER BY id would make SQLite walk the primary key instead of asking for the claim.
    return _proposal(min(rows, key=lambda row: row["id"])) if rows else None


def near(tx: Tx, refs: Sequence[str]) -> list[Proposal]:
    """Those of the refs that are pending proposals."""
    found = []
    for ref in refs:
        proposal = get(tx, ref)
        if proposal is not None and proposal.status is ProposalStatus.PENDING:
            found.append(proposal)
    return found


def list_(
    tx: Tx,
    project: str,
    *,
    status: str | None,
    type: str | None = None,
    agent: str | None = None,
    risk: str | None = None,
    run: str | None = None,
    updated_before: str | None = None,
    reader: Reader | None = None,
    after: str | None = None,
    limit: int,
) -> list[Proposal]:
    """Newest first; `after` is the id of the last one seen.

    A reader sees a merged proposal, whose words are a memory's, if it may see that memory, or proposed it.
    """
    clause, params = "", {}
    if reader is not None and reader.agent is not None:
        seen, params = visible(reader)
        clause += f""" AND (memory_id IS NULL OR agent = :reader_agent
            OR EXISTS (SELECT 1 FROM memories m WHERE m.id = proposals.memory_id AND {seen}))"""
    if updated_before is not None:
        clause += " AND updated_at < :updated_before"
        params["updated_before"] = updated_before
    wanted = {"status": status, "type": type, "agent": agent, "risk": risk, "run_id": run}
    for column, value in wanted.items():
        if value is not None:
            clause += f" AND {column} = :{column}"
            params[column] = value
    if after is not None:
        clause += " AND id < :after"
        params["after"] = after
    rows = tx.all(
        f"SELECT * FROM proposals WHERE project_id = :project{clause} ORDER BY id DESC LIMIT :limit",
        project=project,
        limit=limit,
        **params,
    )
    return [_proposal(row) for row in rows]


def waiting(tx: Tx, project: str) -> list[dict[str, Any]]:
    """Pending proposals by type and risk, with the age of the oldest."""
    return tx.all(
        """SELECT type, risk, count(*) AS n, min(created_at) AS oldest FROM proposals
            WHERE project_id = :project AND status = 'pending' GROUP BY type, risk ORDER BY type, risk""",
        project=project,
    )


def changed_since(tx: Tx, project: str, seq: int) -> bool:
    """Whether a proposal came or changed after that place in the log."""
    row = tx.one(
        "SELECT 1 AS yes FROM proposals WHERE project_id = :project AND seq > :seq LIMIT 1",
        project=project,
        seq=seq,
    )
    return row is not None


def counts(tx: Tx, project: str) -> dict[str, int]:
    rows = tx.all(
        "SELECT status, count(*) AS n FROM proposals WHERE project_id = :project GROUP BY status ORDER BY status",
        project=project,
    )
    return {row["status"]: row["n"] for row in rows}


def all_ids(tx: Tx) -> list[str]:
    return [row["id"] for row in tx.all("SELECT id FROM proposals ORDER BY id")]


def _columns(proposal: Proposal, claim: str) -> dict[str, Any]:
    scope = proposal.scope
    return {
        "id": proposal.id,
        "project_id": proposal.project,
        "slug": proposal.slug,
        "requested_slug": proposal.requested_slug,
        "agent": proposal.agent,
        "author_role": proposal.author_role,
        "origin": proposal.origin,
        "scope_project": scope.project,
        "scope": scope.kind.value,
        "tier": scope.tier,
        "scope_agent": scope.agent,
        "repo_id": scope.repo,
        "session_id": scope.session,
        "type": proposal.type.value,
        "title": proposal.title,
        "content": proposal.content,
        "rationale": proposal.rationale,
        "status": proposal.status.value,
        "risk": proposal.risk.value,
        "would": dump_would(proposal.would),
        "importance": proposal.importance.value,
        "confidence": proposal.confidence,
        "entity": proposal.entity,
        "attribute": proposal.attribute,
        "tags": dump(proposal.tags) if proposal.tags else "[]",
        "evidence": dump_evidence(proposal.evidence),
        "observed_at": proposal.observed_at,
        "source_id": proposal.source,
        "run_id": proposal.run,
        "base_id": proposal.base,
        "base_revision": proposal.base_revision,
        "memory_id": proposal.memory,
        "decided_at": proposal.decided_at,
        "reviewer": proposal.reviewer,
        "reviewer_role": proposal.reviewer_role,
        "reason": proposal.reason,
        "edits": proposal.edits,
        "created_at": proposal.created_at,
        "updated_at": proposal.updated_at,
        "revision": proposal.revision,
        "seq": proposal.seq,
        "claim": claim,
    }


def _proposal(row: dict[str, Any]) -> Proposal:
    return Proposal(
        id=row["id"],
        project=row["project_id"],
        slug=row["slug"],
        requested_slug=row["requested_slug"],
        agent=row["agent"],
        author_role=row["author_role"],
        origin=row["origin"],
        type=Type(row["type"]),
        title=row["title"],
        content=row["content"],
        scope=Scope(
            ScopeKind(row["scope"]),
            row["scope_project"],
            row["tier"],
            row["scope_agent"],
            row["repo_id"],
            row["session_id"],
        ),
        status=ProposalStatus(row["status"]),
        risk=Risk(row["risk"]),
        would=load_would(row["would"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        revision=row["revision"],
        rationale=row["rationale"],
        importance=Importance(row["importance"]),
        confidence=row["confidence"],
        entity=row["entity"],
        attribute=row["attribute"],
        tags=load_tags(row["tags"]),
        evidence=load_evidence(row["evidence"]),
        observed_at=row["observed_at"],
        source=row["source_id"],
        run=row["run_id"],
        base=row["base_id"],
        base_revision=row["base_revision"],
        decided_at=row["decided_at"],
        reviewer=row["reviewer"],
        reviewer_role=row["reviewer_role"],
        reason=row["reason"],
        memory=row["memory_id"],
        edits=row["edits"],
        seq=row["seq"],
    )
