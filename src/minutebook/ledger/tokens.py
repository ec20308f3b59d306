"""Tokens: the hash of each secret, whom it names, and how far it reaches."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minutebook.ledger import actors
from minutebook.ledger.database import Database, Tx
from minutebook.model.actors import Role
from minutebook.model.errors import MinutebookError
from minutebook.model.tokens import Grant, Token, TokenState


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which tokens are listed; None is all."""

    agent: str | None = None
    state: TokenState | None = None
    project: str | None = None


def insert(tx: Tx, token: Token, *, digest: str, name: str) -> None:
    tx.run(
        """INSERT INTO tokens (id, digest, role, actor, name, project_id, note, made_with, created_by, created_at,
                               expires_at)
           VALUES (:id, :digest, :role, :actor, :name, :project, :note, :made_with, :by, :at, :expires)""",
        id=token.id,
        digest=digest,
        role=token.role.value,
        actor=token.agent,
        name=name,
        project=token.project,
        note=token.note,
        made_with=token.made_with,
        by=token.created_by,
        at=token.created_at,
        expires=token.expires_at,
    )


# Two small statements for every request: SQLite takes twice as long for one with a join.
_GRANT = "SELECT id, actor, name, role, project_id, expires_at, revoked_at FROM tokens"


def grant(tx: Tx, id: str) -> Grant | None:
    """What a token gives now."""
    return _grant(tx, tx.one(f"{_GRANT} WHERE id = :id", id=id))


def grant_of(tx: Tx, digest: str) -> Grant | None:
    """What the token of a secret gives now."""
    return _grant(tx, tx.one(f"{_GRANT} WHERE digest = :digest", digest=digest))


def _grant(tx: Tx, row: dict[str, Any] | None) -> Grant | None:
    if row is None:
        return None
    return Grant(
        row["id"],
        row["actor"],
        row["name"],
        Role(row["role"]),
        row["project_id"],
        row["expires_at"],
        row["revoked_at"],
        tx.remember(("actor", row["actor"]), lambda: actors.get(tx, row["actor"])),
    )


def get(tx: Tx, id: str, now: str) -> Token | None:
    row = tx.one("SELECT * FROM tokens WHERE id = :id", id=id)
    return None if row is None else _token(row, now)


def list_(tx: Tx, wanted: Filter, *, now: str, after: str | None, limit: int) -> list[Token]:
    """Newest first; `after` is the id of the last one seen."""
    clause, params = "1 = 1", {}
    if wanted.agent is not None:
        clause += " AND actor = :actor"
        params["actor"] = wanted.agent
    if wanted.project is not None:
        clause += " AND project_id = :project"
        params["project"] = wanted.project
    if wanted.state is TokenState.REVOKED:
        clause += " AND revoked_at IS NOT NULL"
    elif wanted.state is TokenState.EXPIRED:
        clause += " AND revoked_at IS NULL AND expires_at <= :now"
        params["now"] = now
    elif wanted.state is TokenState.ACTIVE:
        clause += " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
        params["now"] = now
    if after is not None:
        clause += " AND id < :after"
        params["after"] = after
    rows = tx.all(f"SELECT * FROM tokens WHERE {clause} ORDER BY id DESC LIMIT :limit", limit=limit, **params)
    return [_token(row, now) for row in rows]


def made_with(tx: Tx, id: str) -> list[str]:
    """The token and all that were made with it, directly or in turn, that nobody revoked yet."""
    rows = tx.all(
        """WITH RECURSIVE made (id) AS (
               SELECT id FROM tokens WHERE id = :id
               UNION SELECT t.id FROM tokens t JOIN made m ON t.made_with = m.id)
           SELECT t.id FROM tokens t JOIN made m ON m.id = t.id WHERE t.revoked_at IS NULL ORDER BY t.id""",
        id=id,
    )
    return [row["id"] for row in rows]


def revoke(tx: Tx, ids: Sequence[str], *, by: str, reason: str, at: str) -> None:
    tx.forget()
    for id in ids:
        tx.run(
            """UPDATE tokens SET revoked_at = :at, revoked_by = :by, reason = :reason
                WHERE id = :id AND revoked_at IS NULL""",
            id=id,
            by=by,
            reason=reason,
            at=at,
        )


def revoke_everything(tx: Tx, *, by: str, reason: str, at: str) -> int:
    """Revoke every token that nobody revoked yet, and say how many."""
    tx.forget()
    return tx.run(
        "UPDATE tokens SET revoked_at = :at, revoked_by = :by, reason = :reason WHERE revoked_at IS NULL",
        by=by,
        reason=reason,
        at=at,
    )


def note_use(tx: Tx, id: str, at: str) -> None:
    """Note that a token was used, unless it did not hold any more by then."""
    tx.run(
        """UPDATE tokens SET last_used_at = :at
            WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)
              AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :at)""",
        id=id,
        at=at,
    )


class Uses:
    """Notes when tokens were last used: once a minute each, behind the requests, which never wait for it."""

    #: a lane of its own: on PostgreSQL no project's writes stand before it
    _LANE = "tokens"
    _MOST = 10_000

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[str, str] = {}
        self._lock = threading.Lock()

    def note(self, id: str, now: str) -> None:
        """Have a use noted, unless one of the same minute is."""
        minute = now[:16]
        if self._noted.get(id) == minute:
            return
        with self._lock:
            if self._noted.get(id) == minute:
                return
            if len(self._noted) >= self._MOST:
                self._noted.clear()
            self._noted[id] = minute

        def told(_: Any, error: BaseException | None) -> None:
            if error is not None:
                # The request is not to blame, so it is not told: the token's next use tries again. What ails
                # the ledger is told by every write, and by health.
                self._noted.pop(id, None)

        try:
            self._database.write_soon(self._LANE, lambda tx: note_use(tx, id, now), told)
        except MinutebookError as error:
            told(None, error)


def _token(row: dict[str, Any], now: str) -> Token:
    return Token(
        id=row["id"],
        agent=row["actor"],
        role=Role(row["role"]),
        project=row["project_id"],
        state=_state(row, now),
        note=row["note"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        revoked_at=row["revoked_at"],
        revoked_by=row["revoked_by"],
        reason=row["reason"],
        made_with=row["made_with"],
    )


def _state(row: dict[str, Any], now: str) -> TokenState:
    if row["revoked_at"] is not None:
        return TokenState.REVOKED
    if row["expires_at"] is not None and row["expires_at"] <= now:
        return TokenState.EXPIRED
    return TokenState.ACTIVE
