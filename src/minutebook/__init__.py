"""Minutebook: the shared, governed memory of a team of AI agents."""

from __future__ import annotations

# Not from `typing`: the relay and the hook come through here, and it would be half of what they import.
TYPE_CHECKING = False

__version__ = "0.1.0"

__all__ = ["MinutebookError", "__version__", "connect"]

if TYPE_CHECKING:
    from typing import Any

    from minutebook.model.errors import MinutebookError
    from minutebook.wiring import connect


def __getattr__(name: str) -> Any:
    # Imported on demand: the command line's first screen must not pay for the ledger.
    if name == "connect":
        from minutebook.wiring import connect

        return connect
    if name == "MinutebookError":
        from minutebook.model.errors import MinutebookError

        return MinutebookError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
