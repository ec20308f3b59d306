"""How the house looks to a person: projects, who may ask, the service, health, backups and archives."""

from __future__ import annotations

from typing import Any

from minutebook.surfaces.cli import glance, glance_files
from minutebook.surfaces.cli.columns import Column, Headline, Table

_DIAGNOSES = {
    "ok": "all is well",
    "warning": "it works; see to the warnings",
    "error": "something does not work",
}

TABLES: dict[str, Table] = {
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
}


def _bound(it: Any) -> str:
    said = {"created": " now", "joined": ", new to this ledger"}.get(it.outcome, "")
    return "\n".join([f"{it.directory} is the project {it.project}{said}", *glance_files.beside(it.beside)])


def _backup(it: Any) -> str:
    return f"{it.file}: {it.rows} rows, {it.bytes:,} bytes; {it.proof}"


def _exported(it: Any) -> str:
    what = f"the project {it.project}" if it.project else "the whole ledger"
    return f"{it.file} holds {what}: {sum(it.rows.values())} rows, {it.bytes:,} bytes"


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
}
