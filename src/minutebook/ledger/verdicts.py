"""Verdicts, kept with all that revert and replay need."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx
from minutebook.ledger.plain import dump, dump_effects, dump_trace, load, load_effects, load_trace
from minutebook.model.verdicts import Op, Verdict


def insert(tx: Tx, verdict: Verdict) -> None:
    tx.put(
        """INSERT INTO verdicts (id, seq, project_id, op, memory_id, proposal_id, actor, role, origin, run_id,
                                 source_id, reason, trace, effects, targets, candidate, digest, idempotency,
                                 reverts, reverted_by, at)
           VALUES (:id, :seq, :project, :op, :memory, :proposal, :actor, :role, :origin, :run, :source, :reason,
                   :trace, :effects, :targets, :candidate, :digest, :key, :reverts, NULL, :at)""",
        id=verdict.id,
        seq=verdict.seq,
        project=verdict.project,
        op=verdict.op.value,
        memory=verdict.memory,
        proposal=verdict.proposal,
        actor=verdict.actor,
        role=verdict.role,
        origin=verdict.origin,
        run=verdict.run,
        source=verdict.source,
        reason=verdict.reason,
        trace=dump_trace(verdict.trace),
        effects=dump_effects(verdict.effects),
        targets=dump(verdict.targets) if verdict.targets else "[]",
        candidate=None if verdict.candidate is None else dump(verdict.candidate),
        digest=verdict.digest,
        key=verdict.key,
        reverts=verdict.reverts,
        at=verdict.at,
    )


def get(tx: Tx, id: str) -> Verdict | None:
    row = tx.one("SELECT * FROM verdicts WHERE id = :id", id=id)
    return None if row is None else _verdict(row)


def mark_reverted(tx: Tx, id: str, by: str) -> bool:
    """Compare and set: a verdict is reverted once."""
    return bool(
        tx.run("UPDATE verdicts SET reverted_by = :by WHERE id = :id AND reverted_by IS NULL", id=id, by=by)
    )


def unmark_reverted(tx: Tx, id: str) -> None:
    tx.run("UPDATE verdicts SET reverted_by = NULL WHERE id = :id", id=id)


def touching(tx: Tx, refs: list[str], *, after: int) -> list[Verdict]:
    """Verdicts newer than `after` that changed one of the memories or proposals."""
    if not refs:
        return []
    names = {f"r{index}": ref for index, ref in enumerate(refs)}
    marks = ", ".join(":" + name for name in names)
    rows = tx.all(
        f"""SELECT * FROM verdicts
             WHERE seq > :after AND op NOT IN ('skip', 'hold') AND (memory_id IN ({marks}) OR proposal_id IN ({marks}))
             ORDER BY seq""",
        after=after,
        **names,
    )
    return [_verdict(row) for row in rows]


def last_hold(tx: Tx, proposal: str) -> Verdict | None:
    """The verdict by which a proposal waits as it is now."""
    row = tx.one(
        """SELECT * FROM verdicts WHERE proposal_id = :proposal AND op = 'hold' ORDER BY seq DESC LIMIT 1""",
        proposal=proposal,
    )
    return None if row is None else _verdict(row)


def list_(
    tx: Tx,
    project: str,
    *,
    op: str | None = None,
    actor: str | None = None,
    run: str | None = None,
    source: str | None = None,
    subject: str | None = None,
    since: str | None = None,
    until: str | None = None,
    before: int | None = None,
    limit: int,
) -> list[Verdict]:
    """Newest first; `before` is the seq of the last one seen."""
    clause, params = "", {}
    for column, value in {"op": op, "actor": actor, "run_id": run, "source_id": source}.items():
        if value is not None:
            clause += f" AND {column} = :{column}"
            params[column] = value
    if subject is not None:
        clause += " AND (memory_id = :subject OR proposal_id = :subject)"
        params["subject"] = subject
    if since is not None:
        clause += " AND at >= :since"
        params["since"] = since
    if until is not None:
        clause += " AND at <= :until"
        params["until"] = until
    if before is not None:
        clause += " AND seq < :before"
        params["before"] = before
    rows = tx.all(
        f"""SELECT * FROM verdicts WHERE project_id IN (:project, 'global'){clause}
             ORDER BY seq DESC LIMIT :limit""",
        project=project,
        limit=limit,
        **params,
    )
    return [_verdict(row) for row in rows]


def nth_last_at(tx: Tx, actor: str, n: int) -> str | None:
    """When the n-th last verdict on this actor was given."""
    row = tx.one(
        "SELECT at FROM verdicts WHERE actor = :actor ORDER BY seq DESC LIMIT 1 OFFSET :n",
        actor=actor,
        n=n - 1,
    )
    return None if row is None else row["at"]


def last_of(tx: Tx, actor: str) -> Verdict | None:
    row = tx.one("SELECT * FROM verdicts WHERE actor = :actor ORDER BY seq DESC LIMIT 1", actor=actor)
    return None if row is None else _verdict(row)


def _verdict(row: dict[str, Any]) -> Verdict:
    return Verdict(
        id=row["id"],
        seq=row["seq"],
        project=row["project_id"],
        op=Op(row["op"]),
        actor=row["actor"],
        role=row["role"],
        origin=row["origin"],
        reason=row["reason"],
        trace=load_trace(row["trace"]),
        at=row["at"],
        memory=row["memory_id"],
        proposal=row["proposal_id"],
        run=row["run_id"],
        source=row["source_id"],
        effects=load_effects(row["effects"]),
        targets=tuple(load(row["targets"])),
        key=row["idempotency"],
        reverts=row["reverts"],
        reverted_by=row["reverted_by"],
        candidate=None if row["candidate"] is None else load(row["candidate"]),
        digest=row["digest"],
    )
