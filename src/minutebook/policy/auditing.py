"""How an audit reads as a page: a table, and a plot of growth and use that needs nothing but a reader of SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minutebook.model.audit import Audit, AuditLine, Month
from minutebook.policy.rendering import name

_BAR = 40
_WIDTH, _HEIGHT, _GAP = 640, 160, 6


def page(audit: Audit) -> str:
    """The report as Markdown."""
    lines = [
        f"# Audit of {name(audit.project)}",
        "",
        f"{audit.sentence} {audit.looked} of {audit.standing} active memories were looked at, at {audit.at[:16]}Z.",
        "",
        "| check | count | weight | what it means | such as |",
        "|---|---:|---|---|---|",
        *(_row(check) for check in audit.checks),
        "",
    ]
    hints = [f"- {check.check}: {check.hint}" for check in audit.checks if check.count and check.hint]
    if hints:
        lines += ["## What to do", "", *hints, ""]
    if audit.months:
        lines += ["## Growth and use", "", _svg(audit.months), "", "```", *_bars(audit.months), "```", ""]
    return "\n".join(lines)


def _row(check: AuditLine) -> str:
    examples = ", ".join(f"`{name(each)}`" for each in check.examples)
    return f"| {check.check} | {check.count} | {check.weight} | {check.sentence} | {examples} |"


def _bars(months: Sequence[Month]) -> list[str]:
    """The plot for who reads plain text: + made, - taken out of use, * shown to runs."""
    most = max((max(month.added, month.ended, month.shown) for month in months), default=0) or 1
    lines = []
    for month in months:
        for mark, count in (("+", month.added), ("-", month.ended), ("*", month.shown)):
            label = month.month if mark == "+" else " " * len(month.month)
            lines.append(f"{label} {mark} {(mark * (count * _BAR // most)):<{_BAR}} {count}")
    lines.append("+ written   - taken out of use   * shown to runs")
    return lines


def _svg(months: Sequence[Month]) -> str:
    most = max((max(month.added, month.ended, month.shown) for month in months), default=0) or 1
    wide = _WIDTH / len(months)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT + 20}" role="img" '
        'aria-label="memories written, taken out of use and shown, by month">'
    ]
    for place, month in enumerate(months):
        for offset, (count, colour) in enumerate(
            ((month.added, "#2a7"), (month.ended, "#b44"), (month.shown, "#47c"))
        ):
            high = round(_HEIGHT * count / most, 1)
            left = round(place * wide + offset * (wide - _GAP) / 3, 1)
            parts.append(
                f'<rect x="{left}" y="{_HEIGHT - high}" width="{round((wide - _GAP) / 3 - 1, 1)}" '
                f'height="{high}" fill="{colour}"/>'
            )
        parts.append(
            f'<text x="{round(place * wide, 1)}" y="{_HEIGHT + 14}" font-size="10">{escape(month.month)}</text>'
        )
    return "".join([*parts, "</svg>"])
