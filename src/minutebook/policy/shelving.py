"""Where a compiled context finds a memory: whose it is, in which layer, by which words.

One pure function says it of a memory as it stands, for the index, and of a memory as it stood, for time travel.
That it is the same function is why a bundle of the past comes out as it did then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.model.context import Layer
from minutebook.model.memories import BOUNDARIES, CROSS_TEAM, Importance, Memory, Status, Type
from minutebook.model.scopes import Scope, ScopeKind, Tier
from minutebook.policy.relevance import MEMORY_WORDS, NAME_WORDS, checksums, telling, word_key

#: The reader that stands for every agent of a project.
EVERYONE = ""
#: The reader that stands for linked projects: here the boundaries of a project wait, which govern at home and only
#: inform elsewhere. No agent's name holds a colon.
ABROAD = "abroad:"

_LAYERS = {Type.CORE_CONTEXT: Layer.CORE, Type.PROFILE: Layer.PROFILE, Type.EPISODE: Layer.EPISODE}
LESSONS = frozenset({Type.LEARNING, Type.PATTERN})


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where one memory is found."""

    project: str
    reader: str
    #: the layer that takes it by its type; None where only its words can bring it in
    layer: Layer | None
    #: checksums of its words: of its name, then `|`, then of its text
    words: str


def session_reader(session: str) -> str:
    """The reader that stands for whoever works in a session. No agent's name holds a colon."""
    return f"session:{session}"


def shelf_of(memory: Memory) -> Shelf | None:
    """The shelf of a memory; None for what does not stand.

    Boundaries need no finding at home; what a project decided for itself is found from linked ones.
    """
    if memory.status is not Status.ACTIVE:
        return None
    project, reader = memory.scope.project, reader_of(memory)
    if memory.type in BOUNDARIES:
        if memory.scope.kind is not ScopeKind.PROJECT:
            return None
        reader = ABROAD
    return Shelf(project, reader, layer_of(memory), _words(memory, word_key(project, reader)))


def reader_of(memory: Memory) -> str:
    """Whom a memory is for: an agent, those who work in a session, or everyone in its project."""
    return reader_in(memory.scope, memory.type, memory.tags)


def reader_in(scope: Scope, type: str, tags: Sequence[str]) -> str:
    """The same, where only its scope, type and tags are known."""
    if scope.kind is ScopeKind.SESSION:
        return session_reader(scope.session)
    if scope.kind is not ScopeKind.AGENT:
        return EVERYONE
    # What an agent is told about itself is nobody else's core, whatever its tags say.
    shared = scope.tier == Tier.PROJECT and type != Type.CORE_CONTEXT and CROSS_TEAM in tags
    return EVERYONE if shared else scope.agent


def layer_of(memory: Memory) -> Layer | None:
    """The layer that takes a memory by its type and importance alone."""
    if memory.type in LESSONS and memory.importance is Importance.HIGH:
        return Layer.LESSON
    return _LAYERS.get(memory.type)


def _words(memory: Memory, key: int) -> str:
    # A hyphen between two words folds to a space; told here, that costs a tenth of what it costs there.
    slug = memory.slug if "--" in memory.slug else memory.slug.replace("-", " ")
    name = " ".join([memory.title, slug, *memory.tags, memory.entity or "", memory.attribute or ""])
    named = telling(name, NAME_WORDS)
    known = set(named)
    said: list[str] = []
    for text in (memory.content, memory.summary, memory.rationale):
        room = MEMORY_WORDS - len(known)
        if text and room > 0:
            more = [word for word in telling(text, MEMORY_WORDS) if word not in known][:room]
            said += more
            known.update(more)
    return " ".join([*checksums(key, named), "|", *checksums(key, said)])
