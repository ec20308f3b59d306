"""Searchable text: one derived row per memory and proposal, found by any of its words."""

from __future__ import annotations

from typing import Any

from minutebook.ledger.database import Tx


def put(tx: Tx, *, ref: str, kind: str, project: str, title: str, body: str) -> None:
    tx.run(
        """INSERT INTO texts (ref, kind, project_id, title, body) VALUES (:ref, :kind, :project, :title, :body)
           ON CONFLICT (ref) DO UPDATE SET project_id = excluded.project_id, title = excluded.title,
                                           body = excluded.body
            WHERE texts.body <> excluded.body OR texts.title <> excluded.title
               OR texts.project_id <> excluded.project_id""",
        ref=ref,
        kind=kind,
        project=project,
        title=title,
        body=body,
    )


def remove(tx: Tx, ref: str) -> None:
    tx.run("DELETE FROM texts WHERE ref = :ref", ref=ref)


def clear(tx: Tx) -> None:
    tx.run("DELETE FROM texts")


def match(
    tx: Tx, terms: list[str], *, kind: str, clause: str, params: dict[str, Any], limit: int
) -> list[dict[str, Any]]:
    """Rows (ref, score) of one kind whose text holds any of the terms, best first.

    `clause` speaks about the memory or proposal `m`; who may see what is decided there, in SQL, and never
    in the match expression.
    """
    table = "memories" if kind == "memory" else "proposals"
    return tx.all(
        tx.dialect.fulltext_query(table, clause),
        match=tx.dialect.fulltext_match(terms),
        limit=limit,
        kind=kind,
        **params,
    )
