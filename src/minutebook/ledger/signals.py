"""How often a memory came back: of the memory, whatever becomes of its text, and counted from the traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


def of(tx: Tx, refs: Sequence[str], now: str) -> dict[str, float]:
    """How much each was of use lately, 0 to 1.

    It grows ever more slowly and fades, and its weight is small: what comes back often must not come back because
    it came back often.
    """
    if not refs:
        return {}
    names = {f"s{index}": ref for index, ref in enumerate(refs)}
    rows = tx.all(
        f"""SELECT ref, recalls, recalled_at FROM signals
             WHERE ref IN ({", ".join(":" + name for name in names)})""",
        **names,
    )
    today = moment_of(now)
    found = {}
    for row in rows:
        days = max(0.0, (today - moment_of(row["recalled_at"])).total_seconds() / 86_400)
        found[row["ref"]] = row["recalls"] / (row["recalls"] + _HALF) * 0.5 ** (days / _HALF_LIFE)
    return found


def get(tx: Tx, ref: str) -> Signal:
    row = tx.one("SELECT recalls, recalled_at FROM signals WHERE ref = :ref", ref=ref)
    seen = tx.one("SELECT count(*) AS n FROM sightings WHERE memory_id = :ref", ref=ref)
    bundled = seen["n"] if seen else 0
    if row is None:
        return Signal(0, None, bundled)
    return Signal(row["recalls"], row["recalled_at"], bundled)


def forget(tx: Tx, ref: str) -> None:
    tx.run("DELETE FROM signals WHERE ref = :ref", ref=ref)
