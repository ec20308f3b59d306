"""The nearest vectors to a question: the numbers of each project in memory, in step with the ledger.

A project's block is loaded when it is first searched. A small search compares the question with every vector. A large
one first compares one bit of each number, a hundredth of the work, and exactly only what comes near. The bits
are those of the vector without the mean of all: of e5's vectors, which all point one way, the plain bits say too
little. Up to a size vectors are held whole; beyond, bits alone, and the exact vectors are read from the ledger.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from minutebook.ledger import vectors
from minutebook.ledger.database import Tx
from minutebook.minds.blocks import GIVEN_UP, Block, coded_of

#: Refs that are asked about at once, after the first.
_NEXT = 500
#: Rows that are read at once.
_PAGE = 2_000

T = TypeVar("T")

Allowed = Callable[[Sequence[str]], Collection[str]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What bounds the time and the memory of an index."""

    #: vectors that one search compares whole; beyond them the bits are compared first
    scanned: int = 20_000
    #: vectors that are held whole; beyond them, blocks that were not searched for longest become bits alone
    exact: int = 100_000
    #: of the nearest by their bits, so many are compared exactly: where they are held whole, and where they are read
    compared: int = 2_048
    rescored: int = 512
    #: bytes of all blocks together; beyond them, blocks that were not searched for longest are let go
    bytes: int = 768 * 1024**2


class Nearest:
    """The blocks of one space, brought up to date when they are asked. Thread-safe."""

    def __init__(self, space: str, dimensions: int, sizes: Sizes | None = None) -> None:
        self.space = space
        self._dimensions = dimensions
        self._sizes = sizes or Sizes()
        self._blocks: OrderedDict[str, Block] = OrderedDict()
        #: of the vectors that were there when bits were first wanted; one for all, so that bits compare
        self._mean: np.ndarray | None = None
        self._lock = threading.Lock()

    def find(
        self, tx: Tx, question: np.ndarray, *, reach: Sequence[str] | None, allowed: Allowed, limit: int
    ) -> list[tuple[str, float]]:
        """The nearest memories that pass, the nearest first, however few of all pass.

        `reach` names the projects; None is all. `allowed` says which of some refs the asker may find.
        """
        with self._lock:
            blocks = self._current(tx, reach)
            few = sum(block.whole for block in blocks) <= self._sizes.scanned
            if few and not any(block.coded for block in blocks):
                parts = [block.likeness(question) for block in blocks]
                found = _passing(blocks, parts, allowed, limit)
            else:
                found = self._by_bits(tx, blocks, question, allowed, limit)
        found.sort(key=lambda one: (-one[0], one[1]))
        return [(ref, value) for value, ref in found[:limit]]

    def forget(self, refs: Collection[str]) -> None:
        """Let go of the vectors of memories whose words are gone."""
        with self._lock:
            for block in self._blocks.values():
                for ref in refs:
                    block.forget(ref)

    def held(self) -> tuple[int, int]:
        """How many memories, and how many bytes, are in memory."""
        with self._lock:
            return sum(map(len, self._blocks.values())), sum(block.bytes for block in self._blocks.values())

    def _by_bits(
        self, tx: Tx, blocks: Sequence[Block], question: np.ndarray, allowed: Allowed, limit: int
    ) -> list[tuple[float, str]]:
        """The nearest that pass, by their exact vectors; of these there are few, so they are read first."""
        mean = self._centre(blocks)
        bits = coded_of(question[None, :], mean)[:, 0]
        for block in blocks:
            block.code(mean)
        parts = [block.agreement(bits) for block in blocks]
        read = any(block.coded for block in blocks)
        most = max(limit, self._sizes.rescored if read else self._sizes.compared)
        exact = self._exact(tx, blocks, question, _slots(parts, most), max(self._sizes.rescored, 2 * limit))
        found: list[tuple[float, str]] = []
        for some in _pieces(exact, _first_of(limit)):
            passed = set(allowed([ref for _, ref in some]))
            found += [one for one in some if one[1] in passed]
            if len(found) >= limit:
                return found
        # The asker may find little of it: now whoever passes is looked for, however far down.
        if not read:
            return _passing(blocks, [block.likeness(question) for block in blocks], allowed, limit)
        far = [ref for _, ref in _passing(blocks, parts, allowed, most)]
        return self._exact(tx, blocks, question, [block.slots_of(far) for block in blocks], most)

    def _centre(self, blocks: Sequence[Block]) -> np.ndarray:
        """The mean of all vectors, as they were when it was first asked for."""
        if self._mean is None:
            totals = [block.total() for block in blocks if block.whole]
            count = sum(block.whole for block in blocks)
            total = np.asarray(np.sum(totals, axis=0))
            self._mean = (total / max(count, 1)).astype(np.float32)
        return self._mean

    def _exact(
        self, tx: Tx, blocks: Sequence[Block], question: np.ndarray, slots: Sequence[np.ndarray], most: int
    ) -> list[tuple[float, str]]:
        """The best of the slots by their exact likeness, the nearest first; of a long memory its nearest."""
        held = [
            block.exactly(some, question) if not block.coded else np.empty(0, np.float32)
            for block, some in zip(blocks, slots, strict=True)
        ]
        best: dict[str, float] = {}
        starts = np.cumsum([0, *map(len, held)])
        values = np.concatenate(held)
        for place in _best(values, most).tolist():
            block = int(np.searchsorted(starts, place, side="right")) - 1
            slot = int(slots[block][place - starts[block]])
            best.setdefault(blocks[block].ref(slot), float(values[place]))
        best |= self._read(tx, blocks, question, slots)
        return sorted([(value, ref) for ref, value in best.items()], key=lambda one: (-one[0], one[1]))

    def _read(
        self, tx: Tx, blocks: Sequence[Block], question: np.ndarray, slots: Sequence[np.ndarray]
    ) -> dict[str, float]:
        """The exact likeness of what is in memory by its bits alone, from the vectors that are stored."""
        wanted: dict[str, int] = {}
        for block, some in zip(blocks, slots, strict=True):
            if block.coded:
                wanted |= block.docs([block.ref(slot) for slot in some.tolist()])
        rows = vectors.numbers_of(tx, list(wanted.values()))
        found = {}
        for ref, doc in wanted.items():
            if doc in rows:
                own = np.frombuffer(rows[doc], np.float16).reshape(-1, self._dimensions).astype(np.float32)
                found[ref] = float(np.vecdot(own, question).max())
        return found

    def _current(self, tx: Tx, reach: Sequence[str] | None) -> list[Block]:
        """The blocks of the projects, with all that the transaction sees; perhaps with what is newer."""
        wanted = vectors.heads(tx, self.space, reach)
        near = reach is not None
        known = sum(len(self._blocks.get(project, ())) for project in wanted)
        few = near and known <= min(self._sizes.scanned, self._sizes.exact)
        found = []
        for project, head in wanted.items():
            block = self._blocks.get(project)
            # Bits alone send every search to the ledger. A small one has its vectors whole, once more if need be.
            if block is None or block.wasted or (block.coded and few):
                block = self._blocks[project] = Block(self._dimensions)
                self._blocks.move_to_end(project, last=near)
            # Who searches all searches no project in particular: theirs do not give way for that.
            if near:
                self._blocks.move_to_end(project)
            while block.head < head:
                rows = vectors.after(tx, self.space, project, block.head, _PAGE)
                if not rows:
                    break
                block.add(rows)
                self._make_room()
            found.append(block)
        self._let_go(len(found))
        return found

    def _make_room(self) -> None:
        """Make bits of the blocks that were not searched for longest, when too much is held whole."""
        whole = sum(block.whole for block in self._blocks.values())
        for block in self._blocks.values():
            if whole <= self._sizes.exact:
                return
            if block.whole:
                whole -= block.whole
                block.code(self._centre(list(self._blocks.values())))
                block.compress()

    def _let_go(self, in_use: int) -> None:
        total = sum(block.bytes for block in self._blocks.values())
        while total > self._sizes.bytes and len(self._blocks) > in_use:
            _, block = self._blocks.popitem(last=False)
            total -= block.bytes


