"""What a consolidation notices: which memories repeat each other, disagree, or are past their time. Pure.

It errs towards saying nothing: a reviewer who is shown ten suggestions of which nine are wrong looks at none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minutebook.model.actors import UNTRUSTED_ORIGINS, Role
from minutebook.model.consolidation import Kind, Noticed
from minutebook.model.memories import GOVERNING, Importance, Memory, Type
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.model.text import fold_claim
from minutebook.policy.limits import Limits
from minutebook.policy.similarity import bits_shared, containment, difference_of, similarity

#: In a group of texts that share a band and is larger than this, each is compared with a few neighbours only.
_WHOLE_GROUP = 6
_NEIGHBOURS = 3
#: The shorter of two texts must be this much of the longer to be compared with it.
_LENGTHS = 0.6
#: … and so much of their bits must be the same: most that share a band by chance need not be read for that.
_AT_A_GLANCE = 0.4
#: Memories that are merged by one suggestion.
_TOGETHER = 10
#: Of two texts that are nearly the same, how much of the shorter must be in the other to be merged into it.
_CONTAINED = 0.8


@dataclass(frozen=True, slots=True)
class Light:
    """As much of a memory as it takes to know with what it may be compared."""

    id: str
    revision: int
    scope: Scope
    governs: bool
    #: characters of its text, and its words as bits
    size: int
    words: int = 0


def pairs_in(group: Sequence[Light]) -> Iterator[tuple[str, str]]:
    """Which of a group of texts that share a band are compared: all of a few, the nearest in length of many.

    So the number of comparisons grows with the number of texts, also where thousands share a phrase; and texts of
    very different length are not compared at all, since they cannot say nearly the same.
    """
    ordered = sorted(group, key=lambda each: (each.size, each.id))
    most = len(ordered) if len(ordered) <= _WHOLE_GROUP else _NEIGHBOURS
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 : place + 1 + most]:
            if other.size * _LENGTHS > one.size:
                break
            if bits_shared(one.words, other.words) >= _AT_A_GLANCE and comparable(one, other):
                yield min(one.id, other.id), max(one.id, other.id)


def comparable(one: Light, other: Light) -> bool:
    """Whether it matters that two memories are alike: somebody sees both, and neither governs the other."""
    return one.governs == other.governs and (_meet(one.scope, other.scope) or _agents(one.scope, other.scope))


def _meet(one: Scope, other: Scope) -> bool:
    """Whether one of two scopes holds the other."""
    if one == other:
        return True
    wide = {ScopeKind.GLOBAL, ScopeKind.PROJECT}
    return one.kind in wide or other.kind in wide


def _agents(one: Scope, other: Scope) -> bool:
    """Whether both are the own memory of agents of one project."""
    return (
        one.kind is other.kind is ScopeKind.AGENT and one.project == other.project and one.tier == other.tier
    )


# --- what two memories are to each other -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tie:
    """What two memories are to each other."""

    kind: Kind
    one: str
    other: str
    rule: str
    score: float


def tie(one: Memory, other: Memory, limits: Limits) -> Tie | None:
    """What two memories that share words are to each other; None for strangers."""
    if one.governs != other.governs:
        return None
    if fold_claim(f"{one.title}\n{one.content}") == fold_claim(f"{other.title}\n{other.content}"):
        return Tie(_repeat(one, other, Kind.DUPLICATE), one.id, other.id, "the same words", 1.0)
    score = similarity(one.content, other.content)
    if score < limits.near_hold:
        return None
    differs = difference_of(one.content, other.content)
    if differs is not None:
        if not _meet(one.scope, other.scope) or _other_slot(one, other):
            return None
        return Tie(Kind.CONTRADICTION, one.id, other.id, differs, score)
    short, long = sorted((one, other), key=lambda memory: len(memory.content))
    if one.type != other.type or containment(short.content, long.content) < _CONTAINED:
        return None
    return Tie(_repeat(one, other, Kind.NEAR_DUPLICATE), one.id, other.id, "nearly the same words", score)


def _repeat(one: Memory, other: Memory, kind: Kind) -> Kind:
    """Two agents that keep the same for themselves may share it; all else is merged."""
    apart = one.scope != other.scope and _agents(one.scope, other.scope)
    return Kind.SHARED if apart else kind


def _other_slot(one: Memory, other: Memory) -> bool:
    """Whether both say what they are about, and it is not the same: then their values may differ."""
    if one.entity is None or other.entity is None:
        return False
    return (one.entity, one.attribute) != (other.entity, other.attribute)


def slot_ties(memories: Sequence[Memory]) -> list[Tie]:
    """Memories of one entity and attribute that say different things of it, each with the newest of them."""
    standing = sorted(memories, key=lambda memory: memory.id)
    found: list[Tie] = []
    for place, one in enumerate(standing):
        for other in standing[place + 1 : place + 1 + _TOGETHER]:
            if _meet(one.scope, other.scope) and fold_claim(one.content) != fold_claim(other.content):
                rule = "of one entity and attribute"
                found.append(Tie(Kind.CONTRADICTION, one.id, other.id, rule, 1.0))
    return found


# --- groups ------------------------------------------------------------------------------------------------------


def merges(ties: Iterable[Tie], known: Mapping[str, Memory]) -> list[Noticed]:
    """Ties of memories that repeat each other, as groups: one of each stays."""
    groups: dict[str, set[str]] = {}
    kinds: dict[str, set[Kind]] = {}
    scores: dict[str, float] = {}
    for each in sorted(ties, key=lambda tie: (-tie.score, tie.one, tie.other)):
        joined = groups.get(each.one, {each.one}) | groups.get(each.other, {each.other})
        if len(joined) > _TOGETHER:
            continue
        for member in joined:
            groups[member] = joined
            kinds.setdefault(member, set()).add(each.kind)
            scores[member] = min(scores.get(member, 1.0), each.score)
    found = []
    for group in {tuple(sorted(group)) for group in groups.values()}:
        members = sorted((known[id] for id in group), key=_staying, reverse=True)
        every = set().union(*(kinds[id] for id in group))
        kind = next(each for each in (Kind.SHARED, Kind.NEAR_DUPLICATE, Kind.DUPLICATE) if each in every)
        if kind is Kind.SHARED and any(memory.scope.kind is not ScopeKind.AGENT for memory in members):
            kind = Kind.NEAR_DUPLICATE  # one of them is everybody's already: the others are merged into it
        rule = "the same words" if min(scores[id] for id in group) == 1.0 else "nearly the same words"
        refs = tuple((memory.id, memory.revision) for memory in members)
        found.append(Noticed(kind, refs, rule, round(min(scores[id] for id in group), 3)))
    return sorted(found, key=lambda each: each.refs)


def _staying(memory: Memory) -> tuple[int, int, int, int, str]:
    """Which of several stays: the widest, the most trusted, the most important, the longest, the newest."""
    importance = list(Importance).index(memory.importance)
    return (-memory.scope.depth, trust_of(memory), importance, len(memory.content), memory.id)


def contradictions(
    ties: Iterable[Tie], known: Mapping[str, Memory], linked: frozenset[tuple[str, str]]
) -> list[Noticed]:
    """Ties of memories that disagree, but for those of which that is known already."""
    found: dict[tuple[str, str], Noticed] = {}
    for each in ties:
        pair = (min(each.one, each.other), max(each.one, each.other))
        if pair in linked or pair in found:
            continue
        # The newer one says that it contradicts the older.
        refs = tuple((known[id].id, known[id].revision) for id in reversed(pair))
        found[pair] = Noticed(Kind.CONTRADICTION, refs, each.rule, round(each.score, 3))
    return [found[pair] for pair in sorted(found)]


# --- trust -------------------------------------------------------------------------------------------------------


class Trust:
    """How far the words of a memory can be trusted by where they come from: the higher, the further."""

    MACHINE = 0  # found in a document, by a rule or by a model
    AGENT = 1
    PERSON = 2


def trust_of(memory: Memory) -> int:
    """The trust that a memory has by itself: by its door, and by who stands for it."""
    if memory.decided_role in (Role.COORDINATOR, Role.OPERATOR):
        return Trust.PERSON
    return Trust.MACHINE if memory.origin in UNTRUSTED_ORIGINS else Trust.AGENT


# --- one memory by itself ----------------------------------------------------------------------------------------

_UNTIL = re.compile(
    r"\b(?:until|till|through|up to|expires?(?: on)?|valid (?:until|through)|ends?(?: on)?)\s+"
    r"(?:the end of )?(\d{4})-(\d{2})(?:-(\d{2}))?\b",
    re.IGNORECASE,
)


def ended(text: str) -> str | None:
    """The last day that a text says it holds for, as a date; None where it names none, or several."""
    found = {_last_day(*match.groups()) for match in _UNTIL.finditer(text[:4_000])}
    return found.pop() if len(found) == 1 else None


def _last_day(year: str, month: str, day: str | None) -> str:
    return f"{year}-{month}-{day or '31'}"


def outdated(memory: Memory, now: str) -> Noticed | None:
    """Whether a memory says itself that it holds no more."""
    last = ended(memory.content)
    if last is None or last >= now[:10] or memory.governs:
        return None
    return Noticed(Kind.OUTDATED, ((memory.id, memory.revision),), f"until {last}")


#: What is never called unused: it is there to be there.
_ALWAYS_OF_USE = frozenset({Type.CORE_CONTEXT, Type.PROFILE, *GOVERNING})


def can_be_unused(type: Type, importance: Importance) -> bool:
    return type not in _ALWAYS_OF_USE and importance is not Importance.HIGH


def shortened(content: str) -> str:
    """A text without lines and paragraphs that it says again, and without empty runs."""
    seen: set[str] = set()
    kept: list[str] = []
    for line in content.split("\n"):
        folded = fold_claim(line)
        if len(folded) > 20 and folded in seen:
            continue
        seen.add(folded)
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line.rstrip())
    return "\n".join(kept).strip()


def overlong(memory: Memory, limits: Limits) -> Noticed | None:
    """Whether a long memory could say the same in clearly fewer words."""
    if len(memory.content) < limits.consolidation_long_chars or memory.governs:
        return None
    if len(shortened(memory.content)) > 0.9 * len(memory.content):
        return None
    return Noticed(Kind.OVERLONG, ((memory.id, memory.revision),), "repeats itself")
