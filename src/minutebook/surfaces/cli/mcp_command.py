"""`minutebook mcp` for the command line's help, and for the forms that the relay does not read by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from minutebook.surfaces.cli.commands import Invocation


def mcp_command(environ: Mapping[str, str]) -> click.Command:
    """The command that a host's configuration names."""
    from minutebook.surfaces.cli.commands import Invocation, global_options

    @click.pass_context
    def run(ctx: click.Context, agent: str | None) -> None:
        from minutebook.surfaces.light import relay

        invocation: Invocation = ctx.find_object(Invocation) or Invocation()
        given = {
            "agent": agent,
            "as": invocation.actor,
            "project": invocation.project,
            "home": invocation.home,
            "database": invocation.database,
        }
        ctx.exit(relay.run(given, environ))

    return click.Command(
        "mcp",
        callback=run,
        short_help="Serve MCP over stdio, for a host's configuration",
        help="Serve MCP over stdio, for a host's configuration.\n\nJoins the service, starts it when it is absent, "
        "and ends with its host. Whoever asks through it is the agent named; with --as a registered actor; "
        "without either, an agent of no name of its own. The project is the one named, else that of the "
        "directory.\n\nExamples:\n\n\b\n  minutebook mcp --agent ripley\n"
        "  claude mcp add minutebook -- minutebook mcp --agent ripley",
        params=[
            click.Option(["--agent"], metavar="NAME", help="Act as this agent and as nobody else."),
            *global_options(),
        ],
        context_settings={"help_option_names": ["-h", "--help"]},
    )
