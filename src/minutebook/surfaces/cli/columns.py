"""What a listing and a sentence are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "name", "id", "status", "time", "day", "number"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `text` is cropped to the width, a `name` never; the highest `drop` goes first.

    A column in which every row says what is `usual` is left out: it would only take room from the others.
    """

    header: str
    field: str
    kind: Kind = "text"
    drop: int = 0
    most: int = 60
    usual: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Column, ...]
    #: what to do when there is nothing
    empty: str = ""
    #: a field that many rows share: it stands above them, and not in each
    under: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer of an act: a sentence, and the fields worth a line below it."""

    sentence: Callable[[Any], str]
    also: tuple[str, ...] = ()
    #: lines between the two: what stands at the left, and what goes on below itself when it is too long
    rows: Callable[[Any], Iterable[tuple[str, str]]] | None = None


#: What became of a write, by the op of its verdict.
PAST = {
    "add": "added",
    "update": "updated",
    "supersede": "superseded",
    "retire": "retired",
    "restore": "restored",
    "hold": "held for review:",
    "skip": "skipped, known already:",
    "refuse": "refused:",
}
