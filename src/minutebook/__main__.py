"""`python -m minutebook`, and the `minutebook` command."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minutebook.surfaces.cli import Caller, CallerOptions


def main() -> int:
    """Run the command line of this process and return its exit code."""
    from minutebook.operations.registry import REGISTRY
    from minutebook.surfaces.cli import build_cli, run
    from minutebook.surfaces.init import init_command

    program = build_cli(REGISTRY, _open_caller)
    program.add_command(init_command(_open_caller))
    return run(program, sys.argv[1:], os.environ)


def _open_caller(options: CallerOptions) -> AbstractContextManager[Caller]:
    # Only a command that runs pays for the ledger's imports.
    from minutebook.wiring import open_caller

    return open_caller(options)


if __name__ == "__main__":
    sys.exit(main())
