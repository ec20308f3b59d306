"""Searchable text: one derived row for each memory and proposal, which holds the terms that it is found by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.ledger import spellings
from minutebook.ledger.database import Row, Tx

#: Places that each project has for its texts.
_PLACES = 1 << 28


@dataclass(frozen=True, slots=True)
class Range:
    """Where the texts of one project lie."""

    low: int
    high: int


def put(tx: Tx, *, ref: str, kind: str, project: str, line: str) -> None:
    """Have something found by the terms of a line. In another project than before it must be removed first."""
    place = _own_range(tx, project)
    tx.put(
        f"""INSERT INTO texts (doc, ref, kind, project_id, terms)
            VALUES ({tx.dialect.next_doc}, :ref, :kind, :project, :line)
            ON CONFLICT (ref) DO UPDATE SET terms = excluded.terms WHERE texts.terms <> excluded.terms""",
        ref=ref,
        kind=kind,
        project=project,
        line=line,
        **_params(tx, place),
    )
    spellings.learn(tx, line)


def move(tx: Tx, ref: str, project: str) -> None:
    """Take a text away that lies with another project, to be put with its own."""
    tx.run("DELETE FROM texts WHERE ref = :ref AND project_id <> :project", ref=ref, project=project)


def erase(tx: Tx, ref: str) -> None:
    """Take a text away, and every word that no other text holds."""
    row = tx.one("SELECT terms FROM texts WHERE ref = :ref", ref=ref)
    if row is None:
        return
    tx.run("DELETE FROM texts WHERE ref = :ref", ref=ref)
    spellings.forget(tx, [term for term in spellings.words_of(row["terms"]) if not _held(tx, term)])


def _held(tx: Tx, term: str) -> bool:
    return bool(holding(tx, [[term]], None, 1)[0])


def unread(tx: Tx) -> bool:
    """Whether this ledger has memories from before texts were kept by their terms."""
    return tx.one("SELECT id FROM maintenance WHERE id = 'texts'") is not None


def read(tx: Tx) -> None:
    tx.run("DELETE FROM maintenance WHERE id = 'texts'")


# --- where texts lie -------------------------------------------------------------------------------------------


def _own_range(tx: Tx, project: str) -> Range:
    """The range of a project, which gets one when its first text comes."""

    def look_up() -> Range:
        found = range_of(tx, project)
        if found is None:
            tx.run(
                "INSERT INTO text_ranges (project_id) VALUES (:project) ON CONFLICT DO NOTHING",
                project=project,
            )
            found = range_of(tx, project)
        assert found is not None
        return found

    return tx.remember(("texts", project), look_up)


def range_of(tx: Tx, project: str) -> Range | None:
    """Where the texts of a project lie; None where it has none."""
    row = tx.one("SELECT number FROM text_ranges WHERE project_id = :project", project=project)
    if row is None:
        return None
    low = row["number"] * _PLACES
    return Range(low, low + _PLACES - 1)


def count(tx: Tx, ranges: Sequence[Range] | None) -> int:
    """About how many texts there are in these ranges, or in all of them."""
    given = ranges if ranges is not None else _all_ranges(tx)
    rows = [tx.one(tx.dialect.count_texts, low=one.low, high=one.high) for one in given]
    return sum(row["n"] for row in rows if row is not None)


def _all_ranges(tx: Tx) -> list[Range]:
    rows = tx.all("SELECT number FROM text_ranges")
    return [Range(row["number"] * _PLACES, (row["number"] + 1) * _PLACES - 1) for row in rows]


def _params(tx: Tx, place: Range) -> dict[str, int]:
    """What the place of the next text is told by; not every database asks for both."""
    return {name: getattr(place, name) for name in ("low", "high") if f":{name}" in tx.dialect.next_doc}


# --- finding ---------------------------------------------------------------------------------------------------


def holding(
    tx: Tx, wanted: Sequence[Sequence[str]], ranges: Sequence[Range] | None, most: int
) -> list[list[int]]:
    """For each group of terms, the newest places, at most `most` of a range, of texts that hold all of it."""
    found: list[list[int]] = [[] for _ in wanted]
    for one in ranges if ranges is not None else (None,):
        branches, params = [], {}
        for index, group in enumerate(wanted):
            branches.append(tx.dialect.texts_query(index, one is not None))
            params[f"t{index}"] = tx.dialect.texts_match(group)
            if one is not None:
                params |= {f"low{index}": one.low, f"high{index}": one.high}
        for row in tx.all(" UNION ALL ".join(branches), most=most, **params):
            if row["docs"]:
                found[row["term"]] += map(int, row["docs"].split(","))
    return found


def held_by(tx: Tx, term: str) -> int:
    """How many texts of the whole ledger hold a term."""
    row = tx.one(tx.dialect.count_holding, term=tx.dialect.texts_match([term]))
    return row["n"] if row else 0


def line_of(tx: Tx, ref: str) -> str | None:
    """The terms by which something is found; None where it has no text."""
    row = tx.one("SELECT terms FROM texts WHERE ref = :ref", ref=ref)
    return None if row is None else row["terms"]


def places_of(tx: Tx, refs: Sequence[str]) -> list[Row]:
    """Where the texts of these lie (doc, ref)."""
    if not refs:
        return []
    names = {f"r{index}": ref for index, ref in enumerate(refs)}
    return tx.all(
        f"SELECT doc, ref FROM texts WHERE ref IN ({', '.join(':' + name for name in names)})", **names
    )
