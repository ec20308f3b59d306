"""What a heading says: a date, a title, a kind; and whether it names an entry or only a part of one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from minutebook.files.dates import find_date
from minutebook.files.document import Heading
from minutebook.files.fields import folded
from minutebook.model.memories import Type

#: Parts of an entry, in the languages we met: they never begin one.
_SECTION_NAMES = """
    context|background|decision|decisions|decision made|decisions made|decisions taken|rationale|reasoning|why|what
    |how|who|when|where|summary|executive summary|overview|status|impact|consequences|implications|alternatives
    |alternatives considered|options|options considered|implementation|implementation details|implementation notes
    |details|notes|next steps|follow-up|action items|actions|problem|problem statement|solution|proposal|approach
    |design|architecture|pattern|patterns|example|examples|usage|testing|tests|test plan|validation|verification
    |results|outcome|outcomes|findings|key findings|recommendation|recommendations|conclusion|conclusions|risks
    |risk|risks and mitigations|open questions|questions|references|related|related docs|related decisions|links
    |files|files changed|files modified|files touched|changes|changes made|scope|out of scope|in scope|non-goals
    |goals|goal|requirements|constraints|assumptions|trade-offs|tradeoffs|pros|cons|benefits|metrics
    |success metrics|timeline|plan|phases|migration|rollback|security|performance|limitations|lessons learned
    |root cause|root causes|root cause analysis|fix|fixes|verdict|review|key decisions|technical details|location
    |contexto|decisión|decisiones|decisiones tomadas|razón|razones|justificación|resumen|impacto|consecuencias
    |alternativas|opciones|implementación|detalles|notas|próximos pasos|problema|solución|propuesta|enfoque|diseño
    |arquitectura|ejemplo|ejemplos|pruebas|validación|resultados|hallazgos|recomendación|recomendaciones|conclusión
    |riesgos|preguntas abiertas|referencias|archivos|archivos modificados|cambios|cambios implementados|alcance
    |objetivos|requisitos|limitaciones|causa raíz|estado
"""
SECTIONS = frozenset(folded(name) for name in _SECTION_NAMES.split("|"))
#: Headings that hold entries: they end the entry above them and begin none.
_HOLDERS = re.compile(
    r"(?:squad |team |project |shared )?(?:active |archived |merged |recent |older |foundational |open |user )"
    r"(?:session |team )?(?:decisions?|directives|entries)|(?:squad|team|project) decisions?|decisions? (?:log|ledger|archive)"
    r"|directives|governance|archive"
)
#: As the title of a file they hold entries; further down they are parts of one.
_HOLDERS_ON_TOP = re.compile(
    r"(?:[\w-]+ )?(?:decisions?|decisiones)(?: log| archive| ledger)?|registro de decisiones"
)
#: Words before the colon of a heading that say what it is.
_SORTS = {
    "decision": None,
    "decisión": None,
    "decision record": Type.ARCHITECTURAL,
    "user directive": Type.PROCESS,
    "directive": Type.PROCESS,
    "adr": Type.ARCHITECTURAL,
}
_ADR = re.compile(r"(?:adr|rfc)[- ]?\d{1,5}\b", re.IGNORECASE)
#: The end of a span of time, of which the beginning is the date.
_UNTIL = re.compile(
    r"^\s*(?:[–—-]|to\b|through\b)\s*(?:\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?|\d{2}:\d{2}(?::\d{2})?Z?)(?!\w)"
)
_EDGES = " \t:—–-|·.,"
_LEAD = re.compile(r"[\s\W_]*", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Title:
    """A heading taken apart."""

    text: str
    date: str | None
    #: whether the date is what it begins with
    dated_first: bool
    #: the kind that it says it is, and the type that goes with it
    says_entry: bool
    type: Type | None


def title_of(heading: str) -> Title:
    """Take the date and the kind out of a heading, and leave the title."""
    text, date, first = heading, None, False
    found = find_date(heading)
    if found is not None:
        date, start, end = found
        before, after = heading[:start].rstrip(" ([{"), heading[end:].lstrip(" )]}")
        first = not before.strip(_EDGES + "*_`[(📌📅✅🔒")
        if first:
            text = _UNTIL.sub("", after, count=1).strip(_EDGES) or heading
        elif not after.strip(_EDGES + "*_`"):
            text = before.strip(_EDGES) or heading
    says, of_type, text = _kind_of(text)
    return Title(text.strip(), date, first, says, of_type)


def _kind_of(text: str) -> tuple[bool, Type | None, str]:
    lead, colon, rest = text.partition(":")
    word = lead.strip(" *_`✅🔒📌").casefold()
    if colon and rest.strip() and word in _SORTS:
        return True, _SORTS[word], rest.strip()
    if word.startswith("user directive"):
        return (
            True,
            Type.PROCESS,
            re.sub(r"^[^A-Za-z]*user directive\s*[—–:-]*\s*", "", text, flags=re.I) or text,
        )
    if _ADR.match(word):
        return True, Type.ARCHITECTURAL, text
    return False, None, text


def is_section(text: str) -> bool:
    """Whether a heading only names a part of what stands above it: `Context`, `3. Rationale`, `✅ Tests`."""
    lead = _LEAD.match(text)
    name = re.sub(r"^\d{1,2}[.)]\s*", "", text[lead.end() :] if lead else text)
    return folded(name.rstrip(" :.!?*_`")) in SECTIONS


def is_holder(heading: Heading) -> bool:
    """Whether a heading only holds entries, such as `Active Decisions`."""
    plain = re.sub(r"\(.*", "", heading.text[:200]).strip(" :.*_`#").casefold()
    if _HOLDERS.fullmatch(plain):
        return True
    return heading.level == 1 and _HOLDERS_ON_TOP.fullmatch(plain) is not None


#: Words of a title that go with a type, where nothing better is known. English and Spanish.
_WORDS = (
    (Type.PROCESS, re.compile(r"(?i)\b(?:directive|workflow|process|proceso|policy|política|review|release|branch"
                              r"|versioning|commit|merge|governance|ceremony|naming|convention|gate|checklist)")),
    (Type.SCOPE, re.compile(r"(?i)\b(?:scope|alcance|out of scope|non-goals?|mvp|roadmap|backlog|defer)")),
    (Type.ARCHITECTURAL, re.compile(r"(?i)\b(?:architect|arquitect|schema|boundary|monorepo|database|protocol)")),
)  # fmt: skip


def type_by_words(title: str) -> Type:
    """A governing type that a title sounds like; `technical` where it sounds like none."""
    for of_type, words in _WORDS:
        if words.search(title[:300]):
            return of_type
    return Type.TECHNICAL


_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_SIGNS = re.compile(r"\*\*|__|`")
MOST_HEADLINE = 120


def headline(text: str) -> str:
    """A title for a text that has none: its first sentence, cut at a word where it is long."""
    first = _SENTENCE.split(text[:1_000].strip(), maxsplit=1)[0]
    words = " ".join(_SIGNS.sub("", first).lstrip("#>-*+ \t").split()).rstrip(" :—–-")
    if len(words) <= MOST_HEADLINE:
        return words
    return words[:MOST_HEADLINE].rpartition(" ")[0].rstrip(" ,;:—–-") or words[:MOST_HEADLINE]
