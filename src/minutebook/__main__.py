"""`python -m minutebook`, and the `minutebook` command."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from minutebook.model.system import Restored
    from minutebook.service import Service
    from minutebook.settings import Settings
    from minutebook.surfaces.cli import Caller, CallerOptions


def main() -> int:
    """Run the command line of this process and return its exit code."""
    from minutebook.operations.registry import REGISTRY
    from minutebook.surfaces.cli import build_cli, run
    from minutebook.surfaces.doctor import doctor_command
    from minutebook.surfaces.init import init_command
    from minutebook.surfaces.restore import restore_command

    program = build_cli(REGISTRY, _open_caller)
    program.add_command(init_command(_open_caller, _stamp))
    program.add_command(doctor_command(_open_service, os.environ))
    program.add_command(restore_command(_restore))
    return run(program, sys.argv[1:], os.environ)


def _open_caller(options: CallerOptions) -> AbstractContextManager[Caller]:
    # Only a command that runs pays for the ledger's imports.
    from minutebook.wiring import open_caller

    return open_caller(options)


def _stamp() -> tuple[str, str]:
    from minutebook.wiring import make_ids, utc_now

    return make_ids().new(), utc_now()


def _open_service(settings: Settings) -> Service:
    from minutebook.wiring import open_service

    return open_service(settings)


def _restore(options: CallerOptions, source: Path, confirm: bool) -> Restored:
    from minutebook.wiring import restore

    return restore(options, source, confirm=confirm)


if __name__ == "__main__":
    sys.exit(main())
