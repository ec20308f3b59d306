"""Shelves: by which layer and which words a compiled context finds a memory. Derived, and written with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.ledger.database import Row, Tx
from minutebook.model.memories import Memory
from minutebook.policy.shelving import shelf_of

#: A place on the shelves is the number of the write that created the memory, with room for several.
_ROOM = 256


def put(tx: Tx, memory: Memory) -> None:
    """Put a memory where it is found; what does not stand any more is taken away."""
    shelf = shelf_of(memory)
    if shelf is None:
        tx.put("DELETE FROM shelves WHERE ref = :ref", ref=memory.id)
        return
    tx.put(
        """INSERT INTO shelves (doc, ref, project_id, reader, layer, words)
           SELECT COALESCE((SELECT max(s.doc) + 1 FROM shelves s
                             WHERE s.doc >= m.created_seq * :room AND s.doc < (m.created_seq + 1) * :room),
                           m.created_seq * :room),
                  m.id, :project, :reader, :layer, :words
             FROM memories m WHERE m.id = :ref
           ON CONFLICT (ref) DO UPDATE SET project_id = excluded.project_id, reader = excluded.reader,
                                           layer = excluded.layer, words = excluded.words""",
        ref=memory.id,
        room=_ROOM,
        project=shelf.project,
        reader=shelf.reader,
        layer=shelf.layer,
        words=shelf.words,
    )


def unfilled(tx: Tx) -> bool:
    """Whether this ledger has memories from before there were shelves."""
    return tx.one("SELECT id FROM maintenance WHERE id = 'shelves'") is not None


def filled(tx: Tx) -> None:
    tx.run("DELETE FROM maintenance WHERE id = 'shelves'")


def place_of(created_seq: int) -> int:
    """The first place that a memory created by that write may have."""
    return created_seq * _ROOM


#: Behind a shelf `s`: only what is unchanged since.
_UNCHANGED = " AND (SELECT m.seq FROM memories m WHERE m.id = s.ref) <= :seq"
#: … and what was created since is not even looked at: there may be very much of it.
_BEFORE = " AND s.doc < :before"


def _then(seq: int) -> dict[str, int]:
    """What the two clauses above ask for."""
    return {"seq": seq, "before": place_of(seq + 1)}


#: Behind a shelf `s`: only what stands for the whole project, which is all that others may ever read of it.
OF_PROJECT = " AND (SELECT m.scope FROM memories m WHERE m.id = s.ref) = 'project'"


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many of one layer, from one end of the order of creation."""

    layer: str
    newest: bool
    limit: int


def of_layers(
    tx: Tx, wanted: Sequence[Wanted], readers: Sequence[tuple[str, str]], *, seq: int, fresh: bool
) -> list[Row]:
    """Places (layer, doc) of what any of the readers, given as project and reader, finds in these layers.

    From each shelf as many as are wanted of all of them: whoever asks takes the first of these.
    """
    clause, params = ("", {}) if fresh else (_BEFORE + _UNCHANGED, _then(seq))
    for index, (project, reader) in enumerate(readers):
        params |= {f"p{index}": project, f"r{index}": reader}
    branches = []
    for number, one in enumerate(wanted):
        params |= {f"l{number}": one.layer, f"n{number}": one.limit}
        branches += [
            f"""SELECT {number} AS layer, doc FROM (
                    SELECT s.doc FROM shelves s
                     WHERE s.project_id = :p{index} AND s.reader = :r{index} AND s.layer = :l{number}{clause}
                     ORDER BY s.doc {"DESC" if one.newest else "ASC"} LIMIT :n{number}) AS b{number}_{index}"""
            for index in range(len(readers))
        ]
    return tx.all(" UNION ALL ".join(branches), **params)


def holding(
    tx: Tx, words: Sequence[Sequence[str]], *, seq: int, fresh: bool, limit: int, clause: str = ""
) -> list[Row]:
    """For each word, given by its checksums, the newest places (word, doc) that hold it and are unchanged since.

    `fresh` says that nothing changed since `seq`, so that nobody needs to look. `clause` narrows the shelf `s`.
    """
    clause += "" if fresh else _UNCHANGED
    branches = [
        tx.dialect.words_query(index, clause or None, before=not fresh) for index in range(len(words))
    ]
    params = {f"w{index}": tx.dialect.words_match(sums) for index, sums in enumerate(words)}
    given = {} if fresh else _then(seq)
    return tx.all(" UNION ALL ".join(branches), limit=limit, **params, **given)


def at(tx: Tx, places: Sequence[int]) -> list[Row]:
    """The memories at these places, each with its place and words."""
    if not places:
        return []
    names = {f"d{index}": place for index, place in enumerate(places)}
    return tx.all(
        f"""SELECT m.*, s.doc, s.words FROM shelves s JOIN memories m ON m.id = s.ref
             WHERE s.doc IN ({", ".join(":" + name for name in names)})""",
        **names,
    )


def of_refs(tx: Tx, refs: Sequence[str], *, seq: int, fresh: bool) -> list[Row]:
    """Places (doc, words) of those of these memories that stand for a whole project and are unchanged since."""
    if not refs:
        return []
    names = {f"i{index}": ref for index, ref in enumerate(refs)}
    given = {} if fresh else {"seq": seq}
    return tx.all(
        f"""SELECT s.doc, s.words FROM shelves s
             WHERE s.ref IN ({", ".join(":" + name for name in names)}){OF_PROJECT}{"" if fresh else _UNCHANGED}""",
        **names,
        **given,
    )
