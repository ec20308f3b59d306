from __future__ import annotations

from pathlib import Path

from minutebook.operations.registry import Access
from sample_house import registry


class LongCall:
    """Stands for the call of an operation that runs outside a transaction."""


@registry.operation(Access.READ)
def doctor(call: LongCall) -> dict[str, str]:
    """Say what is wrong."""
    return {"ledger": "ok"}


@registry.operation(Access.OPERATE)
def import_(call: LongCall, file: Path) -> str:
    """Read an archive."""
    return str(file)
