"""`python -m minutebook`, and the `minutebook` command."""

from __future__ import annotations

import os
import sys

# Not from `typing`: the relay comes through here too.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from minutebook.client import Client
    from minutebook.engine.engine import Engine
    from minutebook.model.system import Presence, Restored
    from minutebook.service import Service
    from minutebook.settings import Settings
    from minutebook.surfaces.cli.program import Caller, CallerOptions


def main() -> int:
    """Run the command line of this process and return its exit code."""
    if sys.argv[1:2] == ["mcp"]:
        # Every agent's host starts one of these, so it pays for nothing that it does not need.
        from minutebook.surfaces.light import relay

        code = relay.main(sys.argv[2:], os.environ)
        if code is not None:
            return code

    from minutebook.operations.registry import REGISTRY
    from minutebook.surfaces.cli.connect import connect_command
    from minutebook.surfaces.cli.doctor import doctor_command
    from minutebook.surfaces.cli.init import init_command
    from minutebook.surfaces.cli.mcp_command import mcp_command
    from minutebook.surfaces.cli.models import models_command
    from minutebook.surfaces.cli.program import build_cli, run
    from minutebook.surfaces.cli.restore import restore_command
    from minutebook.surfaces.cli.service_commands import service_commands
    from minutebook.surfaces.running.parts import Parts

    program = build_cli(REGISTRY, _open_caller)
    program.add_command(init_command(_open_caller, _stamp))
    program.add_command(doctor_command(_open_for_doctor, os.environ))
    program.add_command(connect_command(os.environ, _now))
    program.add_command(restore_command(_restore))
    program.add_command(models_command(os.environ))
    program.add_command(mcp_command(os.environ))
    for command in service_commands(Parts(_open_service, _open_engine, _now), os.environ):
        program.add_command(command)
    return run(program, sys.argv[1:], os.environ)


def _open_caller(options: CallerOptions) -> AbstractContextManager[Caller]:
    # Only a command that runs pays for the ledger's imports.
    from minutebook.wiring import open_caller

    return open_caller(options, tell=_say)


def _stamp() -> tuple[str, str]:
    from minutebook.wiring import make_ids, utc_now

    return make_ids().new(), utc_now()


def _now() -> str:
    from minutebook.wiring import utc_now

    return utc_now()


def _open_service(settings: Settings, presence: Callable[[], Presence] | None = None) -> Service:
    from minutebook.wiring import open_service

    return open_service(settings, presence)


def _open_engine(settings: Settings, service: Service) -> Engine:
    from minutebook.wiring import open_engine

    return open_engine(settings, service)


def _open_for_doctor(settings: Settings) -> AbstractContextManager[Client]:
    from minutebook.wiring import open_for_doctor

    return open_for_doctor(settings, os.environ)


def _restore(options: CallerOptions, source: Path, confirm: bool) -> Restored:
    from minutebook.wiring import restore

    return restore(options, source, confirm=confirm, tell=_say)


def _say(message: str) -> None:
    print(f"note: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
