"""One page of a listing, and where the next one begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a listing, in its order, and the cursor that continues after the last of them.

    There is no total: counting costs a scan, and the number is wrong as soon as somebody writes.
    """

    items: tuple[T, ...]
    next: str | None = None
