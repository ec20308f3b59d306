"""Lines that say something about an entry: `**By:** Ripley`, `- **Fecha**: 2026-02-14`, `Author: …`.

People and agents write them bold, with the colon inside or outside, as list items, several on a line, and in
their own language. One table says which names mean what.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache

from minutebook.files.document import MOST_LINE
from minutebook.model.text import one_line


class Means(StrEnum):
    """What the value of a field is."""

    AUTHOR = "author"
    #: who answers for it, where nobody is named as the author
    KEEPER = "keeper"
    DATE = "date"
    WHAT = "what"
    WHY = "why"
    TYPE = "type"
    STATUS = "status"
    TAGS = "tags"
    #: kept under its name
    OTHER = "other"


_TABLE = {
    Means.AUTHOR: "by author authors autor autora autores auteur autore verfasser agent agente decided-by "
    "decidido-por decision-maker decision-makers decider deciders written-by proposed-by propuesto-por "
    "submitted-by recorded-by por par von",
    Means.KEEPER: "owner owners reviewer reviewers revisor revisora responsable",
    Means.DATE: "date fecha datum data created created-at timestamp when decided-on decided-at decided "
    "date-decided fecha-de-decision fecha-entrada",
    Means.WHAT: "what decision details que qué decisión detalles was quoi",
    Means.WHY: "why rationale reason razón razon motivo justificación por-qué warum pourquoi raison",
    Means.TYPE: "type tipo kind typ class",
    Means.STATUS: "status estado state statut stand veredicto verdict",
    Means.TAGS: "tags etiquetas labels",
    Means.OTHER: "scope alcance supersedes superseded-by expires related references source requested-by "
    "solicitado-por issue issues pr prs branch roadmap importance confidence id slug impact session",
}


@lru_cache(maxsize=2_048)
def folded(name: str) -> str:
    """A field's name without case, accents and odd spacing, joined by hyphens."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(char for char in plain if unicodedata.category(char) != "Mn")
    return "-".join(letters.replace("_", " ").split())


MEANS = {folded(name): means for means, names in _TABLE.items() for name in names.split()}
#: Names that are common words: without bold type they begin sentences.
_ONLY_BOLD = {
    "was",
    "par",
    "von",
    "por",
    "que",
    "data",
    "when",
    "decided",
    "class",
    "state",
    "agent",
    "what",
    "why",
}

_BULLET = re.compile(r"\s{0,8}(?:>\s?)?(?:[-*+]\s+)?")
_BOLD = re.compile(r"(?:\*\*|__)([^*_:\n]{1,40}?)\s*(?::\s*(?:\*\*|__)|(?:\*\*|__)\s*:)")
_PLAIN = re.compile(r"([A-Za-zÀ-ÿ][A-Za-zÀ-ÿ _-]{1,24}?)\s*:\s+(\S.*)$")


def fields_in(line: str, *, plain: bool = False) -> list[tuple[str, str]]:
    """The fields of a line as folded names and values; none where the line does not begin with one.

    With `plain`, a line without bold type counts too, if its name is one of the table.
    """
    if len(line) > MOST_LINE * 4:
        return []
    start = _BULLET.match(line)
    at = start.end() if start else 0
    if line.startswith(("**", "__"), at):
        marks = list(_BOLD.finditer(line, at))
        if marks and marks[0].start() == at:
            ends = [mark.start() for mark in marks[1:]] + [len(line)]
            return [
                (folded(mark[1]), _value(line[mark.end() : end], last=end == len(line)))
                for mark, end in zip(marks, ends, strict=True)
            ]
    elif plain and (match := _PLAIN.match(line, at)):
        name = folded(match[1])
        if name in MEANS and name not in _ONLY_BOLD:
            return [(name, match[2].strip())]
    return []


def _value(text: str, *, last: bool) -> str:
    text = text.strip()
    # Between two fields of a line stands a sign that belongs to neither.
    return text if last else text.rstrip("|·•,;—–").rstrip()


_MARKS = re.compile(r"[*_`]+")
_ASIDE = re.compile(r"\s*[(\[<{][^()\[\]<>{}]{0,200}[)\]>}]\s*")
#: What follows is a role, an occasion, or the one for whom they acted.
_AFTER = re.compile(r"\s[—–|·-]\s|:\s|(?<=[a-z]{3})\.\s|→|\son behalf of\s|\svia\s|\sen nombre de\s")
_BETWEEN = re.compile(r"\s*(?:,|;|\+|&|/|\band\b|\by\b|\bund\b|\bet\b)\s*")
_NOBODY = {"", "-", "—", "n/a", "na", "none", "unknown", "tbd", "?", "desconocido"}
MOST_AUTHORS = 12


def authors_in(value: str) -> tuple[str, ...]:
    """The names in an author's field, without roles and asides; none where it names nobody."""
    text = _ASIDE.sub(" ", one_line(value[:400]).replace("\\", ""))
    text = _AFTER.split(_MARKS.sub("", text))[0]
    names = [" ".join(name.split()).strip(" .,:;") for name in _BETWEEN.split(text)]
    return tuple(dict.fromkeys(name for name in names if _is_name(name)))[:MOST_AUTHORS]


def _is_name(name: str) -> bool:
    return (
        name.casefold() not in _NOBODY
        and len(name) <= 60
        and len(name.split()) <= 5
        and any(char.isalpha() for char in name)
        and not any(char in '{}<>=|"' for char in name)
    )
