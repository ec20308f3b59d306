"""`minutebook connect`: ready configuration for the programs that agents live in.

It shows what to put where, or has it put there (`setting_up.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from minutebook.settings import Settings
    from minutebook.surfaces.cli.commands import Answer, Invocation
    from minutebook.surfaces.hosts.known import Host, Wanted
    from minutebook.surfaces.hosts.setting_up import Plan, Setup


def connect_command(environ: Mapping[str, str], clock: Callable[[], str]) -> click.Command:
    from minutebook.surfaces.cli.commands import Answer, Invocation, global_options

    @click.command(
        "connect",
        short_help="Configure Claude Code, Codex, Cursor, VS Code, Gemini CLI or opencode",
        help=(
            "Print ready configuration for the programs that agents live in, or write it.\n\n"
            "HOST is one of claude-code, codex, cursor, vscode, gemini-cli, opencode; without one, those found on this machine are shown. "
            "--write merges the configuration into the host's file: everything else in it stays as it is, a "
            "backup is kept beside it, and a file that is not valid, or has remarks, is left alone.\n\n"
            "Examples:\n\n\b\n"
            "  minutebook connect claude-code\n"
            "  minutebook connect codex cursor --agent ripley --write\n"
            "  minutebook connect gemini-cli --hooks --write --dry-run\n"
            "  minutebook connect vscode --transport http --scope project"
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
        params=[
            click.Argument(["hosts"], nargs=-1, metavar="[HOST]…"),
            click.Option(
                ["--transport"],
                type=click.Choice(["stdio", "http"]),
                default="stdio",
                help="How the host reaches minutebook.  [default: stdio]",
            ),
            click.Option(
                ["--scope"],
                type=click.Choice(["user", "project"]),
                default="user",
                help="For all projects, or in this directory's own files.  [default: user]",
            ),
            click.Option(
                ["--hooks"], is_flag=True, help="Also what is called when a session starts or ends."
            ),
            click.Option(
                ["--agent"],
                metavar="NAME",
                help="Who the host acts as, and as nobody else; its own name if not given.",
            ),
            click.Option(["--write"], is_flag=True, help="Put it into the host's files."),
            click.Option(["--remove"], is_flag=True, help="Take out of them what is ours."),
            click.Option(["--dry-run"], is_flag=True, help="Show the difference, and write nothing."),
            click.Option(
                ["--show-token"], is_flag=True, help="Write the token of MINUTEBOOK_TOKEN itself into it."
            ),
            *global_options(),
        ],
    )
    @click.pass_context
    def connect(ctx: click.Context, hosts: tuple[str, ...], **flags: Any) -> Answer:
        invocation = ctx.find_object(Invocation) or Invocation()
        found = _connect(invocation, hosts, flags, environ, clock)
        refused = any(setup.outcome == "refused" for setup in found)
        if invocation.output == "human" and not invocation.quiet:
            click.echo(_told(found))
            return Answer(None, code=2 if refused else 0)
        return Answer(found, code=2 if refused else 0)

    return connect


def _connect(
    invocation: Invocation,
    hosts: Sequence[str],
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    clock: Callable[[], str],
) -> tuple[Setup, ...]:
    from minutebook import settings as settings_module
    from minutebook.model.errors import MinutebookError
    from minutebook.surfaces.hosts.setting_up import Plan, set_up

    if flags["write"] and flags["remove"]:
        raise MinutebookError("invalid_input", "Give --write or --remove, not both.")
    settings = settings_module.load(
        environ, home=invocation.home, database_url=invocation.database, project=invocation.project
    )
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    wanted = _wanted(settings, environ, flags)
    act = "remove" if flags["remove"] else "write" if flags["write"] or flags["dry_run"] else "show"
    plan = Plan(
        act=act,
        dry=flags["dry_run"],
        hooks=flags["hooks"] or act == "remove",
        wanted=wanted,
        home=home,
        root=Path.cwd(),
        stamp=clock()[:19].replace("-", "").replace(":", "") + "Z",
        secret_address=_has_password(settings.database_url),
    )
    chosen = _chosen(hosts, plan, environ)
    return tuple(setup for host in chosen for setup in set_up(host, plan))


def _chosen(hosts: Sequence[str], plan: Plan, environ: Mapping[str, str]) -> list[Host]:
    from minutebook.model.errors import MinutebookError
    from minutebook.surfaces.hosts.known import ALIASES, HOSTS

    names = [ALIASES.get(name.casefold(), name.casefold()) for name in hosts]
    unknown = [name for name in names if name not in HOSTS]
    if unknown:
        raise MinutebookError(
            "invalid_input",
            f"There is no host {unknown[0][:40]!r} that minutebook knows.",
            hint="any host that speaks MCP can run: minutebook mcp",
            known=list(HOSTS),
        )
    if names:
        return [HOSTS[name] for name in dict.fromkeys(names)]
    here = [host for host in HOSTS.values() if is_here(host, plan.home, environ)]
    if plan.act != "show":
        raise MinutebookError(
            "invalid_input",
            "Name the hosts whose files are meant.",
            hint=f"found on this machine: {', '.join(host.id for host in here) or 'none'}",
        )
    return here or list(HOSTS.values())


def is_here(host: Host, home: Path, environ: Mapping[str, str]) -> bool:
    """Whether the host is on this machine: its command, or the directory that it makes."""
    import shutil

    return (
        shutil.which(host.program, path=environ.get("PATH")) is not None or (home / host.trace[2:]).is_dir()
    )


# --- what it should say ------------------------------------------------------------------------------


def _wanted(settings: Settings, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Wanted:
    from minutebook.model.errors import MinutebookError
    from minutebook.surfaces.hosts.known import HOOK_PROGRAM, NAME, Wanted

    if flags["show_token"] and not settings.token:
        raise MinutebookError(
            "invalid_input",
            "There is no token to show.",
            hint="make one with `minutebook tokens create`, then set MINUTEBOOK_TOKEN for this command",
        )
    project = flags["scope"] == "project"
    return Wanted(
        transport=flags["transport"],
        scope=flags["scope"],
        # A file that is committed names no path of this machine; a host that is started from a desktop
        # finds nothing without one.
        command=NAME if project else program_path(NAME, environ),
        hook_command=HOOK_PROGRAM if project else program_path(HOOK_PROGRAM, environ),
        url=mcp_url(settings) if flags["transport"] == "http" else "",
        token=settings.token if flags["show_token"] else None,
        agent=flags["agent"] or settings.agent or None,
        project=settings.project or None,
        environment={} if project else _environment(settings, environ),
    )


def program_path(name: str, environ: Mapping[str, str]) -> str:
    """The installed program beside this one, or the one that the shell finds."""
    for folder in (Path(sys.argv[0]).parent, Path(sys.executable).parent):
        if os.access(folder / name, os.X_OK):
            return str((folder / name).absolute())
    import shutil

    return shutil.which(name, path=environ.get("PATH")) or name


def _environment(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """What a host's process must be told to reach the same ledger. A password is never written down."""
    said: dict[str, str] = {}
    if settings.home != Path(environ.get("HOME") or os.path.expanduser("~")) / ".minutebook":
        said["MINUTEBOOK_HOME"] = str(settings.home)
    if settings.database_url and not _has_password(settings.database_url):
        said["MINUTEBOOK_DATABASE_URL"] = settings.database_url
    if settings.service_url:
        said["MINUTEBOOK_SERVICE_URL"] = settings.service_url
    return said


