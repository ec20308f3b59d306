"""Claims: what a text says in its normal form, as a keyed hash.

The hash is keyed so that a tombstone of something erased cannot be turned back by guessing at it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from minutebook.ledger.database import Row, Tx
from minutebook.model.text import fold_claim

#: Shorter bodies say too little on their own; their title is part of the claim.
_SHORT = 24


@dataclass(frozen=True, slots=True)
class ClaimKeys:
    """The secrets under which claims are hashed: the ledger's own first, then those that came by import."""

    keys: tuple[tuple[str, bytes], ...]

    @property
    def own_id(self) -> str:
        return self.keys[0][0]

    def claim(self, title: str, content: str) -> str:
        """The ledger's own hash of what the text says."""
        return _digest(self.keys[0][1], normal_form(title, content))

    def all_claims(self, title: str, content: str) -> list[str]:
        """The hash under every key, for asking tombstones."""
        form = normal_form(title, content)
        return [_digest(secret, form) for _, secret in self.keys]


@lru_cache(maxsize=256)
def normal_form(title: str, content: str) -> str:
    folded = fold_claim(content)
    if len(folded) < _SHORT:
        folded = f"{fold_claim(title)} {folded}"
    return folded


@lru_cache(maxsize=64)
def _digest(secret: bytes, text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), key=secret, digest_size=16).hexdigest()


def keys(tx: Tx) -> ClaimKeys | None:
    """The ledger's keys; None in a ledger that nobody has written to."""
    rows = tx.all("SELECT id, secret FROM claim_keys ORDER BY position")
    return ClaimKeys(tuple((row["id"], bytes.fromhex(row["secret"])) for row in rows)) if rows else None


def ensure(tx: Tx, *, new_id: Callable[[], str], secret: Callable[[], str], at: str) -> ClaimKeys:
    """The ledger's keys, made on the first write."""
    found = tx.remember(("claim_keys", ""), lambda: keys(tx))
    if found is not None:
        return found
    tx.forget()
    tx.lock("global")
    tx.run(
        """INSERT INTO claim_keys (id, position, secret, created_at) VALUES (:id, 0, :secret, :at)
           ON CONFLICT DO NOTHING""",
        id=new_id(),
        secret=secret(),
        at=at,
    )
    found = keys(tx)
    assert found is not None
    return found


def said_by(tx: Tx, claims: Collection[str]) -> list[Row]:
    """Who says one of these (id, project_id), however they stand: memories, and proposals that became none."""
    names = {f"c{index}": claim for index, claim in enumerate(sorted(claims))}
    listed = ", ".join(f":{name}" for name in names)
    return tx.all(
        f"""SELECT id, project_id FROM memories WHERE claim IN ({listed})
            UNION ALL
            SELECT id, project_id FROM proposals WHERE claim IN ({listed}) AND memory_id IS NULL
             ORDER BY id""",
        **names,
    )