def _slots(parts: Sequence[np.ndarray], most: int) -> list[np.ndarray]:
    """The slots of each block that are among so many of the nearest."""
    starts = np.cumsum([0, *map(len, parts)])
    slots = np.sort(_best(np.concatenate(parts), most))
    cuts = np.searchsorted(slots, starts)
    return [
        some[part[some] > GIVEN_UP]
        for part, some in (
            (part, slots[cuts[place] : cuts[place + 1]] - starts[place]) for place, part in enumerate(parts)
        )
    ]


def _first_of(limit: int) -> int:
    """How many are asked about first: most of the nearest pass."""
    return limit + limit // 4


def _passing(
    blocks: Sequence[Block], parts: Sequence[np.ndarray], allowed: Allowed, limit: int
) -> list[tuple[float, str]]:
    """The nearest of the blocks that pass, from the top down, until there are enough or all were asked about.

    `parts` say of each slot of each block how near it is.
    """
    if not blocks:
        return []
    starts = np.cumsum([0, *map(len, parts)])
    values = np.concatenate(parts)
    found: list[tuple[float, str]] = []
    asked: dict[str, float] = {}
    depth = _first_of(limit)
    while True:
        fresh: dict[str, float] = {}
        for slot, place in zip(*_placed(values, starts, depth), strict=True):
            # A long memory has several slots: its nearest counts, and it is asked about once.
            ref = blocks[place].ref(slot - starts[place])
            if ref not in asked:
                fresh.setdefault(ref, float(values[slot]))
        asked |= fresh
        # Nearly all of them pass: as many as are wanted are asked about first, and then some more.
        for some in _pieces(list(fresh), limit):
            passed = set(allowed(some))
            found += [(fresh[ref], ref) for ref in some if ref in passed]
            if len(found) >= limit:
                return found[:limit]
        if depth >= len(values):
            return found
        depth *= 4


def _placed(values: np.ndarray, starts: np.ndarray, depth: int) -> tuple[list[int], list[int]]:
    """The slots with the largest values, the largest first, and which block each is of."""
    slots = _best(values, depth)
    slots = slots[values[slots] > GIVEN_UP]
    return slots.tolist(), (np.searchsorted(starts, slots, side="right") - 1).tolist()


def _pieces(some: list[T], first: int) -> Iterator[list[T]]:
    yield some[:first]
    for start in range(first, len(some), _NEXT):
        yield some[start : start + _NEXT]


def _best(values: np.ndarray, most: int) -> np.ndarray:
    """The places of the largest values, the largest first; of equals, the earliest."""
    if len(values) <= most:
        some = np.arange(len(values))
    elif values.dtype == np.int16:
        some = _counted(values, most)
    else:
        some = np.argpartition(-values, most - 1)[:most]
    return some[np.lexsort((some, -values[some]))][:most]


def _counted(values: np.ndarray, most: int) -> np.ndarray:
    """The places of at least so many of the largest small numbers: every 16th says about where these begin."""
    sample = np.sort(values[::16])[::-1]
    for bound in (sample[min(len(sample) - 1, most // 8 + 16)], sample[-1]):
        some = np.flatnonzero(values >= bound)
        if len(some) >= most:
            return some
    return np.arange(len(values))
