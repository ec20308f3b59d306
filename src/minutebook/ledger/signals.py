"""How often a memory came back: of the memory, whatever becomes of its text, and counted from the traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from minutebook.ledger.database import Tx
from minutebook.model.times import moment_of

#: Recalls at which a signal is half of what it can be.
_HALF = 8
#: Days in which the last recall counts half.
_HALF_LIFE = 30.0


@dataclass(frozen=True, slots=True)
class Signal:
    """What is known of a memory's use."""

    recalls: int
    recalled_at: str | None
    #: bundles of runs that it was in
    bundled: int


def note(tx: Tx, recalled: Mapping[str, int], at: str) -> None:
    """Count recalls; of what is no memory, or is erased, nothing is kept."""
    for ref, times in sorted(recalled.items()):
        tx.run(
            """INSERT INTO signals (ref, recalls, recalled_at)
               SELECT m.id, :times, :at FROM memories m WHERE m.id = :ref AND m.status <> 'erased'
               ON CONFLICT (ref) DO UPDATE SET recalls = signals.recalls + :times, recalled_at = :at""",
            ref=ref,
            times=times,
            at=at,
        )


def strength(recalls: int, recalled_at: str, now: datetime) -> float:
    """How much a memory was of use lately, 0 to 1.

    It grows ever more slowly and fades, and its weight is small: what comes back often must not come back because
    it came back often.
    """
    days = max(0.0, (now - moment_of(recalled_at)).total_seconds() / 86_400)
    return recalls / (recalls + _HALF) * 0.5 ** (days / _HALF_LIFE)


def get(tx: Tx, ref: str) -> Signal:
    row = tx.one("SELECT recalls, recalled_at FROM signals WHERE ref = :ref", ref=ref)
    seen = tx.one("SELECT count(*) AS n FROM sightings WHERE memory_id = :ref", ref=ref)
    bundled = seen["n"] if seen else 0
    if row is None:
        return Signal(0, None, bundled)
    return Signal(row["recalls"], row["recalled_at"], bundled)


def forget(tx: Tx, ref: str) -> None:
    tx.run("DELETE FROM signals WHERE ref = :ref", ref=ref)
