"""The composition root: settings, clock, ids, the ledger, and who is asking, put together."""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook import settings as settings_module
from minutebook.call import World
from minutebook.files import workspace
from minutebook.ledger.database import open_database
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import Ids
from minutebook.model.text import check_name, fold_name
from minutebook.model.times import text_of
from minutebook.service import LocalClient, Service
from minutebook.settings import Settings

if TYPE_CHECKING:
    from minutebook.model.system import Restored
    from minutebook.surfaces.commands import CallerOptions

SCHEMA = Path(__file__).parent / "ledger" / "schema"


def utc_now() -> str:
    return text_of(datetime.now(UTC))


def make_ids() -> Ids:
    return Ids(lambda: time.time_ns() // 1_000_000, secrets.randbits)


def make_world(settings: Settings) -> World:
    return World(
        clock=utc_now,
        ids=make_ids(),
        secret=lambda: secrets.token_hex(32),
        limits=settings.limits,
        home=settings.home,
    )


def open_service(settings: Settings) -> Service:
    """Open the ledger, become its owner (SQLite), and bring it up to date."""
    database = open_database(settings.url, schema=SCHEMA, wait=settings.lock_wait, clock=utc_now)
    return Service(database, make_world(settings))


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, before anybody looked them up."""

    name: str
    #: what they are if nobody registered them; None refuses strangers
    otherwise: Role | None


def who_asks(settings: Settings, named: str | None) -> Asking:
    """The actor of this process: the agent it was bound to, the one it names, or the person who runs it.

    An environment that binds a process to an agent cannot be talked out of it by a flag.
    """
    if settings.agent:
        if named is not None and fold_name(named) != fold_name(settings.agent):
            raise MinutebookError(
                "not_allowed",
                f"This environment acts as {settings.agent!r} (MINUTEBOOK_AGENT) and as nobody else.",
            )
        return Asking(settings.agent, Role.AGENT)
    if named is not None:
        return Asking(named, None)
    return Asking(_login(), Role.OPERATOR)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"  # a container's user often has no name


def actor_of(service: Service, asking: Asking) -> Actor:
    known = service.actor(asking.name)
    if known is not None:
        return known
    if asking.otherwise is None:
        raise MinutebookError(
            "not_found",
            f"There is no actor {asking.name[:80]!r}.",
            hint=f"minutebook actors add {asking.name[:80]}",
        )
    name = check_name(asking.name, "actor")
    return Actor(id=fold_name(name), name=name, role=asking.otherwise)


def client_for(
    service: Service, settings: Settings, *, asking: Asking, origin: Origin, directory: Path | None
) -> LocalClient:
    """A caller for one actor and the project that settings or the directory name."""
    actor = actor_of(service, asking)
    project = settings.project or None
    if project is None and directory is not None:
        binding = workspace.find(directory)
        project = None if binding is None else binding.project
    return LocalClient(service, actor=actor, origin=origin, project=project, run=settings.run or None)


def restore(
    options: CallerOptions, source: Path, *, confirm: bool, environ: Mapping[str, str] | None = None
) -> Restored:
    """Put a backup in the ledger's place, for the person who owns its files."""
    from minutebook.controller.restore import restore as put_back

    settings = settings_module.load(
        os.environ if environ is None else environ, home=options.home, database_url=options.database
    )
    asking = who_asks(settings, options.actor)
    if asking.otherwise is not Role.OPERATOR:
        # The ledger that could say what they may do is the one that is replaced.
        raise MinutebookError("not_allowed", "Restoring is for the person who owns the ledger's files.")
    actor = Actor(id=fold_name(asking.name), name=asking.name, role=Role.OPERATOR)
    return put_back(
        settings.url,
        source,
        world=make_world(settings),
        actor=actor,
        wait=settings.lock_wait,
        confirm=confirm,
    )


@contextmanager
def open_caller(options: CallerOptions, environ: Mapping[str, str] | None = None) -> Iterator[LocalClient]:
    """The command line's caller: it owns the ledger for the time of one command."""
    settings = settings_module.load(
        os.environ if environ is None else environ,
        home=options.home,
        database_url=options.database,
        project=options.project,
    )
    asking = who_asks(settings, options.actor)
    service = open_service(settings)
    try:
        yield client_for(service, settings, asking=asking, origin=Origin.CLI, directory=Path.cwd())
    finally:
        service.close()


def connect(
    *,
    project: str | None = None,
    agent: str | None = None,
    actor: str | None = None,
    home: Path | str | None = None,
    database: str | None = None,
) -> LocalClient:
    """Open the ledger for a Python program and return its caller. Close it, or use it in a `with`.

    `agent` acts as that agent (registered or not), `actor` as somebody registered; with neither, the caller
    is the person who runs the program. The project is the one named, else that of the working directory.
    """
    settings = settings_module.load(
        os.environ, home=home, database_url=database, project=project, agent=agent
    )
    asking = who_asks(settings, actor)
    service = open_service(settings)
    try:
        return client_for(service, settings, asking=asking, origin=Origin.PYTHON, directory=Path.cwd())
    except BaseException:
        service.close()
        raise
