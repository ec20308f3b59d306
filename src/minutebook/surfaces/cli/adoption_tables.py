"""How an adoption looks to a person: what was found by kind, what needs a look, and how to go on."""

from __future__ import annotations

from minutebook.surfaces.cli.columns import Column, Headline, Table

TABLES: dict[str, Table] = {
    "SheetGroup": Table(
        (
            Column("READ AS", "what", "name", most=40),
            Column("FILES", "files", "number"),
            Column("ENTRIES", "entries", "number"),
            Column("NEW", "new", "number"),
            Column("AUTHOR", "authors", "number"),
            Column("DATE", "dates", "number"),
            Column("TYPE GUESSED", "guessed", "number", drop=2),
            Column("LOOSE LINES", "loose_lines", "number", drop=3),
        )
    ),
    "Remark": Table((Column("WHERE", "where", "name", most=60), Column("WHAT", "what", "name", most=100))),
    "NotTaken": Table((Column("PATH", "path", "name", most=60), Column("WHY", "why", "name", most=100))),
    "Stayed": Table((Column("PROPOSAL", "slug", "name", most=60), Column("WHY", "why", "name", most=100))),
    "PieceLine": Table(
        (
            Column("LINES", "lines", most=12),
            Column("TYPE", "type", most=14),
            Column("SURE", "certainty", drop=2),
            Column("BY", "author", drop=1, most=18),
            Column("DATE", "date", "day", drop=3),
            Column("TITLE", "title"),
            Column("BECOMES", "becomes", "status"),
            Column("WHY", "why", drop=4, most=40),
        ),
        under="path",
    ),
    "AdoptionLine": Table(
        (
            Column("ADOPTION", "id", "id"),
            Column("FROM", "root", "name", most=40),
            Column("STATE", "state", "status"),
            Column("FILES", "files", "number"),
            Column("WAIT", "pending", "number"),
            Column("ACCEPTED", "merged", "number"),
            Column("REJECTED", "rejected", "number", drop=1),
            Column("REFUSED", "refused", "number", drop=2),
            Column("BEGUN", "started_at", "time", drop=3),
        ),
        empty="take in what a repository holds with: minutebook adopt",
    ),
    "AdoptedFile": Table(
        (
            Column("PATH", "path", "name", most=60),
            Column("READ AS", "read_as", drop=1, most=16),
            Column("PROPOSALS", "proposals", "number"),
            Column("WHOLE", "whole", drop=2),
            Column("BYTES", "bytes", "number", drop=3),
            Column("SOURCE", "source", "id", drop=4),
        )
    ),
    "AdoptedEntry": Table(
        (
            Column("LINES", "lines", most=12),
            Column("TYPE", "type", drop=1, most=14),
            Column("SURE", "certainty", drop=2),
            Column("TITLE", "title"),
            Column("SLUG", "slug", "name", drop=3, most=40),
            Column("STATUS", "status", "status"),
        ),
        under="path",
    ),
}

HEADLINES: dict[str, Headline] = {
    "Adopted": Headline(
        lambda it: it.sentence, ("id", "groups", "secrets", "uncertain", "left_out", "pieces", "next_steps")
    ),
    "Settled": Headline(lambda it: it.sentence, ("stayed",)),
}
