"""How a benchmark ends: one line of JSON with its goals, each kept or not."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from typing import Any

_COMPARE = {"<=": operator.le, ">=": operator.ge}


class Report:
    """Collects figures and goals, and prints them."""

    def __init__(self, bench: str) -> None:
        self._bench = bench
        self._goals: dict[str, dict[str, Any]] = {}

    def goal(self, name: str, value: float, goal: str) -> None:
        """Note a goal such as `<= 1.5`, with what was measured."""
        sign, bound = goal.split()
        self._goals[name] = {
            "value": round(value, 3),
            "goal": goal,
            "ok": _COMPARE[sign](value, float(bound)),
        }

    @property
    def names(self) -> set[str]:
        return set(self._goals)

    def unmeasured(self, name: str, goal: str) -> None:
        """Note a goal that could not be measured: it is not kept."""
        self._goals[name] = {"value": None, "goal": goal, "ok": False}

    def end(self) -> int:
        for name, row in self._goals.items():
            print(f"{'kept  ' if row['ok'] else 'MISSED'}  {name}: {row['value']} (goal {row['goal']})")
        print(json.dumps({"bench": self._bench, "goals": self._goals}))
        return 0 if all(row["ok"] for row in self._goals.values()) else 1


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headers, right-aligned but for the first column."""
    widths = [max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers))]
    for row in (headers, *rows):
        cells = [row[0].ljust(widths[0])] + [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        print("  ".join(cells))
