"""The vectors of one project in memory: whole, as one bit for each number, or both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

#: What a slot that was given up is worth: less than any likeness.
GIVEN_UP = -1_000


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
        #: 64 numbers of every slot, then the next 64: each stretch is read from one end to the other
        self._bits = np.empty((0, 0), np.uint64)
        self._mean: np.ndarray | None = None
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
        held = self._bits.nbytes + (0 if self._whole is None else self._whole.nbytes)
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
        if self._mean is not None:
            self._bits[:, self._used : at] = coded_of(fresh, self._mean)
        self._used = at

    def forget(self, ref: str) -> None:
        """Let go of the vectors of a memory."""
        slot = self._first.pop(ref, None)
        if slot is None:
            return
        number = self._owner[slot]
        while slot < len(self._owner) and self._owner[slot] == number:
            self._owner[slot] = -1
            # Gone from memory too, and not only from what is found.
            if self._whole is not None:
                self._whole[slot] = 0
            if self._mean is not None:
                self._bits[:, slot] = 0
            self._dead += 1
            slot += 1

    def total(self) -> np.ndarray:
        """The sum of the vectors that it holds whole."""
        assert self._whole is not None
        return self._whole[: self._used].sum(axis=0)

    def code(self, mean: np.ndarray) -> None:
        """Keep of each number whether it is above the mean, beside the numbers."""
        if self._mean is None:
            assert self._whole is not None
            self._mean = mean
            coded = coded_of(self._whole[: self._used], mean)
            self._bits = np.zeros((len(coded), len(self._whole)), np.uint64)
            self._bits[:, : self._used] = coded

    def compress(self) -> None:
        """Keep the bits alone."""
        self._whole = None

    def likeness(self, question: np.ndarray) -> np.ndarray:
        """For each slot how near it is."""
        assert self._whole is not None
        # Row by row: a product by the threads of a linear algebra library waits for the slowest of them, and a busy
        # machine has always one.
        values = np.vecdot(self._whole[: self._used], question)
        values[self._owner[: self._used] < 0] = GIVEN_UP
        return values

    def agreement(self, bits: np.ndarray) -> np.ndarray:
        """For each slot how many bits are those of the question."""
        alike = np.full(self._used, 64 * len(bits), np.int16)
        for held, asked in zip(self._bits, bits, strict=True):
            alike -= np.bitwise_count(held[: self._used] ^ asked)
        alike[self._owner[: self._used] < 0] = GIVEN_UP
        return alike

    def exactly(self, slots: np.ndarray, question: np.ndarray) -> np.ndarray:
        """How near some slots are, of those that it holds whole."""
        assert self._whole is not None
        return np.vecdot(self._whole[slots], question)

    def ref(self, slot: int) -> str:
        """Whose vector stands in a slot that was not given up."""
        return self._refs[self._owner[slot]]

    def slots_of(self, refs: Iterable[str]) -> np.ndarray:
        """The slots of those refs that it holds."""
        found: list[int] = []
        for slot in [self._first[ref] for ref in refs if ref in self._first]:
            number = self._owner[slot]
            while slot < self._used and self._owner[slot] == number:
                found.append(slot)
                slot += 1
        return np.array(found, np.int64)

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
        if self._mean is not None:
            self._bits = np.pad(self._bits, ((0, 0), (0, size - room)))


def coded_of(some: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Of each number whether it is above the mean: 64 numbers of every vector, then the next 64."""
    bits = np.packbits(some > mean, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def _larger(array: np.ndarray, size: int) -> np.ndarray:
    made = np.zeros((size, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made