def _has_password(url: str) -> bool:
    authority = url.partition("://")[2].partition("/")[0]
    return ":" in authority.rpartition("@")[0] or "password=" in url


def mcp_url(settings: Settings) -> str:
    """Where MCP is served over HTTP: by a service elsewhere, by the one that runs, or by the next one."""
    from minutebook.surfaces.light import daemon
    from minutebook.surfaces.light.places import Places

    if settings.service_url:
        return settings.service_url.rstrip("/") + "/mcp"
    places = Places(str(settings.home), settings.database_url)
    facts = daemon.facts_of(places) or {}
    if isinstance(facts.get("url"), str):
        return facts["url"].rstrip("/") + "/mcp"
    return f"http://{settings.host}:{settings.port or _last_port(places.port)}/mcp"


def _last_port(file: str) -> int:
    try:
        text = Path(file).read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        text = ""
    return int(text) if text.isdigit() else 8646


# --- in words ----------------------------------------------------------------------------------------

_SENTENCES = {
    "shown": "put this into {file}:",
    "written": "written to {file}.",
    "unchanged": "{file} says so already.",
    "would change": "{file} would change:",
    "removed": "taken out of {file}.",
    "absent": "nothing of ours in {file}.",
    "refused": "{file}: {problem}",
}


def _told(setups: Sequence[Setup]) -> str:
    """What a person reads: nothing is wrapped, because it is there to be copied."""
    from minutebook.model.text import visible
    from minutebook.surfaces.hosts.known import HOSTS

    blocks = []
    for setup in setups:
        part = "hooks" if setup.part == "hooks" else "server"
        where = setup.file or "no file"
        said = _SENTENCES[setup.outcome].format(file=where, problem=setup.problem)
        lines = [f"{HOSTS[setup.host].title}, {part}: {said}"]
        shown = setup.diff if setup.outcome == "would change" else ""
        if setup.outcome in ("shown", "refused"):
            shown = setup.text
        if shown:
            lines += ["", *[f"    {line}" for line in shown.rstrip("\n").split("\n")]]
        if setup.command and setup.outcome in ("shown", "refused"):
            lines += ["", "  or run:", "", f"    {setup.command}"]
        if setup.backup:
            lines.append(f"  The file as it was: {setup.backup}")
        if setup.steps and setup.outcome != "unchanged":
            lines += ["", *[f"  {step}" for step in setup.steps]]
        blocks.append("\n".join(lines))
    return visible("\n\n".join(blocks))
