"""Promotion rules: data that says which proposals are well founded enough to be suggested for promotion. Pure.

A rule is a line of text: types, then what such a proposal must have. `learning pattern: confidence>=0.8 evidence>=1`.
No rule speaks of what governs, or of what is said about a person: these take a person's word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Proposal
from minutebook.model.memories import GOVERNING, Type
from minutebook.model.times import moment_of

#: Types that no rule promotes.
_BY_A_PERSON = frozenset({*GOVERNING, Type.PROFILE, Type.FEEDBACK, Type.CORE_CONTEXT})
_NEED = re.compile(r"(confidence|evidence|similar|days)>=(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class PromotionRule:
    """What a proposal of some types must have."""

    types: frozenset[Type]
    needs: tuple[tuple[str, float], ...]
    text: str


def parse_rules(text: str) -> tuple[PromotionRule, ...]:
    """Rules from their text, one after the other, by semicolons; empty text is no rule."""
    return tuple(_rule(part.strip()) for part in text.split(";") if part.strip())


def _rule(text: str) -> PromotionRule:
    names, colon, needs = text.partition(":")
    try:
        types = frozenset(Type(name) for name in names.replace(",", " ").split())
    except ValueError as error:
        raise _wrong(text, "it names a type that there is not") from error
    if not colon or not types:
        raise _wrong(text, "it takes the form TYPES: confidence>=0.8 evidence>=1")
    if types & _BY_A_PERSON:
        forbidden = ", ".join(sorted(types & _BY_A_PERSON))
        raise _wrong(text, f"{forbidden} takes a person's word, and no rule gives it")
    found = [_NEED.fullmatch(word) for word in needs.split()]
    if not found or not all(found):
        raise _wrong(text, "it knows confidence, evidence, similar and days, each with >= and a number")
    return PromotionRule(types, tuple((each[1], float(each[2])) for each in found if each), text)


def _wrong(text: str, why: str) -> MinutebookError:
    return MinutebookError("bad_setting", f"A promotion rule cannot be read: {text[:80]!r}: {why}.")


def rule_for(proposal: Proposal, rules: tuple[PromotionRule, ...], now: str) -> PromotionRule | None:
    """The first rule that finds a proposal well founded. What is flagged or disagrees with what stands, none does."""
    if proposal.would.contradicts or proposal.would.flags or proposal.type in _BY_A_PERSON:
        return None
    age = (moment_of(now) - moment_of(proposal.created_at)).total_seconds() / 86_400
    has = {
        "confidence": proposal.confidence or 0.0,
        "evidence": float(len(proposal.evidence)),
        "similar": float(len(proposal.would.similar)),
        "days": age,
    }
    for rule in rules:
        if proposal.type in rule.types and all(has[name] >= least for name, least in rule.needs):
            return rule
    return None
