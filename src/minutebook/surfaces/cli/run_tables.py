"""How runs, what they are told and what became of what they proposed look to a person."""

from __future__ import annotations

from typing import Any

from minutebook.surfaces.cli.columns import PAST, Column, Headline, Table

TABLES: dict[str, Table] = {
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
}


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
        "" if it.charter is None else f"; charter {str(PAST.get(it.charter.op, it.charter.op)).rstrip(':')}"
    )
    return f"{it.actor.name} {joined} as {it.actor.role}{charter}"


HEADLINES: dict[str, Headline] = {
    "RunView": Headline(_run, ("task", "children", "saw", "text")),
    "RunReport": Headline(
        lambda it: it.sentence,
        ("promoted", "waiting", "refused", "session", "transcript", "transcript_note", "capture"),
    ),
    "Seeded": Headline(_seeded),
    "BundleDifference": Headline(_difference, ("only_before", "only_after", "changed", "diff")),
}
