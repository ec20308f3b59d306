"""Whether the index of words still says what the texts say: read some texts at a time, beside everything else.

A byte that turns over on the disk seldom makes a page unreadable. Mostly some word leads to some text no more, and no
statement fails. So each word is looked up, and what it leads to is compared. SQLite has a check of its own, but runs it
in a write, and all others would wait.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from minutebook.ledger import fulltext
from minutebook.ledger.database import Tx
from minutebook.ledger.fulltext import Range
from minutebook.policy.terms import BAR


@dataclass(frozen=True, slots=True)
class Looked:
    """How far texts were looked through, and how many of them some word does not lead to."""

    #: the place of the last one; None when there are no more
    last: int | None
    lost: int


def beginning(tx: Tx, night: int, most: int) -> int | None:
    """Behind which place to begin, where so many are looked through each night: all get their turn.

    None where the pages of the index are a server's affair, which has sums of its own.
    """
    if not tx.dialect.one_file:
        return None
    counted = tx.one("SELECT count(*) AS n FROM texts")
    turns = -(-counted["n"] // most) if counted else 0
    if turns < 2 or not night % turns:
        return -1
    row = tx.one("SELECT doc FROM texts ORDER BY doc LIMIT 1 OFFSET :at", at=night % turns * most - 1)
    return row["doc"] if row else -1


def look(tx: Tx, after: int, limit: int) -> Looked:
    """Look the words of some texts up, those that lie behind a place."""
    rows = tx.all(
        "SELECT doc, terms FROM texts WHERE doc > :after ORDER BY doc LIMIT :limit", after=after, limit=limit
    )
    if not rows:
        return Looked(None, 0)
    holders: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        for term in set(row["terms"].split()) - {BAR}:
            holders[term].add(row["doc"])
    span = [Range(rows[0]["doc"], rows[-1]["doc"])]
    lost: set[int] = set()
    for term, wanted in holders.items():
        (found,) = fulltext.holding(tx, [[term]], span, limit)
        lost |= wanted.difference(found)
    return Looked(rows[-1]["doc"], len(lost))
