"""`minutebook restore`: put a backup in the ledger's place.

It is a command and not an operation: an operation runs in the ledger that this one replaces, and restoring is
needed most where that ledger cannot be opened.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from minutebook.model.system import Restored
    from minutebook.surfaces.cli.commands import Answer, CallerOptions

Restore = Callable[["CallerOptions", Path, bool], "Restored"]


def restore_command(restore: Restore) -> click.Command:
    from minutebook.surfaces.cli.commands import Answer, Invocation, global_options

    @click.command(
        "restore",
        short_help="Put a backup in the ledger's place",
        help=(
            "Put a backup in the ledger's place.\n\n"
            "The backup is opened and checked beside the ledger first, and everything that was erased since "
            "is erased in it. Without --confirm that is all, and the answer says what would happen. With it, "
            "the present ledger is kept as a backup, and the restored one takes its place in one step. On "
            "PostgreSQL an archive is restored into an empty ledger.\n\n"
            "Examples:\n\n\b\n"
            "  minutebook restore ~/.minutebook/backups/ledger-20261116T093000.000000Z.db\n"
            "  minutebook restore ledger.db --confirm"
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
        params=[
            click.Argument(["file"]),
            click.Option(["--confirm"], is_flag=True, help="Do it; without it, only say what would happen."),
            *global_options(),
        ],
    )
    @click.pass_context
    def command(ctx: click.Context, file: str, confirm: bool) -> Answer:
        invocation = ctx.find_object(Invocation) or Invocation()
        return Answer(restore(invocation.options, Path(file).expanduser().absolute(), confirm))

    return command
