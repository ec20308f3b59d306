"""How consolidations, what they suggest, and audits look to a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minutebook.model.counting import counted
from minutebook.surfaces.cli.columns import Column, Headline, Table

#: Lines of a diff that are shown.
_DIFF_LINES = 24

TABLES: dict[str, Table] = {
    "Consolidation": Table(
        (
            Column("CONSOLIDATION", "id", "id"),
            Column("STATE", "state", "status"),
            Column("CAUSE", "cause", drop=2),
            Column("BY", "started_by", drop=3, most=20),
            Column("STARTED", "started_at", "time"),
            Column("LOOKED AT", "looked", "number"),
            Column("SUGGESTED", "suggested", "number"),
            Column("FAULT", "fault", drop=4, most=40),
        ),
        empty="look through the project with: minutebook consolidation run",
    ),
    "SuggestionView": Table(
        (
            Column("SUGGESTION", "id", "id"),
            Column("WHAT", "kind", "name", most=16),
            Column("ACT", "act", drop=1, most=10),
            Column("STATE", "state", "status", drop=2),
            Column("SAID", "sentence", most=160),
        ),
        empty="nothing repeats, disagrees or is in the way",
    ),
    "Gate": Table(
        (
            Column("GATE", "name", "name", most=10),
            Column("OPEN", "open"),
            Column("HAS", "have", "number"),
            Column("NEEDS", "need", "number"),
            Column("THAT IS", "sentence", most=100),
        )
    ),
    "AuditLine": Table(
        (
            Column("CHECK", "check", "name", most=30),
            Column("COUNT", "count", "number"),
            Column("WEIGHT", "weight", "status"),
            Column("THEY", "sentence", most=60),
            Column("SUCH AS", "examples", drop=1, most=60),
            Column("WHAT TO DO", "hint", drop=2, most=60),
        )
    ),
    "Month": Table(
        (
            Column("MONTH", "month", "name", most=8),
            Column("WRITTEN", "added", "number"),
            Column("ENDED", "ended", "number"),
            Column("SHOWN", "shown", "number"),
            Column("STANDING", "standing", "number"),
        )
    ),
}


def _batch(it: Any) -> str:
    """One sentence, then each suggestion with its id and what would change."""
    lines = [f"{it.sentence}  ({it.run.id})"]
    for each in it.suggestions:
        mark = "" if each.state == "open" else f"[{each.state}] "
        lines += ["", f"{each.id}  {mark}{each.sentence}"]
        lines += [f"    {line}" for line in each.diff.splitlines()[:_DIFF_LINES]]
    if it.suggestions:
        lines += [
            "",
            "take one with: minutebook consolidation take ID, leave it with: minutebook consolidation leave ID",
        ]
    if it.more:
        lines += ["", f"{it.more} more are not shown here."]
    return "\n".join(lines)


def _status(it: Any) -> str:
    shut = any(not gate.open for gate in it.gates)
    # What each gate lacks stands in its own line.
    return "It waits for its gates:" if it.enabled and it.running is None and shut else str(it.sentence)


def _gates(it: Any) -> Iterator[tuple[str, str]]:
    for gate in it.gates:
        yield f"  {'open' if gate.open else 'shut':<6}{gate.name:<9}", gate.sentence
    if it.last is not None:
        yield "  last  ", f"{it.last.id}: {counted(it.last.looked, 'memory', 'memories')} looked at"
    if it.waiting:
        wait = "waits" if it.waiting == 1 else "wait"
        yield "  ", f"{counted(it.waiting, 'suggestion')} {wait}: minutebook consolidation show"


_MARKS = {"ok": "ok", "low": "·", "medium": "!", "high": "!!"}


def _checks(it: Any) -> Iterator[tuple[str, str]]:
    for check in it.checks:
        such = f", such as {', '.join(check.examples)}" if check.examples else ""
        yield f"  {_MARKS[check.weight]:>2} {check.count:>6}  {check.check:<27}  ", f"{check.sentence}{such}"
    for hint in dict.fromkeys(check.hint for check in it.checks if check.count and check.hint):
        yield "  -> ", hint


def _audit(it: Any) -> str:
    return f"{it.sentence}  ({it.looked} of {it.standing} active memories of {it.project} looked at)"


HEADLINES: dict[str, Headline] = {
    "Taken": Headline(lambda value: value.sentence, ("verdict",)),
    "Batch": Headline(_batch),
    "ConsolidationStatus": Headline(_status, rows=_gates),
    "Audit": Headline(_audit, ("months",), _checks),
}
