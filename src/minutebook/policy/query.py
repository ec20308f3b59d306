"""A query as somebody typed it: the words, what must stand there word for word, and what must not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from minutebook.model.text import words
from minutebook.policy.terms import COMMON, terms

#: Distinct terms of a query that are looked for.
MOST_TERMS = 32
#: Phrases and exclusions of one query.
MOST_PHRASES = 8

# A minus before a word or a phrase leaves out what holds it. Inside a word, or before a number, it is no minus.
_PIECES = re.compile(r'(?P<minus>(?<!\S)-(?=["\w])(?!\d))?(?:"(?P<phrase>[^"]+)"|(?P<word>[^\s"]+))')


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand behind each other: folded as they are said, and the terms by which they are found."""

    said: str
    terms: tuple[str, ...]

    @property
    def plain(self) -> bool:
        """Whether it is one word, which the terms of a text tell by themselves."""
        return " " not in self.said and bool(self.terms)


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for."""

    #: terms, each of which is a reason to come back
    terms: tuple[str, ...]
    #: how each term was said, for whoever explains
    said: dict[str, str]
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    #: it holds words, and all of them are in every text
    only_common: bool = False
    #: terms beyond the limit, which are not looked for
    dropped: int = 0
    #: it says more than its phrases: as a question does that quotes a title
    beside: bool = False

    @property
    def reads_words(self) -> bool:
        """Whether a text must be read word for word to know whether it answers."""
        return bool(self.phrases) or any(not phrase.plain for phrase in self.excluded)

    def loosened(self) -> Query:
        """The same where its phrases are words like others, for when nothing says them word for word."""
        return replace(self, phrases=())


def parse(text: str) -> Query:
    """Read a query. Nothing in it can be wrong: what is no phrase and no exclusion is words."""
    plain: list[str] = []
    beside: list[str] = []
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []
    for piece in _PIECES.finditer(text):
        said = piece["phrase"] or piece["word"] or ""
        if piece["minus"]:
            excluded.append(_phrase(said))
            continue
        if piece["phrase"]:
            phrases.append(_phrase(said))
        else:
            beside.append(said)
        plain.append(said)
    found = list(dict.fromkeys(terms(" ".join(plain))))
    return Query(
        terms=tuple(found[:MOST_TERMS]),
        said=_said(plain),
        phrases=tuple(phrase for phrase in phrases[:MOST_PHRASES] if phrase.said),
        excluded=tuple(phrase for phrase in excluded[:MOST_PHRASES] if phrase.said),
        only_common=not found and not COMMON.isdisjoint(words(" ".join(plain))),
        dropped=max(0, len(found) - MOST_TERMS),
        beside=bool(terms(" ".join(beside))),
    )


def _phrase(text: str) -> Phrase:
    return Phrase(" ".join(words(text)), tuple(dict.fromkeys(terms(text))))


def _said(plain: list[str]) -> dict[str, str]:
    """Each term with the first word that it was made of."""
    said: dict[str, str] = {}
    for piece in plain:
        for word in piece.split():
            for term in terms(word):
                said.setdefault(term, word.strip(".,;:!?()[]{}'\"").lower() or word)
    return said


def keeps_out(query: Query, line: str, folded: str) -> str:
    """Why the words that were typed keep a text out, given by its terms and its folded words; empty if they do not.

    `folded` may be empty where the query `reads_words` not.
    """
    for phrase in query.excluded:
        if f" {phrase.terms[0]} " in line if phrase.plain else f" {phrase.said} " in folded:
            return f"it holds {phrase.said!r}, which was to be left out"
    for phrase in query.phrases:
        if f" {phrase.said} " not in folded:
            return f"it does not say {phrase.said!r} word for word"
    return ""


def folded_of(*texts: str | None) -> str:
    """Texts as `keeps_out` reads them; what ends one does not go on in the next."""
    return " | ".join(f" {' '.join(words(text))} " for text in texts if text)
