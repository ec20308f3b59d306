"""Searches and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How to take an answer."""

    HITS = "hits"
    EMPTY = "empty"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer."""

    kind: str
    id: str
    slug: str
    type: str
    title: str
    scope: str
    status: str
    author: str
    score: float
    snippet: str
    updated_at: str
    #: the hit that hides this one, where a deeper scope has the same name
    shadowed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to a search."""

    state: State
    sentence: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One scope, as an agent sees it."""

    scope: str
    depth: int
    count: int
    types: dict[str, int]


@dataclass(frozen=True, slots=True)
class Shadow:
    """A memory that a deeper scope hides."""

    hidden: str
    hidden_scope: str
    by: str
    by_scope: str
    type: str
    slug: str


@dataclass(frozen=True, slots=True)
class ScopeView:
    """What an agent would see, from the most general to the most particular."""

    agent: str
    project: str
    layers: tuple[Layer, ...]
    shadows: tuple[Shadow, ...]
    visible: int
