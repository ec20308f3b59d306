"""Every word that any text holds, by its letters: derived, and written with the text that first holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minutebook.ledger.database import Tx
from minutebook.policy.spelling import comparable, grams

#: Words that share most letters with one: so many are looked at more closely.
_LOOKED_AT = 60
#: Words that a connection knows without looking.
_REMEMBERED = 50_000
#: Rows of one statement.
_AT_ONCE = 400


def words_of(line: str) -> list[str]:
    """The distinct terms of a line that somebody could misspell."""
    return [term for term in dict.fromkeys(line.split()) if comparable(term)]


def learn(tx: Tx, line: str) -> None:
    """Know the words of a line from now on."""
    known = _lasting(tx)
    new = set(line.split()).difference(known)
    if not new:
        return
    # What this transaction knows already: the writes that share it say much the same words.
    here: set[str] = tx.remember(("spellings", ""), set)
    new -= here
    here |= new
    words = [word for word in new if comparable(word)]
    for word in sorted(set(words).difference(_known(tx, words))):
        _add(tx, word)

    def committed() -> None:
        if len(known) > _REMEMBERED:
            known.clear()
        known.update(new)

    tx.after_commit(committed)


def _lasting(tx: Tx) -> set[str]:
    """Words that this connection need not look up: they were committed, or need no spelling."""
    return tx.lasting.setdefault("spellings", set())


def _known(tx: Tx, words: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(words), _AT_ONCE):
        names = {f"w{index}": word for index, word in enumerate(words[start : start + _AT_ONCE])}
        listed = ", ".join(f":{name}" for name in names)
        rows = tx.all(f"SELECT term FROM spellings WHERE gram = '' AND term IN ({listed})", **names)
        found.update(row["term"] for row in rows)
    return found


def _add(tx: Tx, word: str) -> None:
    names = {f"g{index}": gram for index, gram in enumerate(("", *grams(word)))}
    values = ", ".join(f"(:{name}, :word)" for name in names)
    tx.put(f"INSERT INTO spellings (gram, term) VALUES {values} ON CONFLICT DO NOTHING", word=word, **names)


def forget(tx: Tx, words: Iterable[str]) -> None:
    """Know these words no more."""
    for word in words:
        _lasting(tx).discard(word)
        names = {f"g{index}": gram for index, gram in enumerate(("", *grams(word)))}
        listed = ", ".join(f":{name}" for name in names)
        tx.run(f"DELETE FROM spellings WHERE term = :word AND gram IN ({listed})", word=word, **names)
    tx.forget()


def clear(tx: Tx) -> None:
    tx.run("DELETE FROM spellings")
    _lasting(tx).clear()
    tx.forget()


def near(tx: Tx, word: str) -> list[str]:
    """Words of the ledger that share most letters with one, by threes."""
    names = {f"g{index}": gram for index, gram in enumerate(grams(word))}
    listed = ", ".join(f":{name}" for name in names)
    rows = tx.all(
        f"""SELECT term, count(*) AS n FROM spellings WHERE gram IN ({listed})
             GROUP BY term ORDER BY n DESC, term LIMIT :most""",
        most=_LOOKED_AT,
        **names,
    )
    return [row["term"] for row in rows]
