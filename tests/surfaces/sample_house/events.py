from __future__ import annotations

from collections.abc import Callable

from minutebook.model.events import Event
from minutebook.model.paging import Page
from minutebook.operations.registry import Access
from sample_house import registry


@registry.operation(Access.READ)
def list_(call: object, count: int = 0) -> Page[Event]:
    """List what happened."""
    return Page(tuple(Event(n, "proposal.submitted", "x" * 30, "atlas", "ripley", "agent", "cli", "2026-11-16T13:05:42Z") for n in range(count)))  # fmt: skip


@registry.operation(Access.OPERATE)
def fail(call: object, how: str) -> None:
    """Fail in some way."""
    failures: dict[str, Callable[[], object]] = {
        "bug": lambda: {}["missing"],
        "interrupt": _interrupt,
    }
    failures[how]()


def _interrupt() -> None:
    raise KeyboardInterrupt
