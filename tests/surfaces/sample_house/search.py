from __future__ import annotations

from minutebook.operations.registry import Access
from sample_house import registry


@registry.operation(Access.READ)
def search(call: object, query: str) -> list[str]:
    """Find by text."""
    return [query]
