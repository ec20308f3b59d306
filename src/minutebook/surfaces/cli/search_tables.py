"""How past searches, and what is said of them, look to a person."""

from __future__ import annotations

from minutebook.surfaces.cli.columns import Column, Headline, Table

TABLES: dict[str, Table] = {
    "SearchLine": Table(
        (
            Column("WHEN", "age"),
            Column("QUERY", "query"),
            Column("STATE", "state", "status"),
            Column("HITS", "hits", "number"),
            Column("BY", "actor", drop=1, most=20),
            Column("RUN", "run", "id", drop=3),
            Column("TURN", "turn", "number", drop=4),
            Column("SEARCH", "id", "id", drop=2),
        ),
        empty="searches leave a trace when a service or a command answers them",
    ),
    "Recalled": Table(
        (
            Column("SCORE", "score", "number"),
            Column("SLUG", "slug", "name", most=40),
            Column("TITLE", "title"),
            Column("STATUS", "status", "status"),
            Column("MATCHED", "matched", drop=2, most=40),
            Column("ID", "id", "id", drop=1),
        )
    ),
    "Dropped": Table(
        (
            Column("SLUG", "slug", "name", most=40),
            Column("REASON", "reason"),
            Column("BECAUSE", "because"),
            Column("ID", "id", "id", drop=1),
        )
    ),
    "Ground": Table(
        (Column("WHAT", "what"), Column("VERDICT", "verdict"), Column("DETAIL", "detail", most=200))
    ),
    "Share": Table((Column("PART", "part"), Column("POINTS", "points", "number"))),
}

HEADLINES: dict[str, Headline] = {
    "Explanation": Headline(lambda it: it.sentence, ("reasons", "parts")),
    "SearchView": Headline(
        lambda it: f"“{it.search.query}”, {it.search.age} by {it.search.actor}: {it.sentence}",
        ("filters", "hits", "dropped"),
    ),
}
