"""Search by meaning, put together: the embedder that is in use, and the index of its space."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from minutebook.ledger import vectors
from minutebook.ledger.database import Tx
from minutebook.model.errors import Kind, MinutebookError
from minutebook.model.meaning import Near, Purpose, Space

if TYPE_CHECKING:
    import numpy as np

    from minutebook.minds.embedders import Embedder
    from minutebook.minds.nearest import Nearest

#: Questions whose vectors are remembered.
_QUESTIONS = 128

_NOT_YET = (
    "Nothing is embedded yet: the service does it in the background, or run minutebook reindex --vectors"
)


class Choice(Protocol):
    """Which embedder is to be used. Cheap to have; opening it may cost much."""

    @property
    def space(self) -> Space | None:
        """Its space, where that can be told without opening it."""
        ...

    def open(self) -> Embedder: ...


class Minds:
    """What `World.meaning` is in a running program. Thread-safe.

    `choose` says which embedder is in use now; it is asked every time, so a model that is added or removed counts
    from the next call on. It raises when there is none, and says what to do.
    """

    def __init__(self, choose: Callable[[], Choice]) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._choice: Choice | None = None
        self._embedder: Embedder | None = None
        self._index: Nearest | None = None
        self._questions: OrderedDict[str, np.ndarray] = OrderedDict()

    # --- for searches ----------------------------------------------------------------------------------

    def nearest(
        self,
        tx: Tx,
        query: str,
        *,
        reach: Sequence[str] | None,
        allowed: Callable[[Sequence[str]], Collection[str]],
        limit: int,
    ) -> Near:
        """What is nearest to a question among what the asker may find; or why that cannot be told."""
        try:
            choice = self._chosen()
            space = choice.space
            # Without a vector there is nothing to compare with, and no reason to load a model.
            if space is not None and not vectors.heads(tx, space.id, reach):
                return Near(missing=_NOT_YET, space=space.id)
            embedder = self._opened(choice)
            question = self._question(embedder, query)
        except MinutebookError as error:
            if error.kind in (Kind.UNAVAILABLE, Kind.INVALID):
                return Near(missing=_said(error))
            raise
        index = self._index_of(embedder.space)
        found = index.find(tx, question, reach=reach, allowed=allowed, limit=limit)
        # Vectors of which none passes are an answer.
        there = bool(found) or bool(vectors.heads(tx, embedder.space.id, reach))
        return Near(found=tuple(found), missing=None if there else _NOT_YET, space=embedder.space.id)

    # --- for whoever keeps the vectors in step -----------------------------------------------------------

    def space(self) -> Space:
        """The space that vectors are made in; an error that says what to do where there is none."""
        choice = self._chosen()
        return choice.space or self._opened(choice).space

    def embed(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        import numpy as np

        embedder = self._opened(self._chosen())
        flat = [passage for passages in texts for passage in passages]
        rows = embedder.embed(flat, Purpose.PASSAGE).astype(np.float16)
        made, at = [], 0
        for passages in texts:
            made.append(rows[at : at + len(passages)].tobytes())
            at += len(passages)
        return made

    def forget(self, refs: Sequence[str]) -> None:
        index = self._index
        if index is not None:
            index.forget(refs)

    def rest(self) -> None:
        """Let go of the model and the index until they are needed again."""
        with self._lock:
            self._embedder, self._index = None, None
            self._questions.clear()

    # --- what is in use ----------------------------------------------------------------------------------

    def _chosen(self) -> Choice:
        choice = self._choose()
        with self._lock:
            if choice != self._choice:
                self._choice, self._embedder, self._index = choice, None, None
                self._questions.clear()
        return choice

    def _opened(self, choice: Choice) -> Embedder:
        with self._lock:
            if self._embedder is None or choice != self._choice:
                self._choice, self._embedder = choice, choice.open()
            return self._embedder

    def _index_of(self, space: Space) -> Nearest:
        from minutebook.minds.nearest import Nearest

        with self._lock:
            if self._index is None or self._index.space != space.id:
                self._index = Nearest(space.id, space.dimensions)
            return self._index

    def _question(self, embedder: Embedder, query: str) -> np.ndarray:
        key = f"{embedder.space.id}\0{query}"
        with self._lock:
            if key in self._questions:
                self._questions.move_to_end(key)
                return self._questions[key]
        made = embedder.embed([query], Purpose.QUERY)[0]
        with self._lock:
            self._questions[key] = made
            if len(self._questions) > _QUESTIONS:
                self._questions.popitem(last=False)
        return made


def _said(error: MinutebookError) -> str:
    hint = error.details.get("hint")
    return f"{error.message.rstrip('.')}: {hint}" if hint else error.message.rstrip(".")
