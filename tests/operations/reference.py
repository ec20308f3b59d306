"""What the model of the ledger holds: plain values in lists and dictionaries, of one project."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

ROLES = {
    "Ripley": "agent", "Bishop": "agent", "Dallas": "coordinator", "Mother": "operator", "Jones": "viewer",
}  # fmt: skip
GOVERNING = ("architectural", "process")
RANK = {"viewer": 0, "agent": 1, "coordinator": 2, "operator": 3}


class Refused(Exception):
    """The model says no, with a code of the table."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def number_in(state: str) -> int | None:
    """The revision that `3` or `pending 3` names; none in `merged` or ``."""
    number = state.removeprefix("pending ")
    return int(number) if number.isdigit() else None


@dataclass(frozen=True)
class Words:
    """What is said, of what type, and where."""

    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    scope: tuple[str, str]

    @property
    def governs(self) -> bool:
        return self.type in GOVERNING

    @property
    def claim(self) -> str:
        return self.content.casefold()


@dataclass(frozen=True)
class Memory:
    id: str
    slug: str
    words: Words
    author: str
    status: str = "active"
    revision: int = 1
    proposal: str | None = None
    successor: str | None = None


@dataclass(frozen=True)
class Proposal:
    id: str
    slug: str
    requested: str
    agent: str
    words: Words
    #: what it would do: op, the memory it aims at, why it is held
    would: tuple[str, str | None, tuple[Any, ...]]
    base: str | None
    base_revision: int | None
    status: str = "pending"
    revision: int = 1
    memory: str | None = None


@dataclass
class Stone:
    claim: str
    cause: str
    #: whom it binds; everybody if empty
    agent: str = ""
    lifted: bool = False


@dataclass
class Ruling:
    """A verdict: what it changed, as (kind, ref, before, after)."""

    id: str
    op: str
    effects: list[tuple[str, Any, str, str]]
    memory: str | None = None
    proposal: str | None = None
    words: Words | None = None
    reverts: str | None = None
    reverted_by: str | None = None


@dataclass
class Session:
    name: str
    focus: str
    summary: str = ""
    open: bool = True


@dataclass
class Kept:
    """What the model remembers, how it is looked at, and how it is stored."""

    memories: dict[str, Memory] = field(default_factory=dict)
    past: dict[tuple[str, int], Memory] = field(default_factory=dict)
    proposals: dict[str, Proposal] = field(default_factory=dict)
    stones: list[Stone] = field(default_factory=list)
    rulings: dict[str, Ruling] = field(default_factory=dict)
    links: set[tuple[str, str]] = field(default_factory=set)
    sessions: list[Session] = field(default_factory=list)

    # ── looking ────────────────────────────────────────────────────────────────────────────────────

    def may(self, who: str, role: str) -> None:
        if RANK[ROLES[who]] < RANK[role]:
            raise Refused("not_allowed")

    def decides(self, who: str) -> bool:
        return RANK[ROLES[who]] >= RANK["coordinator"]

    def seen(self, who: str, id: str) -> Memory:
        memory = self.memories[id]
        kind, owner = memory.words.scope
        hidden = kind == "agent" and owner != who and "cross-team" not in memory.words.tags
        if hidden and ROLES[who] == "agent":
            raise Refused("not_found")
        return memory

    def standing(self, words: Words, slug: str) -> Memory | None:
        for memory in self.memories.values():
            if memory.status == "active" and self.name_of(memory) == (words.scope, words.type, slug):
                return memory
        return None

    def saying(self, words: Words) -> list[Memory]:
        return [
            memory
            for memory in self.memories.values()
            if memory.status == "active"
            and (memory.words.claim, memory.words.scope) == (words.claim, words.scope)
        ]

    def stone_on(self, claim: str, who: str) -> int | None:
        laid = [
            n
            for n, stone in enumerate(self.stones)
            if stone.claim == claim and not stone.lifted and stone.agent in ("", who)
        ]
        return laid[-1] if laid else None

    def place_of(self, who: str, type: str) -> tuple[str, str]:
        return ("agent", who) if type == "learning" and ROLES[who] == "agent" else ("project", "")

    def name_of(self, memory: Memory) -> tuple[Any, ...]:
        return memory.words.scope, memory.words.type, memory.slug

    # ── storing ────────────────────────────────────────────────────────────────────────────────────

    def store(self, memory: Memory) -> None:
        """Keep a revision; a name, and the memory of a proposal, are had by one at a time."""
        for other in self.memories.values():
            if other.id == memory.id:
                continue
            name = self.name_of(other)
            if memory.status == other.status == "active" and name == self.name_of(memory):
                raise Refused("exists")
            counts = ("active", "superseded", "archived")
            both = memory.status in counts and other.status in counts
            if both and memory.proposal is not None and memory.proposal == other.proposal:
                raise Refused("exists")
        self.memories[memory.id] = memory
        self.past[memory.id, memory.revision] = memory

    def change(self, memory: Memory, **changes: Any) -> tuple[str, str, str, str]:
        self.store(replace(memory, revision=memory.revision + 1, **changes))
        return ("memory", memory.id, str(memory.revision), str(memory.revision + 1))

    def bury(self, claim: str, cause: str, agent: str = "") -> tuple[str, int, str, str]:
        self.stones.append(Stone(claim, cause, agent=agent))
        return ("tombstone", len(self.stones) - 1, "", "laid")

    def lift(self, number: int) -> tuple[str, int, str, str]:
        self.stones[number].lifted = True
        return ("tombstone", number, "laid", "lifted")

    def link(self, successor: str, old: str) -> list[tuple[str, Any, str, str]]:
        if (successor, old) in self.links:
            return []
        self.links.add((successor, old))
        return [("link", (successor, old), "", "linked")]

    def rule(self, id: str, op: str, effects: list[Any], **more: Any) -> None:
        self.rulings[id] = Ruling(id, op, effects, **more)
