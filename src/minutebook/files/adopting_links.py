"""What entries say of one another: which is settled, which does not hold any more, which replaces which. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from minutebook.files.dates import date_in
from minutebook.files.headings import title_of
from minutebook.files.sem import rfc_3339
from minutebook.model.adoption import Form, Piece, Sheet
from minutebook.model.text import slug_from

_DEAD = re.compile(
    r"\W*(?:superseded|superceded|deprecated|obsolete|rejected|withdrawn|reverted|cancell?ed|replaced|abandoned"
    r"|expired|void|rechazad[oa]|obsolet[oa]|reemplazad[oa]|descartad[oa]|cancelad[oa])\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\W*(?:proposed|proposal|draft|pending|open|under (?:review|discussion)|in (?:review|discussion)|backlog|deferred"
    r"|awaiting|needs|for review|tbd|todo|rfc|request(?:ed)?|propuest[oa]|pendiente|borrador|en revisi[oó]n)\b",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\b(?:superseded|superceded|replaced|reemplazad[oa])\s+(?:by|por)\b[:\s]*(\S.*)$", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![\d.])0*(\d{1,5})(?![\d.]\d|\d)")
_NOBODY = frozenset({"", "-", "—", "none", "n/a", "na", "ninguno", "ninguna"})
MOST_REFERENCE = 500


def settled_as(status: str | None) -> str:
    """What a status says: `settled`, `open`, `dead`, or nothing."""
    words = (status or "").strip()[:MOST_REFERENCE]
    if not words:
        return ""
    if _DEAD.match(words):
        return "dead"
    return "open" if _OPEN.match(words) else "settled"


def successor_in(status: str | None) -> str | None:
    """What a status names as the successor: `Superseded by ADR-12`."""
    found = _BY.search((status or "")[:MOST_REFERENCE])
    return None if found is None else found[1]


def resolved(sheets: Iterable[Sheet]) -> list[Sheet]:
    """The same sheets, every entry linked to the one that it replaces, where both are at hand."""
    given = list(sheets)
    groups: dict[tuple[Form, str], list[tuple[str, Piece]]] = {}
    for sheet in given:
        # Records of one folder speak of one another; elsewhere, the entries of one file do.
        place = sheet.path.rpartition("/")[0] if sheet.form is Form.ADR else sheet.path
        groups.setdefault((sheet.form, place), []).extend((sheet.path, piece) for piece in sheet.pieces)
    changed: dict[tuple[str, int], Piece] = {}
    for entries in groups.values():
        changed |= _linked(entries)
    return [
        replace(sheet, pieces=tuple(changed.get((sheet.path, piece.first), piece) for piece in sheet.pieces))
        for sheet in given
    ]


def _linked(entries: Sequence[tuple[str, Piece]]) -> dict[tuple[str, int], Piece]:
    """The pieces of one group that a link changes."""
    by_place = {(path, piece.first): piece for path, piece in entries}
    pairs: dict[tuple[str, int], tuple[str, int]] = {}
    for here, piece in by_place.items():
        older = _named(piece.supersedes, entries, here)
        if older is not None:
            pairs.setdefault(here, older)
    for here, piece in by_place.items():
        newer = _named(piece.superseded_by, entries, here)
        if newer is not None:
            pairs.setdefault(newer, here)
    changed: dict[tuple[str, int], Piece] = {}
    for newer, older in pairs.items():
        if _leads_back(pairs, newer):
            continue  # two that replace each other: neither is believed
        old, new = changed.get(older, by_place[older]), changed.get(newer, by_place[newer])
        if old.outlived or not (new.accepted or old.withheld):
            continue
        changed[newer] = replace(new, replaces=older)
        changed[older] = replace(old, outlived=True, accepted=True)
    return changed


def _leads_back(pairs: dict[tuple[str, int], tuple[str, int]], start: tuple[str, int]) -> bool:
    seen = {start}
    place = pairs.get(start)
    while place is not None and place not in seen:
        seen.add(place)
        place = pairs.get(place)
    return place is not None


def _named(
    reference: str | None, entries: Sequence[tuple[str, Piece]], here: tuple[str, int]
) -> tuple[str, int] | None:
    """The one other entry that a reference names: by number, by file, by time, or by title."""
    words = (reference or "").strip()[:MOST_REFERENCE]
    if words.casefold() in _NOBODY:
        return None
    others = [(path, piece) for path, piece in entries if (path, piece.first) != here]
    numbers = {found.lstrip("0") for found in _NUMBER.findall(words)}
    date = date_in(words)
    slug = slug_from(title_of(words).text)
    ways = (
        lambda path, piece: path.rpartition("/")[2].removesuffix(".md") in words and path != here[0],
        lambda path, piece: piece.number is not None and piece.number.lstrip("0") in numbers,
        lambda path, piece: date is not None and piece.date == rfc_3339(date) and "T" in date,
        lambda path, piece: slug_from(piece.title) == slug,
    )
    for fits in ways:
        found = [(path, piece.first) for path, piece in others if fits(path, piece)]
        if len(found) == 1:
            return found[0]
    return None
