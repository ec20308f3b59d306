"""The nearest vectors to a question: the numbers of each project in memory, in step with the ledger.

A project's block is loaded when it is first searched. Up to a size all vectors are held and every search is exact;
beyond, one bit for each number, and the exact ones are read for the few that come near. The bits are those
of the vector without the mean of all: of e5's vectors, which all point one way, the plain bits say too little.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from minutebook.ledger import vectors
from minutebook.ledger.database import Tx

#: Refs that are asked about at once: few at first, because most of the nearest pass.
_FIRST, _NEXT = 256, 500
#: Rows that are read at once.
_PAGE = 2_000

Allowed = Callable[[Sequence[str]], Collection[str]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What bounds the memory of an index."""

    #: vectors that are held whole; beyond them, blocks that were not searched for longest become bits
    exact: int = 100_000
    #: candidates of the bits whose exact vectors are read
    rescored: int = 512
    #: bytes of all blocks together; beyond them, blocks that were not searched for longest are let go
    bytes: int = 768 * 1024**2


class Block:
    """The vectors of one project: whole, or one bit for each number."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        #: the newest vector row that it holds
        self.head = 0
        self._refs: list[str] = []
        #: for each ref the first of its slots, which follow one another
        self._first: dict[str, int] = {}
        #: for each slot the number of its ref, -1 where that was given up, and its vector row
        self._owner = np.empty(0, np.int32)
        self._docs = np.empty(0, np.int64)
        self._whole: np.ndarray | None = np.empty((0, dimensions), np.float32)
        self._bits = np.empty((0, 0), np.uint64)
        self._mean = np.empty(0, np.float32)
        self._used = 0
        self._dead = 0

    def __len__(self) -> int:
        return len(self._first)

    @property
    def whole(self) -> int:
        """How many vectors it holds whole."""
        return 0 if self._whole is None else self._used

    @property
    def coded(self) -> bool:
        return self._whole is None

    @property
    def bytes(self) -> int:
        held = self._bits.nbytes if self._whole is None else self._whole.nbytes
        return held + self._owner.nbytes + self._docs.nbytes + 200 * len(self._first)

    @property
    def wasted(self) -> bool:
        """Whether more of it is given up than is in use."""
        return self._dead > 1_000 and self._dead * 2 > self._used

    def add(self, rows: Sequence[tuple[int, str, bytes]]) -> None:
        """Take in newer vectors; those of a memory that is there already are replaced."""
        parts = [np.frombuffer(numbers, np.float16).reshape(-1, self._dimensions) for _, _, numbers in rows]
        fresh = np.concatenate(parts).astype(np.float32)
        self._grow(len(fresh))
        at = self._used
        for (doc, ref, _), part in zip(rows, parts, strict=True):
            self.forget(ref)
            self._owner[at : at + len(part)] = len(self._refs)
            self._docs[at : at + len(part)] = doc
            self._refs.append(ref)
            self._first[ref] = at
            at += len(part)
            self.head = doc
        if self._whole is not None:
            self._whole[self._used : at] = fresh
        else:
            self._bits[self._used : at] = self._coded(fresh)
        self._used = at

    def forget(self, ref: str) -> None:
        """Let go of the vectors of a memory."""
        slot = self._first.pop(ref, None)
        if slot is None:
            return
        number = self._owner[slot]
        while slot < len(self._owner) and self._owner[slot] == number:
            self._owner[slot] = -1
            if self._whole is not None:
                self._whole[slot] = 0
            else:
                self._bits[slot] = 0
            self._dead += 1
            slot += 1

    def mean(self) -> np.ndarray:
        """The mean of the vectors that it holds whole."""
        assert self._whole is not None
        return self._whole[: self._used][self._owner[: self._used] >= 0].mean(axis=0)

    def compress(self, mean: np.ndarray) -> None:
        """Keep of each number whether it is above the mean."""
        assert self._whole is not None
        self._mean = mean
        coded = self._coded(self._whole[: self._used])
        self._bits = np.zeros((len(self._whole), coded.shape[1]), np.uint64)
        self._bits[: self._used] = coded
        self._whole = None

    def likeness(self, question: np.ndarray) -> np.ndarray:
        """For each slot how near it is: by its vector, or by how many bits are alike."""
        if self._whole is not None:
            values = self._whole[: self._used] @ question
        else:
            apart = np.bitwise_count(self._bits[: self._used] ^ self._coded(question[None, :]))
            values = -apart.sum(axis=1, dtype=np.int32).astype(np.float32)
        values[self._owner[: self._used] < 0] = -np.inf
        return values

    def ref(self, slot: int) -> str:
        """Whose vector stands in a slot that was not given up."""
        return self._refs[self._owner[slot]]

    def docs(self, refs: Sequence[str]) -> dict[str, int]:
        """The vector rows of those refs that it holds."""
        return {ref: int(self._docs[self._first[ref]]) for ref in refs if ref in self._first}

    def _grow(self, more: int) -> None:
        room = len(self._owner)
        if self._used + more <= room:
            return
        size = max(64, self._used + more, min(room * 2, room + 50_000))
        self._owner, self._docs = _larger(self._owner, size), _larger(self._docs, size)
        if self._whole is not None:
            self._whole = _larger(self._whole, size)
        else:
            self._bits = _larger(self._bits, size)

    def _coded(self, some: np.ndarray) -> np.ndarray:
        bits = np.packbits(some > self._mean, axis=1)
        bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
        return np.ascontiguousarray(bits).view(np.uint64)


class Nearest:
    """The blocks of one space, brought up to date when they are asked. Thread-safe."""

    def __init__(self, space: str, dimensions: int, sizes: Sizes | None = None) -> None:
        self.space = space
        self._dimensions = dimensions
        self._sizes = sizes or Sizes()
        self._blocks: OrderedDict[str, Block] = OrderedDict()
        #: of the vectors that were there when the first block became bits; one for all, so that bits compare
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
            exact = [block for block in blocks if not block.coded]
            found = _passing(exact, question, allowed, limit)
            coded = [block for block in blocks if block.coded]
            if coded:
                some = _passing(coded, question, allowed, max(limit, self._sizes.rescored))
                found += self._rescored(tx, coded, question, [ref for _, ref in some])
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

    def _rescored(
        self, tx: Tx, blocks: Sequence[Block], question: np.ndarray, refs: Sequence[str]
    ) -> list[tuple[float, str]]:
        """The refs with their exact likeness, from the vectors that are stored."""
        docs = {ref: doc for block in blocks for ref, doc in block.docs(refs).items()}
        rows = vectors.numbers_of(tx, list(docs.values()))
        found = []
        for ref, doc in docs.items():
            if doc in rows:
                own = np.frombuffer(rows[doc], np.float16).reshape(-1, self._dimensions)
                found.append((float((own.astype(np.float32) @ question).max()), ref))
        return found

    def _current(self, tx: Tx, reach: Sequence[str] | None) -> list[Block]:
        """The blocks of the projects, with all that the transaction sees; perhaps with what is newer."""
        wanted = vectors.heads(tx, self.space, reach)
        found = []
        for project, head in wanted.items():
            block = self._blocks.get(project)
            if block is None or block.wasted:
                block = self._blocks[project] = Block(self._dimensions)
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
                if self._mean is None:
                    self._mean = block.mean()
                block.compress(self._mean)

    def _let_go(self, in_use: int) -> None:
        total = sum(block.bytes for block in self._blocks.values())
        while total > self._sizes.bytes and len(self._blocks) > in_use:
            _, block = self._blocks.popitem(last=False)
            total -= block.bytes


def _passing(
    blocks: Sequence[Block], question: np.ndarray, allowed: Allowed, limit: int
) -> list[tuple[float, str]]:
    """The nearest of the blocks that pass, from the top down, until there are enough or all were asked about."""
    if not blocks:
        return []
    parts = [block.likeness(question) for block in blocks]
    starts = np.cumsum([0, *map(len, parts)])
    values = np.concatenate(parts)
    found: list[tuple[float, str]] = []
    asked: dict[str, float] = {}
    depth = max(_FIRST, limit)
    while True:
        fresh: dict[str, float] = {}
        for slot, place in zip(*_placed(values, starts, depth), strict=True):
            # A long memory has several slots: its nearest counts, and it is asked about once.
            ref = blocks[place].ref(slot - starts[place])
            if ref not in asked:
                fresh.setdefault(ref, float(values[slot]))
        asked |= fresh
        for some in _pieces(list(fresh), max(_FIRST, limit)):
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
    slots = slots[np.isfinite(values[slots])]
    return slots.tolist(), (np.searchsorted(starts, slots, side="right") - 1).tolist()


def _pieces(refs: list[str], first: int) -> Iterator[list[str]]:
    yield refs[:first]
    for start in range(first, len(refs), _NEXT):
        yield refs[start : start + _NEXT]


def _larger(array: np.ndarray, size: int) -> np.ndarray:
    made = np.zeros((size, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def _best(values: np.ndarray, most: int) -> np.ndarray:
    """The places of the largest values, the largest first; of equals, the earliest."""
    if len(values) > most:
        some = np.argpartition(-values, most - 1)[:most]
    else:
        some = np.arange(len(values))
    return some[np.lexsort((some, -values[some]))]
