"""First answers to requests that bore a key, so that a retry is told the same and nothing is done twice."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.ledger.database import Tx


@dataclass(frozen=True, slots=True)
class Answered:
    operation: str
    digest: str
    #: the answer as JSON text: {"value": …} or {"error": …}
    answer: str


def find(tx: Tx, actor: str, key: str) -> Answered | None:
    row = tx.one(
        "SELECT operation, digest, answer FROM requests WHERE actor = :actor AND key = :key",
        actor=actor,
        key=key,
    )
    return None if row is None else Answered(row["operation"], row["digest"], row["answer"])


def keep(tx: Tx, actor: str, key: str, answered: Answered, at: str) -> None:
    tx.put(
        """INSERT INTO requests (actor, key, operation, digest, answer, at)
           VALUES (:actor, :key, :operation, :digest, :answer, :at)""",
        actor=actor,
        key=key,
        operation=answered.operation,
        digest=answered.digest,
        answer=answered.answer,
        at=at,
    )
