"""When a consolidation begins on its own: every gate must be open. Pure.

The gates say in numbers what they have and what they need, so that whoever asks why nothing happens is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.model.consolidation import Gate
from minutebook.model.times import moment_of
from minutebook.policy.limits import Limits


@dataclass(frozen=True, slots=True)
class Seen:
    """What the gates are asked about."""

    now: str
    #: when the last consolidation that came to an end began
    last: str | None
    runs: int
    signals: int
    #: the id of one that is being done
    running: str | None


def gates_of(seen: Seen, limits: Limits) -> tuple[Gate, ...]:
    """The gates, each with what it has and what it needs."""
    hours = float("inf")
    if seen.last is not None:
        hours = max(0.0, (moment_of(seen.now) - moment_of(seen.last)).total_seconds() / 3600)
    since = "ever" if seen.last is None else f"since {seen.last[:16].replace('T', ' ')}"
    had = "never consolidated" if seen.last is None else f"{hours:.1f} hours since the last one"
    return (
        Gate(
            "hours",
            hours >= limits.consolidation_hours,
            round(min(hours, 1e6), 1),
            limits.consolidation_hours,
            f"{had}; it takes {limits.consolidation_hours:g}",
        ),
        Gate(
            "runs",
            seen.runs >= limits.consolidation_runs,
            seen.runs,
            limits.consolidation_runs,
            f"{seen.runs} runs ended {since}; it takes {limits.consolidation_runs}",
        ),
        Gate(
            "signals",
            seen.signals >= limits.consolidation_signals,
            seen.signals,
            limits.consolidation_signals,
            f"{seen.signals} memories were written, or recalled often, {since}; "
            f"it takes {limits.consolidation_signals}",
        ),
        Gate(
            "lock",
            seen.running is None,
            0 if seen.running is None else 1,
            0,
            "none is being done" if seen.running is None else f"{seen.running} is being done",
        ),
    )


def all_open(gates: tuple[Gate, ...]) -> bool:
    return all(gate.open for gate in gates)
