"""Candidates: what a caller asks the controller to write. A value, never a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from minutebook.model.evidence import Evidence, EvidenceKind
from minutebook.model.memories import GOVERNING, Importance, Memory, Type
from minutebook.model.scopes import Scope, ScopeKind


@dataclass(frozen=True, slots=True)
class Candidate:
    scope: Scope
    type: Type
    title: str
    content: str
    slug: str
    #: whether the caller chose the slug; one made from the title never means "the same memory as before"
    slug_given: bool
    rationale: str | None = None
    summary: str | None = None
    #: None leaves it as it is, or medium for something new
    importance: Importance | None = None
    confidence: float | None = None
    entity: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    observed_at: str | None = None
    source: str | None = None
    #: the memory that this is meant to update or supersede
    target: str | None = None
    #: memories that it is known to contradict and shall stand beside
    contradicts: tuple[str, ...] = ()
    #: ask for review, whatever the caller may do
    propose: bool = False
    #: change the target where it stands, also if it is a decision
    amends: bool = False

    @property
    def governs(self) -> bool:
        return self.type in GOVERNING

    def material(self) -> dict[str, Any]:
        """All that a replay needs, for the verdict."""
        scope = self.scope
        return {
            "scope": [scope.kind, scope.project, scope.tier, scope.agent, scope.repo, scope.session],
            "type": self.type,
            "slug": self.slug,
            "slug_given": self.slug_given,
            "title": self.title,
            "content": self.content,
            "rationale": self.rationale,
            "summary": self.summary,
            "importance": self.importance,
            "confidence": self.confidence,
            "entity": self.entity,
            "attribute": self.attribute,
            "tags": self.tags,
            "evidence": [[e.kind, e.ref, e.span, e.digest, e.commit] for e in self.evidence],
            "observed_at": self.observed_at,
            "target": self.target,
            "contradicts": self.contradicts,
            "propose": self.propose,
            "amends": self.amends,
        }

    @classmethod
    def from_material(cls, material: dict[str, Any]) -> Candidate:
        kind, *place = material["scope"]
        return cls(
            scope=Scope(ScopeKind(kind), *place),
            type=Type(material["type"]),
            title=material["title"],
            content=material["content"],
            slug=material["slug"],
            slug_given=material["slug_given"],
            rationale=material["rationale"],
            summary=material["summary"],
            importance=None if material["importance"] is None else Importance(material["importance"]),
            confidence=material["confidence"],
            entity=material["entity"],
            attribute=material["attribute"],
            tags=tuple(material["tags"]),
            evidence=tuple(Evidence(EvidenceKind(k), *rest) for k, *rest in material["evidence"]),
            observed_at=material["observed_at"],
            target=material["target"],
            contradicts=tuple(material["contradicts"]),
            propose=material["propose"],
            amends=material["amends"],
        )

    def over(self, known: Memory) -> Candidate:
        """The candidate with what it leaves unsaid taken from the memory that it replaces."""
        return replace(
            self,
            rationale=known.rationale if self.rationale is None else self.rationale,
            summary=known.summary if self.summary is None else self.summary,
            importance=self.importance or known.importance,
            confidence=known.confidence if self.confidence is None else self.confidence,
            entity=known.entity if self.entity is None else self.entity,
            attribute=known.attribute if self.attribute is None else self.attribute,
            tags=self.tags or known.tags,
            evidence=tuple(_hashed(piece, known) for piece in self.evidence) or known.evidence,
            observed_at=known.observed_at if self.observed_at is None else self.observed_at,
        )

    def outline(self) -> dict[str, Any]:
        """What may be kept where the words must not: their place, type and size."""
        scope = self.scope
        return {
            "scope": [scope.kind, scope.project, scope.tier, scope.agent, scope.repo, scope.session],
            "type": self.type,
            "withheld": True,
            "characters": len(self.content),
        }


def _hashed(piece: Evidence, known: Memory) -> Evidence:
    """A piece of evidence with the hash that was taken when the memory cited the same, if none was taken now."""
    if piece.digest is not None:
        return piece
    return next((same for same in known.evidence if replace(same, digest=None) == piece), piece)
