"""An answer to a search, for a person: each hit with its title, what is known of it, and the words that matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from minutebook.model.text import visible
from minutebook.surfaces.cli import tables

#: Between two things that are known of a hit.
_DOT = "  ·  "


def found(answer: Any, width: int) -> Iterable[RenderableType]:
    """A whole answer."""
    yield Text(visible(answer.sentence))
    number_width = len(str(len(answer.hits)))
    for number, hit in enumerate(answer.hits, start=1):
        yield Text("")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(justify="right", style="dim", width=number_width)
        grid.add_column(overflow="fold")
        for row, part in enumerate(_hit(hit)):
            grid.add_row(str(number) if row == 0 else "", part)
        yield grid
    if answer.dropped:
        yield Text("")
        yield Text("left out", style="bold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        for dropped in answer.dropped:
            grid.add_row(
                Text(visible(dropped.slug, lines=False)),
                Text(dropped.reason.value, style="yellow"),
                Text(visible(dropped.because, lines=False), style="dim"),
            )
        yield Padding(grid, (0, 0, 0, 2), expand=False)
    if answer.search is not None and (answer.dropped or any(hit.parts for hit in answer.hits)):
        yield Text("")
        yield Text(f"minutebook searches show {answer.search}", style="dim")


def _hit(hit: Any) -> Iterator[Text]:
    title = Text(visible(hit.title, lines=False), style="bold")
    if hit.kind != "memory":
        title.append(f"  {hit.kind}", style="yellow")
    yield title
    if hit.snippet and visible(hit.snippet, lines=False) != title.plain:
        yield _snippet(hit)
    yield _known(hit)
    if hit.freshness:
        yield Text(hit.freshness, style="yellow")
    if hit.parts:
        yield Text(
            f"{hit.score:.3f} = " + " + ".join(f"{one.part} {one.points:.3f}" for one in hit.parts),
            style="dim",
        )
        yield Text(visible(hit.why, lines=False), style="dim")


def _snippet(hit: Any) -> Text:
    """The text with what matched in it; each stretch is made visible by itself, so that the places stay right."""
    shown, at = Text(), 0
    for start, end in hit.marks:
        shown.append(visible(hit.snippet[at:start], lines=False))
        shown.append(visible(hit.snippet[start:end], lines=False), style="bold cyan")
        at = end
    shown.append(visible(hit.snippet[at:], lines=False))
    return shown


def _known(hit: Any) -> Text:
    """What is known of a hit, in one dim line; what is unusual has its colour."""
    shown = Text(visible(hit.slug, lines=False), style="dim cyan")
    facts: list[tuple[str, str]] = [(hit.type, "dim"), (hit.scope, "dim")]
    if hit.project:
        facts.append((f"from {hit.project}", "magenta"))
    if hit.status != "active":
        facts.append((hit.status, tables.STATUS_STYLES.get(hit.status, "")))
    facts.append(
        (f"{hit.age} by {hit.author}" if hit.age in ("now", "") else f"{hit.age} ago by {hit.author}", "dim")
    )
    if hit.evidence:
        facts.append((f"evidence {hit.evidence}", tables.STATUS_STYLES.get(hit.evidence, "dim")))
    if hit.shadowed_by:
        facts.append(("hidden by a deeper scope", "yellow"))
    for fact, style in facts:
        shown.append(_DOT, style="dim")
        shown.append(visible(str(fact), lines=False), style=style)
    return shown
