"""What the generated files show, and which of them something that happened can concern.

Only what is the project's own: what is global, or an agent's everywhere, belongs in no single repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.ledger.database import Row, Tx
from minutebook.ledger.plain import load
from minutebook.model.memories import GOVERNING, Type

#: Whoever can let in what governs; a row that came by another way governs nobody.
_MAY_DECIDE = "'coordinator', 'operator', 'scribe'"
_COLUMNS = """m.id, m.type, m.title, m.content, m.rationale, m.author, m.status, m.importance, m.agent,
              COALESCE(m.observed_at, m.created_at) AS date"""
#: Values that one statement is given.
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class State:
    """Of a memory, at one revision, what says in which files it is shown."""

    project: str
    type: str
    scope: str
    tier: str
    agent: str


@dataclass(frozen=True, slots=True)
class Touched:
    """What happened between two places of the log, as far as files can show it."""

    states: frozenset[State]
    proposals: tuple[str, ...]
    session: bool
    #: something happened, whether files show it or not
    any: bool = False


def touched(tx: Tx, project: str, after: int, *, most: int) -> Touched | None:
    """What changed after an event, each memory as it was before and as it is; None where it is too much to list."""
    first = _first_after(tx, project, after)
    if first is None:
        return Touched(frozenset(), (), False)
    # What other projects did before that need not be looked through.
    bounds = {"project": project, "after": first - 1, "until": tx.settled}
    # The project is asked of each revision: a join would have a planner begin with all memories of the project.
    rows = tx.all(
        """SELECT r.state, b.state AS before
             FROM revisions r
             LEFT JOIN revisions b ON b.memory_id = r.memory_id AND b.revision = r.revision - 1
            WHERE r.seq > :after AND r.seq <= :until
              AND (SELECT m.project_id FROM memories m WHERE m.id = r.memory_id) IN (:project, 'global')
            LIMIT :most""",
        most=most + 1,
        **bounds,
    )
    proposals = tx.all(
        """SELECT id FROM proposals WHERE project_id = :project AND seq > :after AND seq <= :until
            ORDER BY seq LIMIT :most""",
        most=most + 1,
        **bounds,
    )
    if len(rows) > most or len(proposals) > most:
        return None
    session = tx.one(
        "SELECT 1 AS some FROM sessions WHERE project_id = :project AND seq > :after AND seq <= :until LIMIT 1",
        **bounds,
    )
    states = {
        found
        for row in rows
        for text in (row["state"], row["before"])
        if text is not None and (found := _state(text)).project == project
    }
    return Touched(frozenset(states), tuple(row["id"] for row in proposals), session is not None, True)


def _first_after(tx: Tx, project: str, after: int) -> int | None:
    """The first event after a place in the log that can concern a project."""
    rows = tx.all(
        """SELECT min(seq) AS seq FROM events WHERE project_id = :project AND seq > :after AND seq <= :until
           UNION ALL
           SELECT min(seq) AS seq FROM events WHERE project_id = 'global' AND seq > :after AND seq <= :until""",
        project=project,
        after=after,
        until=tx.settled,
    )
    return min((row["seq"] for row in rows if row["seq"] is not None), default=None)


def _state(text: str) -> State:
    kept = load(text)
    kind, project, tier, agent, *_ = kept["scope"]
    return State(project, kept["type"], kind, tier, agent)


def events_after(tx: Tx, project: str, after: int) -> int:
    """How many events of a project follow a place in the log."""
    row = tx.one(
        "SELECT count(*) AS n FROM events WHERE project_id = :project AND seq > :after AND seq <= :until",
        project=project,
        after=after,
        until=tx.settled,
    )
    return row["n"] if row else 0


def decisions(tx: Tx, project: str, types: Sequence[Type] = tuple(GOVERNING)) -> list[Row]:
    """Active decisions of the project, oldest first."""
    return tx.all(
        f"""SELECT {_COLUMNS} FROM memories m
             WHERE m.project_id = :project AND m.status = 'active' AND m.type IN ({_listed(types)})
               AND m.scope IN ('project', 'repo') AND m.decided_role IN ({_MAY_DECIDE})
             ORDER BY m.created_seq, m.id""",
        project=project,
    )


def superseded(tx: Tx, project: str) -> dict[str, tuple[str, ...]]:
    """For each active decision the ids of those that it replaced, oldest first."""
    rows = tx.all(
        f"""SELECT o.id, o.superseded_by FROM memories o JOIN memories m ON m.id = o.superseded_by
             WHERE m.project_id = :project AND m.status = 'active' AND m.type IN ({_listed(tuple(GOVERNING))})
               AND o.status IN ('superseded', 'archived')
             ORDER BY o.created_seq, o.id""",
        project=project,
    )
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        found[row["superseded_by"]] = (*found.get(row["superseded_by"], ()), row["id"])
    return found


def patterns(tx: Tx, project: str) -> list[Row]:
    """Active patterns of the project and of its agents, oldest first."""
    return tx.all(
        f"""SELECT {_COLUMNS} FROM memories m
             WHERE m.project_id = :project AND m.status = 'active' AND m.type = 'pattern'
               AND m.scope IN ('project', 'repo', 'agent')
             ORDER BY m.created_seq, m.id""",
        project=project,
    )


#: What an agent's history shows.
HISTORY_TYPES = (Type.CORE_CONTEXT, Type.LEARNING, Type.UPDATE)


def histories(tx: Tx, project: str, agent: str | None = None) -> dict[str, list[Row]]:
    """What agents keep for this project, oldest first: of one, or of all who keep something."""
    clause, given = ("", {}) if agent is None else (" AND m.agent = :agent", {"agent": agent})
    rows = tx.all(
        f"""SELECT {_COLUMNS} FROM memories m
             WHERE m.project_id = :project AND m.status = 'active' AND m.type IN ({_listed(HISTORY_TYPES)})
               AND m.scope = 'agent'{clause}
             ORDER BY m.agent, m.created_seq, m.id""",
        project=project,
        **given,
    )
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["agent"], []).append(row)
    return found


def proposals(tx: Tx, project: str, ids: Sequence[str] | None = None) -> list[Row]:
    """Pending proposals of the project, all or those of the ids that are still pending."""
    columns = "p.id, p.agent, p.slug, p.type, p.title, p.content, p.rationale"
    clause = "p.project_id = :project AND p.status = 'pending' AND p.scope_project <> 'global'"
    if ids is None:
        return tx.all(f"SELECT {columns} FROM proposals p WHERE {clause} ORDER BY p.id", project=project)
    found: list[Row] = []
    for start in range(0, len(ids), _AT_ONCE):
        names = {f"i{index}": id for index, id in enumerate(ids[start : start + _AT_ONCE])}
        found += tx.all(
            f"""SELECT {columns} FROM proposals p
                 WHERE p.id IN ({", ".join(":" + name for name in names)}) AND {clause} ORDER BY p.id""",
            project=project,
            **names,
        )
    return found


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(f"'{type.value}'" for type in sorted(types))
