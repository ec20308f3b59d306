"""How each type of result looks to a person: the columns of a listing, the sentence of an act.

Types are named, not imported: a listing of events must not import the rest. A type that is not here is
shown by its plain fields.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from minutebook.surfaces.cli import (
    adoption_tables,
    capture_tables,
    house_tables,
    provider_tables,
    run_tables,
    search_tables,
    tidy_tables,
)
from minutebook.surfaces.cli.columns import PAST, Column, Headline, Kind, Table

STATUS_STYLES = {
    "active": "green",
    "merged": "green",
    "open": "green",
    "finished": "dim",
    "failed": "red",
    "abandoned": "yellow",
    "fresh": "green",
    "ok": "green",
    "degraded": "yellow",
    "failing": "red",
    "add": "green",
    "restore": "green",
    "low": "green",
    "pending": "yellow",
    "held": "yellow",
    "hold": "yellow",
    "stale": "yellow",
    "warning": "yellow",
    "medium": "yellow",
    "update": "cyan",
    "supersede": "cyan",
    "rejected": "red",
    "retired": "red",
    "retire": "red",
    "erased": "red",
    "refuse": "red",
    "missing": "red",
    "unverifiable": "dim",
    "error": "red",
    "high": "red",
    "expired": "dim",
    "revoked": "red",
    "superseded": "dim",
    "archived": "dim",
    "closed": "dim",
    "skip": "dim",
}

#: Fields whose values are coloured by the table above, and those that hold an id, in a detail view.
STATUS_FIELDS = frozenset({"status", "op", "risk", "state", "cause", "standing"})
ID_FIELDS = frozenset(
    {"id", "verdict", "memory", "proposal", "run", "source", "base", "superseded_by", "superseded", "reverts",
     "reverted_by", "tombstone", "digest", "from_id", "to_id", "ref", "target", "key"}
)  # fmt: skip
#: Texts that always stand below the grid, and of these the ones that are unified diffs.
BLOCK_FIELDS = frozenset({"content", "rationale", "summary", "diff", "edits", "body"})
DIFF_FIELDS = frozenset({"diff", "edits"})

#: Types that are shown as the text they hold, as it is. Whoever made it made it fit to be shown.
VERBATIM = {"Bundle": "text", "AuditPage": "text"}

TABLES: dict[str, Table] = {
    **adoption_tables.TABLES,
    **capture_tables.TABLES,
    **search_tables.TABLES,
    **tidy_tables.TABLES,
    **provider_tables.TABLES,
    **house_tables.TABLES,
    **run_tables.TABLES,
    "ProposalLine": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("TYPE", "type", drop=1, most=14),
            Column("TITLE", "title"),
            Column("AGENT", "agent", most=20),
            Column("STATUS", "status", "status", usual="pending"),
            Column("RISK", "risk", "status", drop=2),
            Column("WOULD", "would", drop=5, most=30),
            Column("SURE", "confidence", "number", drop=3),
            Column("BESIDE", "beside", drop=1, most=24),
            Column("FLAGS", "flags", drop=5, most=30),
            Column("AGE", "age", drop=4),
            Column("EVIDENCE", "evidence", drop=6, most=60),
        ),
        empty="propose something with: minutebook inbox submit --help",
    ),
    "MemoryLine": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("TYPE", "type", most=14),
            Column("TITLE", "title"),
            Column("STATUS", "status", "status"),
            Column("SCOPE", "scope", drop=2, most=24),
            Column("BY", "author", drop=3, most=20),
            Column("TAGS", "tags", drop=5, most=24),
            Column("UPDATED", "updated_at", "time", drop=4),
            Column("ID", "id", "id", drop=6),
        ),
        empty="see what waits for a review with: minutebook inbox list",
    ),
    "VerdictLine": Table(
        (
            Column("VERDICT", "id", "id"),
            Column("OP", "op", "status"),
            Column("SUBJECT", "subject", "name", most=30),
            Column("ACTOR", "actor", most=20),
            Column("WHEN", "at", "time", drop=1),
            Column("REASON", "reason", drop=3),
            Column("RULES", "rules", drop=4, most=30),
            Column("REVERTED", "reverted_by", "id", drop=5),
        )
    ),
    "Event": Table(
        (
            Column("SEQ", "seq", "number"),
            Column("WHEN", "at", "time", drop=1),
            Column("KIND", "kind", "name", most=24),
            Column("SUBJECT", "subject", "name", most=40),
            Column("ACTOR", "actor", most=20),
            Column("ROLE", "role", drop=3),
            Column("ORIGIN", "origin", drop=2),
            Column("VERDICT", "verdict", "id", drop=4),
        )
    ),
    "Session": Table(
        (
            Column("SESSION", "session", "name", most=30),
            Column("FOCUS", "focus"),
            Column("STARTED", "started_at", "time"),
            Column("ENDED", "ended_at", "time", drop=1),
            Column("BY", "started_by", drop=2, most=20),
        ),
        empty="start one with: minutebook sessions start --help",
    ),
    "Tombstone": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("CAUSE", "cause", "status"),
            Column("REASON", "reason"),
            Column("BY", "actor", drop=2, most=20),
            Column("WHEN", "at", "time", drop=1),
            Column("LIFTED", "lifted_at", "time", drop=3),
            Column("ID", "id", "id", drop=4),
        )
    ),
    "Link": Table(
        (
            Column("FROM", "from_id", "id"),
            Column("RELATION", "relation"),
            Column("TO", "to_id", "id"),
            Column("BY", "created_by", drop=2, most=20),
            Column("WHEN", "created_at", "time", drop=1),
        )
    ),
    "Revision": Table(
        (
            Column("REV", "revision", "number"),
            Column("OP", "op", "status"),
            Column("WHEN", "at", "time"),
            Column("ACTOR", "actor", most=20),
            Column("TITLE", "state.title", drop=1),
            Column("VERDICT", "verdict", "id", drop=2),
        )
    ),
    "RevisionLine": Table(
        (
            Column("REV", "revision", "number"),
            Column("OP", "op", "status"),
            Column("STATUS", "status", "status"),
            Column("WHEN", "at", "time"),
            Column("ACTOR", "actor", most=20),
            Column("TITLE", "title", drop=1),
            Column("VERDICT", "verdict", "id", drop=2),
        )
    ),
    "Effect": Table(
        (
            Column("CHANGED", "kind"),
            Column("WHAT", "ref", "id"),
            Column("BEFORE", "before", most=30),
            Column("AFTER", "after", most=30),
        )
    ),
    "RuleHit": Table(
        (
            Column("RULE", "rule", "name", most=24),
            Column("OUTCOME", "outcome", most=20),
            Column("DETAIL", "detail"),
            Column("TARGET", "target", "id", drop=1),
        )
    ),
}

_GOVERNING = frozenset({"architectural", "scope", "process", "technical"})


def _submission(it: Any) -> str:
    if it.outcome == "known":
        return f"nothing proposed, it is known already: {it.memory or it.slug}"
    asked = f", because {it.requested_slug} is another agent's" if it.slug != it.requested_slug else ""
    replaces = f", to {it.would.op} {it.would.target}" if it.would is not None and it.would.target else ""
    return f"{it.outcome} proposal {it.slug}{asked} ({it.status}, {it.risk} risk{replaces})"


def _promotion(it: Any) -> str:
    what = "decision" if it.type in _GOVERNING else "memory"
    instead = f", in place of {it.superseded}" if it.superseded else ""
    edited = ", as edited by the reviewer" if it.edited else ""
    return f"promoted {it.slug} -> {what} {it.memory} ({it.type}){instead}{edited}"


def _outcome(it: Any) -> str:
    done = PAST.get(it.op, it.op)
    if it.op == "supersede" and "act" not in it.rules:
        done = "added"  # the slug is the successor's, and the reason names what it supersedes
    revision = f" (revision {it.revision})" if it.revision else ""
    again = ", as answered before" if it.replayed else ""
    because = "" if it.reason in ("", "Added.") else f": {it.reason}"
    return f"{done} {it.slug}{revision}{again}{because}"


HEADLINES: dict[str, Headline] = {
    **adoption_tables.HEADLINES,
    **capture_tables.HEADLINES,
    # What it would do is in the sentence and the reason; `inbox show` has the whole of it.
    "Submission": Headline(_submission, ("reason", "verdict")),
    "Promotion": Headline(_promotion, ("verdict",)),
    "Rejection": Headline(lambda it: f"rejected {it.slug}: {it.reason}", ("tombstone", "verdict")),
    "Outcome": Headline(_outcome, ("rules", "memory", "proposal", "verdict")),
    "Reverted": Headline(lambda it: it.sentence, ("blocked", "verdicts")),
    **search_tables.HEADLINES,
    **tidy_tables.HEADLINES,
    **provider_tables.HEADLINES,
    **house_tables.HEADLINES,
    **run_tables.HEADLINES,
    "Session": Headline(
        lambda it: f"{'open' if it.open else 'closed'} session: {it.focus}",
        (
            "session",
            "issues",
            "started_by",
            "started_at",
            "updated_at",
            "ended_by",
            "ended_at",
            "summary",
            "state",
        ),
    ),
    "Digest": Headline(lambda it: it.sentence, ("by_type", "by_risk", "batches")),
}


def table_for(kind: type) -> Table:
    """The columns of a listing of that type; without a table of its own, its plain fields."""
    found = TABLES.get(kind.__name__)
    if found is not None:
        return found
    columns = []
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        if field.name not in BLOCK_FIELDS:
            rank = 0 if len(columns) < 3 else len(columns)
            columns.append(Column(field.name.replace("_", " ").upper(), field.name, _kind(field.name), rank))
    return Table(tuple(columns))


def _kind(field: str) -> Kind:
    if field in STATUS_FIELDS:
        return "status"
    if field == "at" or field.endswith("_at"):
        return "time"
    if field in ID_FIELDS:
        return "id"
    return "name" if field in ("slug", "name") else "text"


def name_of(value: Any) -> str:
    """What a person would call the thing on the next command line."""
    first = getattr(value, dataclasses.fields(value)[0].name) if dataclasses.is_dataclass(value) else None
    if dataclasses.is_dataclass(first):  # a view of something is called what the thing is called
        return name_of(first)
    for field in ("slug", "session", "id", "seq", "name", "memory", "verdict"):
        found = getattr(value, field, None)
        if found is not None:
            return str(found)
    return str(value if first is None else first)
