"""The composition root: settings, clock, ids, the ledger, and who is asking, put together.

What only the ledger's owner needs is imported when there is one: most commands talk to the service.
"""

from __future__ import annotations

import functools
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import minutebook
from minutebook import settings as settings_module
from minutebook.model.errors import MinutebookError
from minutebook.model.times import text_of
from minutebook.settings import Settings

if TYPE_CHECKING:
    from minutebook.call import LongCall, Meaning, Mind, World
    from minutebook.client import Client
    from minutebook.engine.engine import Engine
    from minutebook.files.desk import Desk
    from minutebook.minds.meaning import Choice
    from minutebook.minds.providing import Hosted
    from minutebook.model.actors import Origin
    from minutebook.model.adoption import Ground, Survey
    from minutebook.model.files import FilesStatus, Synced, Wish
    from minutebook.model.ids import Ids
    from minutebook.model.system import Mirror, Presence, Restored
    from minutebook.service import LocalClient, Service
    from minutebook.surfaces.cli.commands import CallerOptions
    from minutebook.surfaces.light.places import Places

SCHEMA = Path(__file__).parent / "ledger" / "schema"

#: Says something beside the answer.
Tell = Callable[[str], None]


def utc_now() -> str:
    return text_of(datetime.now(UTC))


def make_ids() -> Ids:
    from minutebook.model.ids import Ids

    return Ids(lambda: time.time_ns() // 1_000_000, secrets.randbits)


def make_world(settings: Settings, presence: Callable[[], Presence] | None = None) -> World:
    """`presence` tells of the service around the ledger; without one, this process owns it for its own time."""
    from minutebook.call import World
    from minutebook.engine.recording import Recording
    from minutebook.files.evidence import Workspaces

    since = utc_now()
    providers = make_providers(settings)
    return World(
        clock=utc_now,
        ids=make_ids(),
        secret=lambda: secrets.token_hex(32),
        limits=settings.limits,
        home=settings.home,
        presence=presence or (lambda: _alone(since)),
        witness=Workspaces(),
        meaning=make_meaning(settings, providers),
        mind=make_mind(settings),
        traces=Recording(utc_now, days=settings.search_days),
        survey=lambda ground: _survey(ground, providers),
        providers=providers,
        files=_Files(),
    )


def _alone(since: str) -> Presence:
    from minutebook.model.system import Presence

    return Presence(pid=os.getpid(), version=minutebook.__version__, since=since)


class _Files:
    """The desk, made when somebody asks for files: most commands do not, and it takes a while to load."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._made: Desk | None = None

    def desk(self) -> Desk:
        with self._guard:
            if self._made is None:
                from minutebook.files.desk import Desk
                from minutebook.files.drop_box_taking import DropBoxPart
                from minutebook.files.notes import NotesPart
                from minutebook.surfaces.asking import login_of

                person = login_of(os.getuid())
                self._made = Desk(socket.gethostname(), (DropBoxPart(person), NotesPart(person)))
            return self._made

    def status(self, call: LongCall, *, every: bool = False) -> FilesStatus:
        return self.desk().status(call, every=every)

    def sync(self, call: LongCall, wish: Wish) -> Synced:
        return self.desk().sync(call, wish)

    def replace(self, call: LongCall, paths: Sequence[str]) -> Synced:
        return self.desk().replace(call, paths)

    def mirror(self, call: LongCall, project: str | None) -> Mirror:
        return self.desk().mirror(call, project)


def _survey(ground: Ground, providers: Hosted) -> Survey:
    # Few commands look for what can be adopted, and the readers of all these files take a while to load.
    from minutebook.files.adopting import survey

    return survey(ground, providers)


def make_providers(settings: Settings) -> Hosted:
    """Who runs what other packages bring. They see our environment without what is ours alone in it."""
    import sys

    from minutebook.minds.providing import Hosted, Terms

    ours = ("MINUTEBOOK_", "PGPASS")
    terms = Terms(
        python=sys.executable,
        environment={name: value for name, value in os.environ.items() if not name.startswith(ours)},
        folder="/",
        seconds=settings.provider_seconds,
        failures=settings.provider_failures,
        pause=settings.provider_pause,
    )
    return Hosted(terms, time.monotonic, tokens=settings.model_tokens)


def make_mind(settings: Settings) -> Mind | None:
    """The language model that the settings name; none by default, and nothing is sent anywhere without it."""
    if not settings.model_url:
        return None
    from minutebook.minds.embedders import Endpoint
    from minutebook.minds.http_door import Breaker
    from minutebook.minds.models_http import ChatModel

    if not settings.model_name:
        raise MinutebookError("bad_setting", "MINUTEBOOK_MODEL_URL needs MINUTEBOOK_MODEL_NAME beside it.")
    endpoint = Endpoint(settings.model_url, settings.model_name, settings.model_key, settings.model_seconds)
    return ChatModel(endpoint, Breaker(time.monotonic), tokens=settings.model_tokens)


def make_meaning(settings: Settings, providers: Hosted | None = None) -> Meaning:
    """Search by meaning as the settings want it. Nothing is loaded before something is to be embedded."""
    from minutebook.call import NoMeaning
    from minutebook.minds.meaning import Minds

    if settings.embedder == "none":
        return NoMeaning("Search by meaning is turned off: MINUTEBOOK_EMBEDDER")

    @functools.cache
    def choose() -> Callable[[], Choice]:
        from minutebook.minds.choosing import chooser
        from minutebook.minds.embedders import Endpoint

        url, model, key = settings.embedder_url, settings.embedder_model, settings.embedder_key
        return chooser(
            settings.home,
            Endpoint(url, model, key, settings.embedder_seconds) if url else None,
            threads=min(2, os.cpu_count() or 1),
            monotonic=time.monotonic,
            provided=lambda: None if providers is None else providers.embedder(),
        )

    return Minds(lambda: choose()())


def open_service(settings: Settings, presence: Callable[[], Presence] | None = None) -> Service:
    """Open the ledger, become its owner (SQLite), and bring it up to date."""
    from minutebook.ledger.database import open_database
    from minutebook.service import Service

    database = open_database(settings.url, schema=SCHEMA, wait=settings.lock_wait, clock=utc_now)
    world = make_world(settings, presence)
    world.providers.follow(database)
    return Service(database, world)


def open_engine(settings: Settings, service: Service) -> Engine:
    """What works behind the ledger of a running service: one line for each worker."""
    from minutebook.engine.embedding import Embedding
    from minutebook.engine.engine import Engine, Worker
    from minutebook.engine.kinds import job_workers
    from minutebook.engine.providing import Providing
    from minutebook.engine.recording import Recording
    from minutebook.files.mirror_worker import MirrorWorker
    from minutebook.files.place import Means
    from minutebook.files.watcher import Watcher

    means, files = Means(service.database, service.world), service.world.files
    recording = service.world.traces
    assert isinstance(files, _Files)
    assert isinstance(recording, Recording)
    desk = files.desk()
    watcher = Watcher(means, desk)
    workers: list[Worker] = [
        MirrorWorker(means, desk),
        watcher,
        Embedding(service.database, service.world.meaning, utc_now),
        *job_workers(service.database, service.world),
        Providing(service.world.providers),
        recording,
    ]
    engine = Engine(service.database, workers, clock=utc_now)
    recording.serve(service.database, lambda: engine.wake(recording.name))
    watcher.on_change(lambda: engine.wake(watcher.name))
    return engine


# --- callers -----------------------------------------------------------------------------------------


@contextmanager
def open_caller(
    options: CallerOptions, environ: Mapping[str, str] | None = None, tell: Tell | None = None
) -> Iterator[Client]:
    """The command line's caller: of the service, or the ledger's owner for the time of one command."""
    environ = os.environ if environ is None else environ
    settings = _settings_of(options, environ)
    with _client(settings, environ, options.actor, "cli", tell or _warn) as client:
        yield client


def connect(
    *,
    project: str | None = None,
    agent: str | None = None,
    actor: str | None = None,
    home: Path | str | None = None,
    database: str | None = None,
    url: str | None = None,
    token: str | None = None,
) -> Client:
    """Give a Python program its caller. Close it, or use it in a `with`.

    `agent` acts as that agent (registered or not), `actor` as somebody registered; with neither, the caller
    is the person who runs the program, or whoever the token names. The project is the one named, else that of
    the working directory. `url` and `token` lead to a service elsewhere; without them it is the one of the
    home, which is started when it is absent.
    """
    if url is None and (home is not None or database is not None):
        url = ""
    settings = settings_module.load(
        os.environ,
        home=home,
        database_url=database,
        project=project,
        agent=agent,
        service_url=url,
        token=token,
    )
    return _client(settings, os.environ, actor, "python", _warn)


@contextmanager
def open_for_doctor(settings: Settings, environ: Mapping[str, str]) -> Iterator[Client]:
    """Whoever can say how the ledger is: the service if one runs, else its owner for a moment; starts nothing."""
    if settings.service != "never" or settings.service_url:
        from minutebook.surfaces.light import daemon

        if settings.service_url or daemon.owner(_places(settings)) is not None:
            with _client(replace(settings, service="join"), environ, None, "cli", _warn) as client:
                yield client
            return
    with _client(replace(settings, service="never"), environ, None, "cli", _warn) as client:
        yield client


def _client(
    settings: Settings, environ: Mapping[str, str], actor: str | None, origin: str, tell: Tell
) -> Client:
    """A client as the settings want it: of a far service, of the home's, or of a ledger in this process."""
    _check_bound(settings, actor)
    if settings.service_url or settings.service != "never":
        return _remote_client(settings, environ, actor, origin, tell)
    from minutebook.model.actors import Origin

    service = open_service(settings)
    try:
        return _local_client(service, settings, actor, Origin(origin))
    except BaseException:
        service.close()
        raise


def _remote_client(
    settings: Settings, environ: Mapping[str, str], actor: str | None, origin: str, tell: Tell
) -> Client:
    from minutebook.surfaces.remote import RemoteClient, SocketLink, UrlLink

    if settings.service_url:
        link = UrlLink(settings.service_url)
    else:
        link = SocketLink(_places(settings), environ, start=settings.service == "auto", tell=tell)
    said = {
        "Minutebook-Run": settings.run or None,
        "Minutebook-Agent": settings.agent or None,
        "Minutebook-Actor": None if settings.agent else actor,
        "Minutebook-Origin": origin,
        # A path of this machine means something to a service of this machine.
        "Minutebook-Workspace": None if settings.service_url else _workspace(),
    }
    return RemoteClient(link, said, project=_project(settings), token=settings.token or None)


def _local_client(service: Service, settings: Settings, actor: str | None, origin: Origin) -> LocalClient:
    """The ledger's owner asks itself, and is judged as anybody at the socket is."""
    from minutebook.service import LocalClient
    from minutebook.surfaces.asking import Doorkeeper, Said

    uid = os.getuid()
    said = Said(
        agent=settings.agent or None,
        actor=None if settings.agent else actor,
        project=_project(settings),
        run=settings.run or None,
        workspace=_workspace(),
    )
    doorkeeper = Doorkeeper(service, uid=uid)
    if settings.token:
        asker = doorkeeper.by_token(settings.token, said, origin)
    else:
        asker = doorkeeper.by_peer(uid, said, origin)
    return LocalClient(service, **asker.terms())


def _check_bound(settings: Settings, named: str | None) -> None:
    """An environment that binds a process to an agent cannot be talked out of it by a flag."""
    if not settings.agent or named is None:
        return
    from minutebook.model.text import fold_name

    if fold_name(named) != fold_name(settings.agent):
        raise MinutebookError(
            "not_allowed",
            f"This environment acts as {settings.agent!r} (MINUTEBOOK_AGENT) and as nobody else.",
        )


def _project(settings: Settings) -> str | None:
    """The project that the settings name, else that of the working directory."""
    if settings.project:
        return settings.project
    from minutebook.surfaces.light.here import project_of

    return project_of(os.getcwd())


def _workspace() -> str | None:
    """The root of the workspace that the working directory is in. Whose it is, the reader of its files looks at."""
    from minutebook.surfaces.light.here import workspace

    return workspace()


def _places(settings: Settings) -> Places:
    from minutebook.surfaces.light.places import Places

    return Places(str(settings.home), settings.database_url)


def _settings_of(options: CallerOptions, environ: Mapping[str, str]) -> Settings:
    return settings_module.load(
        environ,
        home=options.home,
        database_url=options.database,
        project=options.project,
        # Whoever names a ledger means that one, and not the service that the environment names.
        service_url="" if options.home or options.database else None,
    )


def _warn(message: str) -> None:
    import warnings

    warnings.warn(message, RuntimeWarning, stacklevel=2)


# --- restoring ---------------------------------------------------------------------------------------


def restore(
    options: CallerOptions,
    source: Path,
    *,
    confirm: bool,
    environ: Mapping[str, str] | None = None,
    tell: Tell | None = None,
) -> Restored:
    """Put a backup in the ledger's place, for the person who owns its files.

    It needs the ledger for itself: a service that a command started is ended first, and the next command
    starts it again; one that somebody runs is theirs to end.
    """
    from minutebook.controller.restore import restore as put_back
    from minutebook.ledger.backup import is_archive
    from minutebook.model.actors import Actor, Role
    from minutebook.model.text import fold_name
    from minutebook.surfaces.asking import login_of
    from minutebook.surfaces.running.pausing import paused

    settings = _settings_of(options, os.environ if environ is None else environ)
    _check_bound(settings, options.actor)
    if settings.agent or settings.token or settings.service_url or options.actor is not None:
        # The ledger that could say what they may do is the one that is replaced.
        raise MinutebookError("not_allowed", "Restoring is for the person who owns the ledger's files.")
    is_archive(source)  # a slip in the path must not cost the service its clients
    name = login_of(os.getuid())
    alone = settings.url.startswith("sqlite://") and settings.service != "never"
    with paused(_places(settings), tell or _warn) if alone else nullcontext():
        return put_back(
            settings.url,
            source,
            world=make_world(settings),
            actor=Actor(id=fold_name(name), name=name, role=Role.OPERATOR),
            wait=settings.lock_wait,
            confirm=confirm,
        )
