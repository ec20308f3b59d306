"""Which memories a deeper scope hides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol


class Named(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def slug(self) -> str: ...


def shadows(visible: Iterable[tuple[int, Named]]) -> Mapping[str, str]:
    """Ids that are hidden, with the id that hides them: same type and slug, deeper scope, whole.

    Given as (depth, memory) over all that is visible, not only over what a query happened to find.
    """
    deepest: dict[tuple[str, str], tuple[int, Named]] = {}
    everything = list(visible)
    for depth, memory in everything:
        key = (memory.type, memory.slug)
        if key not in deepest or depth > deepest[key][0]:
            deepest[key] = (depth, memory)
    hidden = {}
    for depth, memory in everything:
        top_depth, top = deepest[(memory.type, memory.slug)]
        if depth < top_depth:
            hidden[memory.id] = top.id
    return hidden
