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
    glance,
    glance_files,
    provider_tables,
    search_tables,
    tidy_tables,
)
from minutebook.surfaces.cli.columns import Column, Headline, Kind, Table

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
    "Project": Table(
        (
            Column("PROJECT", "slug", "name", most=40),
            Column("NAME", "name", most=40),
            Column("CREATED", "created_at", "time", drop=1),
            Column("BY", "created_by", drop=2, most=20),
            Column("ARCHIVED", "archived_at", "time", drop=3),
            Column("ID", "id", "id", drop=4),
        ),
        empty="bind this directory to one with: minutebook init",
    ),
    "Workspace": Table(
        (
            Column("PATH", "path", "name", most=80),
            Column("HOST", "host", drop=2, most=30),
            Column("FIRST SEEN", "first_seen_at", "time", drop=1),
            Column("LAST SEEN", "last_seen_at", "time"),
        )
    ),
    "Reaching": Table(
        (
            Column("READS FROM", "project", "name", most=40),
            Column("MEMORY", "memory", "id"),
            Column("LINKED BY", "link", "id", drop=2),
            Column("AS", "relation", drop=1),
            Column("BY", "created_by", drop=3, most=20),
            Column("SINCE", "created_at", "time", drop=4),
        ),
        empty="nothing of another project is read here; link one with: minutebook projects link OTHER",
    ),
    "Actor": Table(
        (
            Column("ACTOR", "name", "name", most=40),
            Column("ROLE", "role"),
            Column("ONLY IN", "project", most=30),
            Column("SINCE", "created_at", "time", drop=1),
            Column("RETIRED", "retired_at", "time"),
        ),
        empty="register one with: minutebook actors --help",
    ),
    "Token": Table(
        (
            Column("TOKEN", "id", "id"),
            Column("AGENT", "agent", "name", most=30),
            Column("ROLE", "role"),
            Column("STATE", "state", "status"),
            Column("ONLY IN", "project", "id", drop=4),
            Column("EXPIRES", "expires_at", "time", drop=1),
            Column("LAST USED", "last_used_at", "time", drop=2),
            Column("NOTE", "note", drop=3, most=40),
            Column("BY", "created_by", drop=5, most=20),
        ),
        empty="make one with: minutebook tokens create --help",
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
    "Finding": Table(
        (
            Column("STATE", "state", "status"),
            Column("FOUND", "what", "name", most=100),
            Column("WHAT TO DO", "advice", "name", drop=1, most=80),
        )
    ),
    "LastSeen": Table(
        (
            Column("SEEN", "actor", "name", most=40),
            Column("AT", "surface"),
            Column("WITH", "client", most=40),
            Column("REQUESTS", "requests", "number"),
            Column("LAST SEEN", "last_seen_at", "time"),
            Column("PROJECT", "project", "id", drop=1),
        )
    ),
    "Clash": Table(
        (Column("TABLE", "table"), Column("ID", "id", "id"), Column("DIFFERS IN", "differs", most=40))
    ),
    "Aside": Table(
        (
            Column("TABLE", "table"),
            Column("ID", "id", "id", drop=1),
            Column("BECAME", "became", most=40),
            Column("BECAUSE", "because", most=60),
        )
    ),
    "Item": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("LAYER", "layer"),
            Column("TYPE", "type", drop=1, most=14),
            Column("REV", "revision", "number"),
            Column("TOKENS", "tokens", "number", drop=2),
            Column("BY", "author", drop=3, most=20),
            Column("ID", "id", "id", drop=4),
        )
    ),
    "ChangedItem": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("BEFORE", "before", most=50),
            Column("AFTER", "after", most=50),
            Column("ID", "id", "id", drop=1),
        )
    ),
    "RunLine": Table(
        (
            Column("RUN", "id", "id"),
            Column("AGENT", "agent", "name", most=30),
            Column("TASK", "task"),
            Column("STATUS", "status", "status"),
            Column("OUTCOME", "outcome", drop=2),
            Column("AGE", "age", drop=1),
            Column("PARENT", "parent", "id", drop=3),
        ),
        empty="start one with: minutebook runs start --help",
    ),
    "Sighting": Table(
        (
            Column("RUN", "run", "id"),
            Column("AGENT", "agent", "name", most=30),
            Column("REV", "revision", "number"),
            Column("LAYER", "layer"),
            Column("WHEN", "at", "time"),
            Column("STATUS", "status", "status", drop=1),
        ),
        empty="no run was shown it yet",
    ),
    "Checked": Table(
        (
            Column("STATE", "state", "status"),
            Column("SLUG", "slug", "name", most=40),
            Column("EVIDENCE", "evidence", "name", most=60),
            Column("WHY", "because", drop=1),
        ),
        empty="nothing here rests on anything that was cited",
    ),
    "Promoted": Table(
        (
            Column("PROMOTED", "slug", "name", most=40),
            Column("TYPE", "type", most=14),
            Column("OP", "op", "status", drop=2),
            Column("BY", "rule", drop=1),
            Column("MEMORY", "memory", "id", drop=3),
        )
    ),
    "Waits": Table(
        (
            Column("WAITS", "slug", "name", most=40),
            Column("TYPE", "type", most=14),
            Column("RISK", "risk", "status", drop=2),
            Column("BECAUSE", "because", drop=1, most=80),
        )
    ),
    "TurnedDown": Table(
        (
            Column("REFUSED", "slug", "name", most=40),
            Column("TYPE", "type", most=14),
            Column("CODE", "code", drop=2),
            Column("BECAUSE", "because", drop=1, most=80),
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

_PAST = {
    "add": "added",
    "update": "updated",
    "supersede": "superseded",
    "retire": "retired",
    "restore": "restored",
    "hold": "held for review:",
    "skip": "skipped, known already:",
    "refuse": "refused:",
}
_DIAGNOSES = {
    "ok": "all is well",
    "warning": "it works; see to the warnings",
    "error": "something does not work",
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
    done = _PAST.get(it.op, it.op)
    if it.op == "supersede" and "act" not in it.rules:
        done = "added"  # the slug is the successor's, and the reason names what it supersedes
    revision = f" (revision {it.revision})" if it.revision else ""
    again = ", as answered before" if it.replayed else ""
    because = "" if it.reason in ("", "Added.") else f": {it.reason}"
    return f"{done} {it.slug}{revision}{again}{because}"


def _bound(it: Any) -> str:
    said = {"created": " now", "joined": ", new to this ledger"}.get(it.outcome, "")
    return "\n".join([f"{it.directory} is the project {it.project}{said}", *glance_files.beside(it.beside)])


def _backup(it: Any) -> str:
    return f"{it.file}: {it.rows} rows, {it.bytes:,} bytes; {it.proof}"


def _exported(it: Any) -> str:
    what = f"the project {it.project}" if it.project else "the whole ledger"
    return f"{it.file} holds {what}: {sum(it.rows.values())} rows, {it.bytes:,} bytes"


def _difference(it: Any) -> str:
    return "the same" if it.same else f"{it.before} and {it.after} are told different things"


def _run(it: Any) -> str:
    said = f"run {it.id} of {it.run.agent}: {it.run.status}"
    if it.run.outcome and it.run.outcome != it.run.status:
        said += f", {it.run.outcome}"
    if it.report is not None:
        return f"{said}. {it.report.sentence}"
    return said if it.text else f"{said}; there is nothing to tell it"


def _seeded(it: Any) -> str:
    joined = "joined" if it.added else "is known already"
    charter = (
        "" if it.charter is None else f"; charter {str(_PAST.get(it.charter.op, it.charter.op)).rstrip(':')}"
    )
    return f"{it.actor.name} {joined} as {it.actor.role}{charter}"


def _reindexed(it: Any) -> str:
    return f"built anew: the texts of {it.memories} memories and {it.proposals} proposals"


def _new_token(it: Any) -> str:
    where = f"in the project {it.token.project}" if it.token.project else "in every project"
    until = f"until {it.token.expires_at[:10]}" if it.token.expires_at else "for good"
    made = f"token {it.token.id}: {it.token.agent}, as {it.token.role}, {where}, {until}"
    if it.secret is None:
        return f"{made}; its secret was shown when it was made. If that was lost, revoke it and make another"
    return f"{made}. Keep the secret, it is shown this once"


HEADLINES: dict[str, Headline] = {
    **adoption_tables.HEADLINES,
    **capture_tables.HEADLINES,
    "NewToken": Headline(_new_token, ("secret",)),
    "Backup": Headline(_backup, ("pruned",)),
    "Exported": Headline(_exported, ("sha256", "rows")),
    "Imported": Headline(lambda it: it.sentence, ("rows", "conflicts", "asides")),
    "Reindexed": Headline(_reindexed, ("texts_mended", "texts_removed", "bands_removed")),
    "Restored": Headline(lambda it: it.sentence, ("kept", "erased_again")),
    "FilesStatus": Headline(glance_files.status),
    "Synced": Headline(glance_files.synced),
    "Health": Headline(glance.health, ("findings", "visitors"), glance.lines),
    "Diagnosis": Headline(lambda it: _DIAGNOSES[it.state], ("findings",)),
    "Serving": Headline(lambda it: it.sentence, ("http", "docs", "mcp", "socket", "agents", "token")),
    "Standing": Headline(
        lambda it: it.sentence, ("ledger", "http", "socket", "clients", "requests", "waiting", "advice")
    ),
    "Stopped": Headline(lambda it: it.sentence),
    "Bound": Headline(_bound, ("id", "file", "also_at", "advice")),
    # What it would do is in the sentence and the reason; `inbox show` has the whole of it.
    "Submission": Headline(_submission, ("reason", "verdict")),
    "Promotion": Headline(_promotion, ("verdict",)),
    "Rejection": Headline(lambda it: f"rejected {it.slug}: {it.reason}", ("tombstone", "verdict")),
    "Outcome": Headline(_outcome, ("rules", "memory", "proposal", "verdict")),
    "Reverted": Headline(lambda it: it.sentence, ("blocked", "verdicts")),
    **search_tables.HEADLINES,
    **tidy_tables.HEADLINES,
    **provider_tables.HEADLINES,
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
    "RunView": Headline(_run, ("task", "children", "saw", "text")),
    "RunReport": Headline(
        lambda it: it.sentence,
        ("promoted", "waiting", "refused", "session", "transcript", "transcript_note", "capture"),
    ),
    "Seeded": Headline(_seeded),
    "BundleDifference": Headline(_difference, ("only_before", "only_after", "changed", "diff")),
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
