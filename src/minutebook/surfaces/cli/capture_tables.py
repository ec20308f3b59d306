"""How captures, sources and jobs look to a person."""

from __future__ import annotations

from minutebook.surfaces.cli.columns import Column, Headline, Table

TABLES: dict[str, Table] = {
    "CaptureLine": Table(
        (
            Column("CAPTURE", "id", "id"),
            Column("STATE", "state", "status"),
            Column("TITLE", "title"),
            Column("FOUND", "found", "number"),
            Column("BY", "by", drop=1, most=20),
            Column("AGE", "age", drop=2),
            Column("TRIGGER", "trigger", drop=3, most=22),
            Column("FAULT", "fault", drop=4, most=40),
            Column("SOURCE", "source", "id", drop=5),
        ),
        empty="bring something in with: minutebook capture note --help",
    ),
    "Stage": Table(
        (
            Column("STAGE", "name", "name", most=14),
            Column("STATE", "state", "status"),
            Column("WHEN", "at", "time", drop=1),
            Column("WHERE IT STANDS", "said", "name", most=120),
        )
    ),
    "Piece": Table(
        (
            Column("PROPOSAL", "slug", "name", most=50),
            Column("TYPE", "type", most=14),
            Column("STATUS", "status", "status"),
            Column("LINES", "span", most=14),
            Column("SURE", "confidence", "number", drop=2),
            Column("ALIKE", "similar", "number", drop=3),
            Column("AGAINST", "contradicts", "number", drop=1),
        )
    ),
    "SourceLine": Table(
        (
            Column("SOURCE", "id", "id"),
            Column("KIND", "kind", most=14),
            Column("TITLE", "title"),
            Column("BYTES", "bytes", "number"),
            Column("BY", "by", drop=1, most=20),
            Column("AGE", "age", drop=2),
            Column("STATE", "state", "status", drop=3),
            Column("RUN", "run", "id", drop=4),
        ),
        empty="bring something in with: minutebook capture document --help",
    ),
    "RunEntry": Table(
        (
            Column("#", "place", "number"),
            Column("WHEN", "at", "time", drop=1),
            Column("WHO", "who", "name", most=20),
            Column("WHAT", "kind", most=24),
            Column("SAID", "said", most=100),
        ),
        empty="nothing happened in it",
    ),
    "DailyLine": Table(
        (
            Column("DAY", "day", "name", most=10),
            Column("SCOPE", "scope", "name", most=40),
            Column("EVENTS", "events", "number"),
            Column("ADDED", "added", "number"),
            Column("CHANGED", "changed", "number"),
            Column("PROPOSED", "proposed", "number"),
            Column("REFUSED", "refused", "number"),
        ),
        empty="nothing happened",
    ),
    "JobLine": Table(
        (
            Column("JOB", "id", "id"),
            Column("KIND", "kind", most=20),
            Column("STATE", "state", "status"),
            Column("TRIED", "attempts", "number"),
            Column("AGE", "age", drop=1),
            Column("DUE", "due_at", "time", drop=3),
            Column("FAULT", "fault", drop=2, most=60),
            Column("OUTCOME", "outcome", drop=4, most=60),
        ),
        empty="nothing was put off",
    ),
}

HEADLINES: dict[str, Headline] = {
    "Receipt": Headline(lambda it: it.sentence, ("capture", "source", "job", "bytes")),
    "CaptureView": Headline(
        lambda it: f"{it.title}: {it.state}, {it.progress} dealt with",
        ("id", "source", "trigger", "by", "run", "stages", "pieces", "more"),
    ),
    "SourceView": Headline(
        lambda it: f"{it.title}: {it.kind}, {it.bytes:,} bytes, {it.lines:,} lines, {it.state}",
        ("id", "by", "created_at", "locator", "capture_mode", "consent", "run", "first", "last", "text"),
    ),
    "DailyLog": Headline(lambda it: f"{it.day}, {it.scope}: part {it.part} of {it.parts}", ("text",)),
    "Pruned": Headline(lambda it: it.sentence, ("runs", "sources")),
    "Mended": Headline(lambda it: it.sentence, ("stranded", "unread", "abandoned")),
    "Replayed": Headline(lambda it: it.sentence, ("jobs",)),
}
