"""When a consolidation begins on its own: every gate must be open. Pure.

The gates say in numbers what they have and what they need, so that whoever asks why nothing happens is told.
"""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.model.consolidation import Gate
from minutebook.model.times import moment_of, to_the_minute
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


#: What a recall is worth: how often, how lately, and how lately the memory itself was written. Seed 004 weighs these
#: three 30 : 20 : 15; its fourth part, the score of each hit, is not kept here.
_OFTEN, _LATELY, _FRESH = 30 / 65, 20 / 65, 15 / 65
_HALF_LIFE_DAYS = 14.0


def recall_score(recalls: int, recalled_at: str, written_at: str, now: str, limits: Limits) -> float:
    """How much it says about a project that a memory of it was recalled, 0 to 1."""
    often = min(1.0, recalls / max(1, limits.consolidation_recalls))
    return _OFTEN * often + _LATELY * _faded(recalled_at, now) + _FRESH * _faded(written_at, now)


def _faded(then: str, now: str) -> float:
    days = max(0.0, (moment_of(now) - moment_of(then)).total_seconds() / 86_400)
    return 0.5 ** (days / _HALF_LIFE_DAYS)


def gates_of(seen: Seen, limits: Limits) -> tuple[Gate, ...]:
    """The gates, each with what it has and what it needs."""
    hours = float("inf")
    if seen.last is not None:
        hours = max(0.0, (moment_of(seen.now) - moment_of(seen.last)).total_seconds() / 3600)
    since = "ever" if seen.last is None else f"since {to_the_minute(seen.last)}"
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
