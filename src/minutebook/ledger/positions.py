"""How far each follower of the log has come. Local to one copy of the ledger; never part of an archive."""

from __future__ import annotations

from minutebook.ledger.database import Tx


def get(tx: Tx, follower: str, of: str = "") -> int:
    """The last event that a follower has dealt with; 0 when it has not begun."""
    row = tx.one(
        "SELECT seq FROM positions WHERE follower = :follower AND part = :of", follower=follower, of=of
    )
    return row["seq"] if row else 0


def put(tx: Tx, follower: str, seq: int, at: str, of: str = "") -> None:
    """Say that everything up to an event is dealt with. It may go back: then what follows is done again."""
    tx.run(
        """INSERT INTO positions (follower, part, seq, at) VALUES (:follower, :of, :seq, :at)
           ON CONFLICT (follower, part) DO UPDATE SET seq = excluded.seq, at = excluded.at""",
        follower=follower,
        of=of,
        seq=seq,
        at=at,
    )


def drop(tx: Tx, follower: str, of: str | None = None) -> None:
    """Forget how far a follower has come: it begins anew."""
    tx.run(
        "DELETE FROM positions WHERE follower = :follower AND (:every = 1 OR part = :of)",
        follower=follower,
        every=int(of is None),
        of=of or "",
    )
