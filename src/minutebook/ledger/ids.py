"""The ids that a ledger has given out."""

from __future__ import annotations

from minutebook.ledger.database import Tx


def newest(tx: Tx) -> str | None:
    """The greatest id of what is listed by id: newest first must hold also after the clock went back."""
    row = tx.one("""
        SELECT max(id) AS id FROM (
            SELECT max(id) AS id FROM memories UNION ALL SELECT max(id) FROM proposals
            UNION ALL SELECT max(id) FROM verdicts UNION ALL SELECT max(id) FROM sessions
            UNION ALL SELECT max(id) FROM tombstones UNION ALL SELECT max(id) FROM tokens) AS newest""")
    return None if row is None else row["id"]
