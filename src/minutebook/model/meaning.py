"""Meaning as numbers: the space that vectors lie in, and what is near a question there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Purpose(StrEnum):
    """What a text is put into numbers for; some models want to know."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class Space:
    """What vectors must share to be compared: the model, its very bytes, and its width."""

    name: str
    #: of everything that shapes a vector: weights, quantisation, tokenizer, how passages are cut
    digest: str
    dimensions: int

    @property
    def id(self) -> str:
        return f"{self.name}@{self.digest[:16]}"


@dataclass(frozen=True, slots=True)
class Near:
    """What lies nearest to a question, the nearest first."""

    found: tuple[tuple[str, float], ...] = ()
    #: why this is no answer, or not a whole one, and what to do; None when it is whole
    missing: str | None = None
    #: the space that was searched
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """How much of what is stored can be found by its meaning."""

    #: the space of its vectors; None where there is no model
    space: str | None = None
    memories: int = 0
    missing: int = 0
    #: why nothing can be embedded, and what to do
    absent: str | None = None
