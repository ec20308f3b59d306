"""From a source to what is worth proposing: every finding with its lines, its words and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from minutebook.model.memories import Type
from minutebook.model.text import fold_claim
from minutebook.policy.extraction import blocks, transcripts
from minutebook.policy.extraction.prose import Sentence, is_ours, sentences
from minutebook.policy.extraction.rules import found_in, slot_of
from minutebook.policy.extraction.turns import Form, Speaker, Turn
from minutebook.policy.extraction.worth import Phrase, Worth

#: A turn of so few sentences is kept whole: a correction is understood by what stands beside it.
_SHORT_TURN = 3
_WHOLE = frozenset({Worth.CORRECTION, Worth.HINT, Worth.PREFERENCE})
#: Lines, turns and sentences that are gone through between two looks up: about 2 ms.
_STEPS = 96
#: Sections of a document whose bullets are what the heading says.
_SECTIONS = (
    (
        re.compile(r"\b(?:key )?decisions?\b(?! (?:log|process|makers?|needed|pending|open))", re.I),
        Type.TECHNICAL,
    ),
    (re.compile(r"\b(?:learnings?|lessons(?: learned)?|gotchas|takeaways)\b", re.I), Type.LEARNING),
    (
        re.compile(
            r"^(?:(?:house|team|project|coding|working) )?(?:rules|conventions|guidelines|policies)\b", re.I
        ),
        Type.PROCESS,
    ),
    (re.compile(r"^(?:(?:my|user|personal|working) )?preferences\b", re.I), Type.PROFILE),
)
_SECTION_WORDS = 4
#: A bullet that is a link and nothing else.
_LINK = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)\W*")
#: What counts only where somebody says it to somebody.
_SPOKEN = frozenset({"hint.if_then", "hint.whenever", "hint.way", "hint.to_reproduce"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth proposing, and where it stands."""

    type: Type
    content: str
    #: lines of the source, counted from 1
    first: int
    last: int
    confidence: float
    #: which rule found it
    rule: str
    title: str | None = None
    rationale: str | None = None
    entity: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    #: when it was said, where the source tells
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a source gave."""

    form: Form
    turns: int
    findings: tuple[Finding, ...]


def extract(text: str, *, look: Callable[[], None] = lambda: None) -> Extraction:
    """Everything worth proposing in a source, in its order, each thing once.

    `look` is called every few milliseconds: a long one may be told to stop, and gives way to others.
    """
    if is_ours(text):
        return Extraction(Form.TEXT, 0, ())
    step = _steps(look)
    form, turns = transcripts.read(text, step)
    kept: dict[tuple[Type, str], Finding] = {}
    for turn in turns:
        step()
        if turn.speaker is Speaker.TOOL:
            continue
        for finding in _findings(turn, step, talk=form is not Form.TEXT):
            kept.setdefault((finding.type, fold_claim(finding.content)), finding)
    return Extraction(form, len(turns), tuple(kept.values()))


def _steps(look: Callable[[], None]) -> Callable[[], None]:
    """What is called for each line, turn and sentence, and looks up at every so manieth."""
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1
        if taken % _STEPS == 0:
            look()

    return step


def _findings(turn: Turn, step: Callable[[], None], *, talk: bool) -> Iterator[Finding]:
    """Blocks that were written to be kept, then sentences, of what stands outside of them.

    Nobody is put right in a document: there `this, not that` is how one writes, and `if so, do that` is a manual.
    """
    found, rest = blocks.read(turn) if turn.speaker is Speaker.PERSON or "###" in turn.text else ([], turn)
    for block in found:
        yield Finding(
            type=block.type,
            content=block.content,
            first=block.first,
            last=block.last,
            confidence=block.confidence,
            rule=block.rule,
            title=block.title,
            rationale=block.rationale,
            tags=block.tags,
            at=block.at or turn.at,
        )
    said: list[Sentence] = []
    for sentence in sentences(rest):
        step()
        said.append(sentence)
    spoken: set[str] = set()
    for sentence in said:
        step()
        finding = _of_section(sentence) or _of_phrase(sentence, turn, said)
        if finding is not None and not talk and (finding.type is Type.FEEDBACK or finding.rule in _SPOKEN):
            continue
        if finding is not None and finding.content not in spoken:
            spoken.add(finding.content)
            yield replace(finding, at=turn.at)


def _of_section(sentence: Sentence) -> Finding | None:
    """A bullet under a heading that says what it is."""
    if (
        not sentence.bullet
        or not sentence.heading
        or sentence.words < _SECTION_WORDS
        or sentence.text.endswith("?")
        or _LINK.fullmatch(sentence.text) is not None
    ):
        return None
    for heading, type in _SECTIONS:
        if heading.search(sentence.heading):
            entity, attribute = slot_of(sentence.text) or (None, None)
            return Finding(
                type,
                sentence.text,
                sentence.first,
                sentence.last,
                0.75,
                "section",
                entity=entity,
                attribute=attribute,
            )
    return None


def _of_phrase(sentence: Sentence, turn: Turn, said: list[Sentence]) -> Finding | None:
    phrase = found_in(sentence.text, turn.speaker)
    if phrase is None:
        return None
    whole = phrase.worth in _WHOLE and len(said) <= _SHORT_TURN and not sentence.bullet
    content = " ".join(one.text for one in said) if whole else sentence.text
    first, last = (said[0].first, said[-1].last) if whole else (sentence.first, sentence.last)
    entity, attribute = slot_of(sentence.text) or (None, None)
    return Finding(
        type=_type(phrase),
        content=content,
        first=first,
        last=last,
        # What an agent says of a decision is a report of it.
        confidence=phrase.confidence - (0.1 if turn.speaker is Speaker.AGENT else 0),
        rule=phrase.name,
        entity=entity,
        attribute=attribute,
    )


def _type(phrase: Phrase) -> Type:
    return Type.SCOPE if phrase.name == "decision.scope" else phrase.worth.type
