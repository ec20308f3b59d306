"""What an agent is told when it starts: the request, the bundle, and all that the bundle says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Layer(StrEnum):
    """The layers of a bundle, in the order in which they stand."""

    BOUNDARY = "boundary"
    CORE = "core"
    LESSON = "lesson"
    PROFILE = "profile"
    RELEVANT = "relevant"
    EPISODE = "episode"
    SESSION = "session"
    INBOX = "inbox"


class EvidenceState(StrEnum):
    """What became of what a memory rests on."""

    FRESH = "fresh"
    STALE = "stale"
    MISSING = "missing"
    UNVERIFIABLE = "unverifiable"


#: Evidence that no longer bears what rests on it: such a memory is shown after its equals, and never hidden.
SHAKY = frozenset({EvidenceState.STALE, EvidenceState.MISSING})

#: From the worst: a memory stands as its weakest evidence does.
WORST_FIRST = (
    EvidenceState.MISSING,
    EvidenceState.STALE,
    EvidenceState.UNVERIFIABLE,
    EvidenceState.FRESH,
)


class Form(StrEnum):
    """How much of a memory is in the bundle."""

    WHOLE = "whole"
    TITLE = "title"


class Reason(StrEnum):
    """Why something that could have been in a bundle is not."""

    #: a deeper scope says it
    SHADOWED = "shadowed"
    #: the layer takes only so many
    OVER_COUNT = "over_count"
    #: the memory budget takes only so many items
    OVER_ITEMS = "over_items"
    #: more tokens than the budget has left
    NO_ROOM = "no_room"
    #: it was erased since; its words are gone for good
    ERASED = "erased"
    #: it claims to govern, and nobody who may decide let it in
    NO_AUTHORITY = "no_authority"
    #: it shares words with the task, and too few beside what shares more
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """For whom a bundle is compiled, for what, and of which moment of the ledger."""

    project: str
    #: the folded name of the agent through whose eyes the ledger is read
    agent: str
    #: the place in the event log: what came after it does not count
    seq: int
    task: str = ""
    #: a child run gets the boundaries alone
    child: bool = False
    #: for somebody who may review: say how much waits
    inbox: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One memory of a bundle."""

    id: str
    layer: Layer
    type: str
    slug: str
    author: str
    revision: int
    form: Form
    #: points for the words that it shares with the task, where that is why it is here
    score: int | None
    evidence: EvidenceState | None
    tokens: int
    #: the linked project that it comes from, by its slug; None for what is of this one or global
    project: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One memory that is not in the bundle, and why."""

    id: str
    layer: Layer
    type: str
    slug: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class LayerFault:
    """A layer that could not be compiled."""

    layer: Layer
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """The compiled context of one agent and task: the text, and how it came about."""

    project: str
    agent: str
    task: str
    child: bool
    #: the place in the event log that it was compiled at
    seq: int
    #: SHA-256 over the text and the ids and revisions of its items: two bundles of one hash are the same
    hash: str
    text: str
    #: an estimate, rather too high than too low
    tokens: int
    #: bytes of the text, from its beginning, that another task would not change
    stable: int
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]
    #: how many were left out in all; the list is bounded
    left_out_count: int
    faults: tuple[LayerFault, ...]


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """A memory that is in both bundles, and not the same."""

    id: str
    slug: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class BundleDifference:
    """How two bundles differ."""

    before: str
    after: str
    same: bool
    only_before: tuple[Item, ...]
    only_after: tuple[Item, ...]
    changed: tuple[ChangedItem, ...]
    diff: str
