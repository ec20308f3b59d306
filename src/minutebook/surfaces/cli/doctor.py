"""`minutebook doctor`: what is wrong, and what to do, also where the ledger cannot be opened.

It looks from the outside in: the program, its settings, the home, this directory, the ledger, its health. It
creates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from minutebook.client import Client
    from minutebook.files.workspace import Binding
    from minutebook.model.system import Diagnosis, Finding, Health
    from minutebook.settings import Settings
    from minutebook.surfaces.cli.commands import Answer, CallerOptions

#: Opens the ledger, or the way to the service that has it.
OpenClient = Callable[["Settings"], AbstractContextManager["Client"]]

#: Seconds to wait for another owner: doctor says who it is rather than queue behind it.
_PATIENCE = 2.0
#: Below this the next write may find no room.
_LITTLE_ROOM = 64 * 1024**2
#: Seconds after which a working folder belongs to no command any more.
_LEFT_OVER = 3600
#: Parts that come with an extra, by the package that shows it.
_OPTIONAL = {"postgres": "psycopg", "semantic": "onnxruntime"}
#: Set by shells and by us, and no settings.
_OTHER_VARIABLES = frozenset({"MINUTEBOOK_DEBUG"})


def doctor_command(open_client: OpenClient, environ: Mapping[str, str]) -> click.Command:
    from minutebook.surfaces.cli.commands import Answer, Invocation, global_options

    @click.command(
        "doctor",
        short_help="Say what is wrong, and what to do",
        help=(
            "Say what is wrong, and what to do.\n\n"
            "Looks at the program, its settings, the home directory, this directory's workspace file and the "
            "ledger, also where the ledger cannot be opened. Creates nothing. Exits with 8 if something does "
            "not work.\n\n"
            "Examples:\n\n\b\n"
            "  minutebook doctor\n"
            "  minutebook doctor -o json"
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
        params=[*global_options()],
    )
    @click.pass_context
    def doctor(ctx: click.Context) -> Answer:
        from pathlib import Path

        from minutebook.model.errors import EXIT_CODES, Kind

        invocation = ctx.find_object(Invocation) or Invocation()
        found = diagnose(open_client, environ, invocation.options, Path.cwd())
        return Answer(found, code=EXIT_CODES[Kind.UNAVAILABLE] if found.state == "error" else 0)

    return doctor


def diagnose(
    open_client: OpenClient, environ: Mapping[str, str], options: CallerOptions, here: Path
) -> Diagnosis:
    """Everything that can be said, from the outside in; one trouble does not hide the rest."""
    from minutebook import settings as settings_module
    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Diagnosis, Finding

    findings = [*_program(), _extras(), *_variables(environ)]
    health: Health | None = None
    try:
        settings = settings_module.load(
            environ, home=options.home, database_url=options.database, project=options.project
        )
    except MinutebookError as error:
        findings.append(Finding("error", error.message, "set the variable right, or unset it"))
    else:
        findings += _home(settings)
        binding, said = _workspace(here)
        findings += said
        findings += _service(settings)
        said, health = _ledger(open_client, settings, binding)
        findings += said
        findings += _hosts(settings, environ, here if binding is None else binding.root)
    states = {finding.state for finding in findings}
    worst = "error" if "error" in states else "warning" if "warning" in states else "ok"
    return Diagnosis(worst, tuple(findings), health)


# --- the program and its settings --------------------------------------------------------------------


def _program() -> Iterator[Finding]:
    import platform

    import apsw

    import minutebook
    from minutebook.ledger.sqlite_files import check_library
    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Finding

    library = apsw.sqlite_lib_version()
    said = f"minutebook {minutebook.__version__}, Python {platform.python_version()}, SQLite {library}"
    try:
        check_library(library)
    except MinutebookError as error:
        yield Finding("error", error.message, "pip install --upgrade apsw")
    else:
        yield Finding("ok", said)


def _extras() -> Finding:
    """Which optional parts are installed; what needs one that is missing says so itself."""
    from importlib.metadata import PackageNotFoundError, version

    from minutebook.model.system import Finding

    found = []
    for name, package in _OPTIONAL.items():
        try:
            found.append(f"{name} ({package} {version(package)})")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return Finding("ok", f"Optional parts: {', '.join(found)}.")


def _variables(environ: Mapping[str, str]) -> Iterator[Finding]:
    from minutebook import settings as settings_module
    from minutebook.model.system import Finding

    known = {row.environment for row in settings_module.table()} | _OTHER_VARIABLES
    for name in sorted(environ):
        if name.startswith("MINUTEBOOK_") and name not in known and not name.startswith("MINUTEBOOK_TEST_"):
            yield Finding("warning", f"{name} is no setting of minutebook.", "look for a slip of the pen")


# --- the home ----------------------------------------------------------------------------------------


def _home(settings: Settings) -> Iterator[Finding]:
    import os
    import shutil
    import stat
    import time

    from minutebook.ledger import erasure
    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Finding

    home = settings.home
    try:
        found = home.stat()
    except FileNotFoundError:
        yield Finding("ok", f"{home} is not there yet.", "the first command that writes creates it")
        return
    except OSError as error:
        yield Finding("error", f"{home}: {error.strerror}.", "name another home with MINUTEBOOK_HOME")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("error", f"{home} is not a directory.", "name another home with MINUTEBOOK_HOME")
        return
    if found.st_uid != os.getuid():
        yield Finding(
            "warning", f"{home} belongs to user {found.st_uid}, not to you.", "use a home of your own"
        )
    if found.st_mode & 0o077:
        yield Finding("warning", f"Others may look into {home}.", f"chmod 700 {home}")
    if not os.access(home, os.W_OK | os.X_OK):
        yield Finding("error", f"{home} cannot be written to.", "give your user write permission there")
    for left in sorted((*home.glob(".restore-*"), *home.glob("backups/.proof-*"))):
        if time.time() - left.stat().st_mtime > _LEFT_OVER:
            yield Finding("warning", f"{left} was left by an interrupted command.", f"rm -r {left}")
    free = shutil.disk_usage(home).free
    state = "error" if free < _LITTLE_ROOM else "ok"
    yield Finding(
        state, f"{home}: {free // 1024**2:,} MiB free.", "free some room" if state == "error" else ""
    )
    try:
        erasure.noted(home)
    except MinutebookError as error:
        yield Finding("error", error.message, str(error.details.get("hint", "")))


# --- this directory ----------------------------------------------------------------------------------


def _workspace(here: Path) -> tuple[Binding | None, list[Finding]]:
    from minutebook.files import workspace
    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Finding

    try:
        binding = workspace.find(here)
    except MinutebookError as error:
        return None, [Finding("error", error.message, str(error.details.get("hint", "")))]
    if binding is None:
        return None, [
            Finding("ok", "This directory belongs to no project.", "minutebook init binds it to one")
        ]
    return binding, [Finding("ok", f"{binding.file} names the project {binding.name or binding.project}.")]


def _project(client: Client, binding: Binding) -> Iterator[Finding]:
    import socket
    from pathlib import Path

    from minutebook.files import workspace
    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Finding
    from minutebook.operations.registry import REGISTRY

    try:
        view = client.invoke(REGISTRY.get("projects.show"), {"ref": binding.project})
    except MinutebookError as error:
        if error.code != "not_found":
            raise
        yield Finding(
            "warning",
            f"The project {binding.name or binding.project} of this directory is unknown to this ledger.",
            "minutebook init takes it in; or another home or database was meant",
        )
        return
    host = socket.gethostname()
    places = []
    for place in view.workspaces:
        file = Path(place.path) / workspace.FOLDER / workspace.NAME
        if place.host == host and file.exists():
            try:
                same = workspace.read(file).project == binding.project
            except MinutebookError as error:
                yield Finding("warning", error.message, str(error.details.get("hint", "")))
                continue
            if same:
                places.append(place.path)
    if len(places) > 1:
        yield Finding(
            "warning",
            f"The same project id lies in {' and '.join(places)}.",
            "right for clones and worktrees; a copy that is a project of its own must lose its "
            "workspace.toml, then minutebook init there",
        )


# --- the service, and those who reach it -------------------------------------------------------------


def _service(settings: Settings) -> Iterator[Finding]:
    from minutebook.surfaces.cli import doctor_service

    yield from doctor_service.service_findings(settings)


def _hosts(settings: Settings, environ: Mapping[str, str], root: Path) -> Iterator[Finding]:
    from pathlib import Path

    from minutebook.surfaces.cli import doctor_hosts, doctor_service

    if home := environ.get("HOME"):  # somebody without one has no files of hosts either
        look = doctor_hosts.Look(settings, environ, Path(home), root)
        yield from doctor_hosts.host_findings(look)
    yield from doctor_service.hook_findings(settings)


# --- the ledger --------------------------------------------------------------------------------------

_ADVICE = {
    "ledger_busy": "wait for that process, or end it if it hangs",
    "ledger_newer": "upgrade minutebook",
    "ledger_damaged": "minutebook restore BACKUP; look into the home's backups",
    "ledger_gone": "minutebook restore BACKUP",
    "cannot_open": "look at the path, the server and the permissions",
    "disk_full": "free some room",
}


def _ledger(
    open_client: OpenClient, settings: Settings, binding: Binding | None
) -> tuple[list[Finding], Health | None]:
    from dataclasses import replace
    from pathlib import Path

    from minutebook.model.errors import MinutebookError
    from minutebook.model.system import Finding
    from minutebook.operations.registry import REGISTRY

    url = settings.url
    file = Path(url.removeprefix("sqlite://")) if url.startswith("sqlite://") else None
    if file is not None and not file.exists():
        return [Finding("ok", f"{file} is not there yet.", "the first command that writes creates it")], None
    try:
        with open_client(replace(settings, lock_wait=min(settings.lock_wait, _PATIENCE))) as client:
            health = client.invoke(REGISTRY.get("system.health"), {})
            kind = f"{health.engine} {health.version}, schema {health.schema_version}"
            about = f"{health.where}: {kind}, {health.state}."
            findings = [Finding("ok", about), *health.findings]
            if binding is not None:
                findings += _project(client, binding)
            return findings, health
    except MinutebookError as error:
        # Somebody who is at work is no trouble; only the inside cannot be looked at now.
        state = "warning" if error.code == "ledger_busy" else "error"
        advice = _ADVICE.get(error.code, str(error.details.get("hint", "")))
        return [Finding(state, error.message, advice)], None
