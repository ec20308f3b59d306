"""The door of every embedder: texts in, vectors of one space out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from minutebook.model.meaning import Purpose, Space

if TYPE_CHECKING:
    import numpy as np


class Embedder(Protocol):
    """Whoever can put a text's meaning into numbers."""

    @property
    def space(self) -> Space: ...

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        """A row of length one for each text, float32. A text too long for the model is cut off."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, for which model, with which key."""

    url: str
    model: str
    key: str = ""
    seconds: float = 10.0


def joined_space(parts: Sequence[tuple[Space, float]]) -> Space:
    """The space of several embedders side by side; that of the one, where there is one."""
    if len(parts) == 1:
        return parts[0][0]
    said = "\n".join(f"{space.digest} {weight:.6f}" for space, weight in parts)
    return Space(
        name="+".join(space.name for space, _ in parts),
        digest=hashlib.sha256(said.encode()).hexdigest(),
        dimensions=sum(space.dimensions for space, _ in parts),
    )


class Joined:
    """Several embedders as one: their vectors stand side by side, so one index and one identity serve them all.

    The product of two such vectors is the weighted mean of the products of their parts.
    """

    def __init__(self, parts: Sequence[tuple[Embedder, float]]) -> None:
        total = sum(weight for _, weight in parts)
        self._parts = [(embedder, (weight / total) ** 0.5) for embedder, weight in parts]
        self.space = joined_space([(embedder.space, weight) for embedder, weight in parts])

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        import numpy as np

        return np.concatenate(
            [embedder.embed(texts, purpose) * np.float32(scale) for embedder, scale in self._parts], axis=1
        )
