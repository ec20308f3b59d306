"""Traces of searches: what was asked, what came back and why. Ids and numbers, and no words but the asker's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from minutebook.ledger import signals
from minutebook.ledger.database import Row, Tx
from minutebook.model.search import Drop, Dropped, Kept, Share, State, Trace
from minutebook.policy.secrets import look

#: What stands where a query held a credential.
_WITHHELD = "(not kept: it held what looks like a credential)"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which searches are listed."""

    project: str
    actor: str | None = None
    run: str | None = None
    state: str | None = None
    since: str | None = None
    #: also those that looked into projects that no link leads to
    far: bool = True


def keep(tx: Tx, traces: Sequence[Trace]) -> None:
    """Write traces, and count what came back."""
    for trace in traces:
        _insert(tx, trace)
    recalled = Counter(hit.id for trace in traces for hit in trace.hits if hit.kind == "memory")
    if traces:
        signals.note(tx, recalled, traces[-1].at)


def _insert(tx: Tx, trace: Trace) -> None:
    kept = {
        "sentence": trace.sentence,
        "hits": [asdict(hit) for hit in trace.hits],
        "dropped": [asdict(dropped) for dropped in trace.dropped],
        "missing": list(trace.missing),
    }
    # A run's turns are numbered here, in the order in which they come in.
    tx.run(
        """INSERT INTO searches (id, project_id, actor, run_id, query, filters, state, trace, seq, at, far, turn)
           VALUES (:id, :project, :actor, :run, :query, :filters, :state, :trace, :seq, :at, :far,
                   CASE WHEN CAST(:run AS TEXT) IS NULL THEN NULL ELSE
                        (SELECT COALESCE(max(s.turn), 0) + 1 FROM searches s WHERE s.run_id = :run) END)
           ON CONFLICT DO NOTHING""",
        id=trace.id,
        project=trace.project,
        actor=trace.actor,
        run=trace.run,
        query=_WITHHELD if any(look(trace.query)) else trace.query,
        filters=json.dumps(trace.filters, ensure_ascii=False),
        state=trace.state,
        trace=json.dumps(kept, ensure_ascii=False),
        seq=trace.seq,
        at=trace.at,
        far=trace.at if trace.far else None,
    )


def prune(tx: Tx, before: str, most: int) -> int:
    """Take away what is older than its time; at most so many at once."""
    return tx.run(
        "DELETE FROM searches WHERE id IN (SELECT s.id FROM searches s WHERE s.at < :before ORDER BY s.at LIMIT :most)",
        before=before,
        most=most,
    )


def forget(tx: Tx, ref: str) -> None:
    """Take away every trace in which something came back or was left out that is erased: the question may quote it."""
    tx.run("DELETE FROM searches WHERE trace LIKE :held", held=f"%{ref}%")


def list_(tx: Tx, wanted: Wanted, *, after: str | None, limit: int) -> list[Trace]:
    """Newest first; `after` is the id of the last one seen."""
    clause, params = _narrowed(wanted)
    if after is not None:
        clause += " AND id < :after"
        params["after"] = after
    rows = tx.all(
        f"SELECT * FROM searches WHERE {clause} ORDER BY id DESC LIMIT :limit", limit=limit, **params
    )
    return [_trace(row) for row in rows]


def get(tx: Tx, wanted: Wanted, id: str) -> Trace | None:
    clause, params = _narrowed(wanted)
    row = tx.one(f"SELECT * FROM searches WHERE id = :id AND {clause}", id=id, **params)
    return None if row is None else _trace(row)


def of_turn(tx: Tx, wanted: Wanted, turn: int) -> Trace | None:
    """A search by its place in its run."""
    clause, params = _narrowed(wanted)
    row = tx.one(f"SELECT * FROM searches WHERE turn = :turn AND {clause}", turn=turn, **params)
    return None if row is None else _trace(row)


def _narrowed(wanted: Wanted) -> tuple[str, dict[str, str]]:
    clause, params = "project_id = :project", {"project": wanted.project}
    for column, value in (("actor", wanted.actor), ("run_id", wanted.run), ("state", wanted.state)):
        if value is not None:
            clause += f" AND {column} = :{column}"
            params[column] = value
    if wanted.since is not None:
        clause += " AND at >= :since"
        params["since"] = wanted.since
    if not wanted.far:
        clause += " AND far IS NULL"
    return clause, params


def _trace(row: Row) -> Trace:
    kept = json.loads(row["trace"])
    if not isinstance(kept, dict):
        kept = {}  # a trace that another program wrote
    return Trace(
        id=row["id"],
        project=row["project_id"],
        actor=row["actor"],
        run=row["run_id"],
        query=row["query"],
        filters=json.loads(row["filters"]),
        state=State(row["state"]) if row["state"] in set(State) else State.HITS,
        sentence=kept.get("sentence", ""),
        hits=tuple(_kept(hit) for hit in kept.get("hits", ())),
        dropped=tuple(replace(Dropped(**one), reason=Drop(one["reason"])) for one in kept.get("dropped", ())),
        missing=tuple(kept.get("missing", ())),
        seq=row["seq"],
        at=row["at"],
        turn=row["turn"],
        far=row["far"] is not None,
    )


def _kept(hit: dict[str, Any]) -> Kept:
    return Kept(
        id=hit["id"],
        kind=hit["kind"],
        score=hit["score"],
        parts=tuple(Share(**part) for part in hit["parts"]),
        matched=tuple(hit["matched"]),
    )
