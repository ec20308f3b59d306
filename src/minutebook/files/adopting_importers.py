"""Files that an importer of another package reads. What it says of a file is believed as far as the file bears it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minutebook.call import Providers
from minutebook.files.lines import digest_of, lines_of
from minutebook.files.sem import rfc_3339
from minutebook.model.adoption import Mark, Piece
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type, parse_type
from minutebook.model.providers import Declared, Kind
from minutebook.model.text import clean, one_line

#: Patterns of file names that one importer may have.
_PATTERNS = 50
_TITLE = 300
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?")
_WITH_SECRET = "it holds what looks like a credential"


@dataclass(frozen=True, slots=True)
class Importer:
    """One that is enabled."""

    one: Declared
    providers: Providers
    patterns: tuple[str, ...]

    @classmethod
    def of(cls, name: str, providers: Providers) -> Importer:
        wanted = name.strip().lower()
        for one in providers.usable(Kind.IMPORTER):
            if one.name == wanted:
                return cls(one, providers, tuple(providers.describe(one)["patterns"][:_PATTERNS]))
        raise MinutebookError(
            "not_found",
            f"There is no importer {wanted[:80]!r} that is enabled.",
            hint="minutebook providers list",
        )

    @property
    def dialect(self) -> str:
        return self.one.name

    def read(
        self, path: str, data: bytes, blanked: Mapping[int, str]
    ) -> tuple[tuple[Piece, ...], tuple[Mark, ...]]:
        """The entries of a file, and what is doubtful: an entry that cannot be used costs itself alone."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return (), (Mark(1, "it is no text"),)
        lines = lines_of(data)
        pieces: list[Piece] = []
        doubts: list[Mark] = []
        for item in self.providers.ask(self.one, path=path, text=text):
            made = _piece(item, lines, blanked)
            if isinstance(made, Piece):
                pieces.append(made)
            else:
                doubts.append(made)
        return tuple(pieces), tuple(doubts)

    @staticmethod
    def loose(data: bytes, pieces: Sequence[Piece]) -> int:
        """Lines that say something and belong to no entry."""
        held = {line for piece in pieces for line in range(piece.first, piece.last + 1)}
        return sum(bool(line.strip()) for number, line in enumerate(lines_of(data), 1) if number not in held)


def _piece(item: Any, lines: Sequence[bytes], blanked: Mapping[int, str]) -> Piece | Mark:
    """One entry, or why it is none."""
    if not isinstance(item, dict):
        return Mark(1, "the importer gave something that is no entry")
    first = _number(item.get("first"))
    last = _number(item["last"]) if "last" in item else first
    if not 1 <= first <= last <= len(lines):
        return Mark(1, "the importer cites lines that there are not")
    said = item.get("text")
    text = said if isinstance(said, str) else b"\n".join(lines[first - 1 : last]).decode()
    if not clean(text).strip():
        return Mark(first, "an entry without words")
    told = item.get("type")
    try:
        type = Type.UPDATE if told is None else parse_type(str(told))
    except MinutebookError:
        return Mark(first, f"there is no type {str(told)[:40]!r}")
    title = one_line(str(item.get("title") or text.strip().split("\n")[0]))[:_TITLE]
    date = item.get("date")
    return Piece(
        first=first,
        last=last,
        digest=digest_of(lines[first - 1 : last]),
        title=title,
        text=text.strip(),
        type=type,
        certainty="guessed" if told is None else "likely",
        authors=tuple(_texts(item.get("authors"))),
        date=rfc_3339(date) if isinstance(date, str) and _DATE.fullmatch(date) else None,
        rationale=item["rationale"] if isinstance(item.get("rationale"), str) else None,
        slug=item["slug"] if isinstance(item.get("slug"), str) else None,
        tags=tuple(_texts(item.get("tags"))),
        agent=item["agent"] if isinstance(item.get("agent"), str) else None,
        withheld=_WITH_SECRET if any(line in blanked for line in range(first, last + 1)) else "",
    )


def _number(value: Any) -> int:
    """A number of a line; 0, which no line has, for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, str) and each.strip())
