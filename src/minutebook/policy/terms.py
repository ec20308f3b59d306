"""What a text is found by: its words, folded and stemmed, the parts of its identifiers, and its dates.

One analysis serves the index, the query, the snippet and the explanation, on both databases. The index holds the
terms of a text as one line, the title's before a bar; how often a term is in it can be counted without an engine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from minutebook.model.memories import Memory, Type
from minutebook.model.text import PerWord, words
from minutebook.policy.relevance import STOP_WORDS
from minutebook.policy.stemming import stem

#: A term is cut here on both sides of a comparison; so long a word is a blob.
TERM_CHARS = 48
#: Stands between the terms of the title and those of the text.
BAR = "|"

#: Words that are in every text. Single letters and digits are looked for (`plan b`), but for what an apostrophe
#: leaves behind.
COMMON = frozenset(word for word in STOP_WORDS if len(word) > 1) | frozenset(
    ["a", "i", "s", "t", "d", "m", "re", "ve", "ll"]
)

# Identifiers: humps of letters (`maxBodySize`), and words joined by underscores (`max_body_size`).
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_MONTHS = {
    name: f"{number:02}"
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), start=1
    )
    for name in names.split()
}  # fmt: skip
_NAMES = "|".join(_MONTHS)
# `8 May 2023`, `May 8, 2023`, `8th of May`, `May 2023`; over folded words.
_WRITTEN_DATE = re.compile(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? )?\b(?P<month>{_NAMES})\b"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?(?: (?P<year>\d{4})\b)?"
)
#: What no term may hold, because an index would part it there; a space parts them anyway.
_UNFIT = re.compile(r"[^0-9a-z.+#%<>=!~^$_\- \u0080-\U0010ffff]")
#: A term of these alone (`->`, `>=`) says nothing.
_SIGNS = frozenset("".join(sign for sign in map(chr, range(33, 127)) if not sign.isalnum()))
#: From here on there are scripts that put no space between words.
_UNSPACED = "\u0e00"


def terms(text: str) -> list[str]:
    """The terms of a text in their order, then the parts of its identifiers and its dates.

    Common words are left out: they are no reason to find anything, and a third of every text.
    """
    said = words(text)
    found = [term for term in map(_TERMS.__getitem__, said) if term]
    more: list[str] = []
    if not text.isascii():
        # Where no space parts the words they are pairs of characters; one alone must be found too.
        more += dict.fromkeys([char for word in said if len(word) == 2 for char in word if char >= _UNSPACED])
    more += _identifiers(text)
    more += _dates(text, said)
    if more:
        found += [term for term in map(_fit, more) if term]
    return found


def _term(word: str) -> str:
    """The term of a word; empty where nothing is found by it."""
    return "" if word in COMMON else _fit(stem(word))


def _fit(term: str) -> str:
    """A term as an index can hold it; empty where that says nothing."""
    term = _UNFIT.sub("", term)
    return "" if _SIGNS.issuperset(term) else term[:TERM_CHARS]


_TERMS = PerWord(_term)


@lru_cache(maxsize=4_096)
def _parts(identifier: str) -> tuple[str, ...]:
    """An identifier as one word, so that both ways to write it meet, and the words that it is made of."""
    pieces = [piece.lower() for piece in _HUMPS.findall(identifier)]
    # The folding has parted words at underscores, and left humps together: each gets what it lacks.
    if "_" in identifier:
        return (stem("".join(pieces)),)
    return tuple([stem(piece) for piece in pieces if piece not in COMMON])


def _identifiers(text: str) -> list[str]:
    if text.islower() and "_" not in text:
        return []
    found: list[str] = []
    seen = _HUMP.search(text)
    while seen is not None:
        # From the beginning of the word that the hump is in: it is looked for by its rarest place.
        start = seen.start()
        while start and (text[start - 1] == "_" or (text[start - 1].isalnum() and text[start - 1].isascii())):
            start -= 1
        name = _NAME.match(text, start)
        assert name is not None
        found += _parts(name[0])
        seen = _HUMP.search(text, name.end())
    return found


def _dates(text: str, said: Sequence[str]) -> list[str]:
    """Every date that the text names, as `20230508` and its month as `202305`, however it was written."""
    found: list[str] = []
    if "-" in text:
        for year, month, day in _ISO_DATE.findall(text):
            found += [year + month + day, year + month]
    if not _MONTHS.keys().isdisjoint(said):
        for date in _WRITTEN_DATE.finditer(" ".join(said)):
            month, day = _MONTHS[date["month"]], date["before"] or date["after"]
            if date["year"]:
                found.append(date["year"] + month)
                if day:
                    found.append(f"{date['year']}{month}{int(day):02}")
            elif day:
                found.append(f"{month}{int(day):02}")
    return found


def day_terms(at: str) -> list[str]:
    """The terms of a day: the date, its month, and the month and day by themselves."""
    year, month, day = at[:4], at[5:7], at[8:10]
    return [year + month + day, year + month, month + day, year]


def line_of(title: list[str], body: list[str]) -> str:
    """The terms of a text as the index holds them."""
    return f" {' '.join(title)} {BAR} {' '.join(body)} "


def memory_line(memory: Memory) -> str:
    """What a memory is found by: its title, name and tags; its text, reasons and summary; its slot and its day.

    An episode is also found by who said it and by when: questions about the past name people and days.
    """
    title = terms(memory.title)
    named = set(title)
    title += [term for term in terms(memory.slug.replace("-", " ")) if term not in named]
    for tag in memory.tags:
        title += terms(tag)
    body = terms(memory.content)
    for more in (memory.rationale, memory.summary, memory.entity, memory.attribute):
        if more:
            body += terms(more)
    if memory.type is Type.EPISODE:
        body += terms(memory.scope.agent or memory.author)
    if memory.observed_at is not None:
        body += day_terms(memory.observed_at)
    return line_of(title, body)


def proposal_line(title: str, content: str, rationale: str | None) -> str:
    """What a proposal is found by."""
    return line_of(terms(title), terms(content) + (terms(rationale) if rationale else []))
