"""How an audit reads as a page: a table, and a plot of growth and use. Pure.

The plot stands there twice: as text, for who reads the page as it is or where pictures are left out, and after it as
a picture. That is an image and not a drawing in the page: where it is not shown, no loose words are left of it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from minutebook.model.audit import Audit, AuditLine, Month
from minutebook.policy.rendering import name

#: Months that are told at most.
MONTHS = 12
_BAR = 40
#: Of the picture: where the plot stands in it, and its colours, which are told apart also without colour sight.
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 260, 48, 34, 232
_WRITTEN, _ENDED, _SHOWN, _STANDING = "#2a9d5c", "#c0504d", "#4a7ebb", "#555555"
_INK = 'font-family="sans-serif" font-size="11" fill="#555555"'


def months_of(
    added: Mapping[str, int], ended: Mapping[str, int], shown: Mapping[str, int]
) -> tuple[Month, ...]:
    """The last months up to the last one in which anything happened, also those in which nothing did."""
    names = sorted({*added, *ended, *shown})
    if not names:
        return ()
    found: list[Month] = []
    standing = 0
    for month in _every(names[0], names[-1]):
        standing += added.get(month, 0) - ended.get(month, 0)
        found.append(Month(month, added.get(month, 0), ended.get(month, 0), shown.get(month, 0), standing))
    return tuple(found[-MONTHS:])


def _every(first: str, last: str) -> Iterator[str]:
    year, month = int(first[:4]), int(first[5:7])
    while f"{year:04}-{month:02}" <= last:
        yield f"{year:04}-{month:02}"
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)


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
    hints = [f"- **{check.check}**: `{check.hint}`" for check in audit.checks if check.count and check.hint]
    if hints:
        lines += ["## What to do", "", *hints, ""]
    if audit.months:
        lines += [
            "## Growth and use",
            "",
            "```text",
            *_bars(audit.months),
            "```",
            "",
            _image(audit.months),
            "",
        ]
    return "\n".join(lines)


def _row(check: AuditLine) -> str:
    examples = ", ".join(f"`{name(each)}`" for each in check.examples)
    return f"| {check.check} | {check.count} | {check.weight} | {check.sentence} | {examples} |"


def _bars(months: Sequence[Month]) -> Iterator[str]:
    """The plot for who reads plain text."""
    most = _most(months)
    for month in months:
        for mark, count in (("+", month.added), ("-", month.ended), ("*", month.shown)):
            if not count and mark != "+":
                continue
            label = month.month if mark == "+" else " " * len(month.month)
            # What there is a little of is still seen.
            long = -(-count * _BAR // most)
            stands = f"   {month.standing} stand" if mark == "+" else ""
            yield f"{label} {mark} {mark * long:<{_BAR}} {count}{stands}"
    yield "+ written   - taken out of use   * shown to runs"


def _most(months: Sequence[Month]) -> int:
    return max((max(month.added, month.ended, month.shown) for month in months), default=0) or 1


def _image(months: Sequence[Month]) -> str:
    drawn = b64encode(svg(months).encode()).decode()
    said = "Memories written, taken out of use, shown to runs and standing, by month"
    return f'<img alt="{said}" src="data:image/svg+xml;base64,{drawn}">'


def svg(months: Sequence[Month]) -> str:
    """The plot as a picture."""
    most, stand = _most(months), max((month.standing for month in months), default=0) or 1
    wide = (_WIDTH - 2 * _LEFT) / len(months)
    bar = min(24.0, wide * 0.8 / 3)
    high = _BOTTOM - _TOP

    def rect(left: float, count: int, colour: str) -> str:
        tall = high * count / most
        return f'<rect x="{left:.1f}" y="{_BOTTOM - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" fill="{colour}"/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="memories written, taken out of use, shown and standing, by month">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        *_legend(),
        f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_WIDTH - _LEFT}V{_TOP}" fill="none" stroke="#999999"/>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end" {_INK}>{most}</text>',
        f'<text x="{_LEFT - 6}" y="{_BOTTOM}" text-anchor="end" {_INK}>0</text>',
        f'<text x="{_WIDTH - _LEFT + 6}" y="{_TOP + 4}" {_INK}>{stand}</text>',
    ]
    line: list[str] = []
    for place, month in enumerate(months):
        middle = _LEFT + (place + 0.5) * wide
        parts += [
            rect(middle - 1.5 * bar, month.added, _WRITTEN),
            rect(middle - 0.5 * bar, month.ended, _ENDED),
            rect(middle + 0.5 * bar, month.shown, _SHOWN),
            f'<text x="{middle:.1f}" y="{_BOTTOM + 16}" text-anchor="middle" {_INK}>{escape(month.month)}</text>',
        ]
        line.append(f"{middle:.1f},{_BOTTOM - high * max(0, month.standing) / stand:.1f}")
    parts.append(f'<polyline points="{" ".join(line)}" fill="none" stroke="{_STANDING}" stroke-width="2"/>')
    parts += [
        f'<circle cx="{x}" cy="{y}" r="3" fill="{_STANDING}"/>' for x, y in (p.split(",") for p in line)
    ]
    return "".join([*parts, "</svg>"])


def _legend() -> Iterator[str]:
    left = _LEFT
    for colour, said in (
        (_WRITTEN, "written"),
        (_ENDED, "taken out of use"),
        (_SHOWN, "shown to runs"),
        (_STANDING, "standing (line, right)"),
    ):
        yield f'<rect x="{left}" y="10" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{left + 15}" y="19" {_INK}>{said}</text>'
        left += 34 + 7 * len(said)
