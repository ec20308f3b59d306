"""`minutebook serve`, `stop`, `status` and `restart`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from minutebook.settings import Settings
    from minutebook.surfaces.cli.commands import Answer, Invocation
    from minutebook.surfaces.light.places import Places
    from minutebook.surfaces.running.parts import Parts
    from minutebook.surfaces.running.standing import Running, Standing

#: The exit code of `status` where no service runs: there is nothing of that name.
ABSENT = 3
_PAUSE = 0.02


def service_commands(parts: Parts, environ: Mapping[str, str]) -> list[click.Command]:
    """The commands that concern the service as a process."""
    return [
        _serve_command(parts, environ),
        _stop_command(environ),
        _status_command(environ),
        _restart_command(environ),
    ]


def _command(name: str, short: str, text: str, examples: str, params: list[click.Parameter], act: Any) -> Any:
    from minutebook.surfaces.cli.commands import Invocation, global_options

    @click.pass_context
    def run(ctx: click.Context, **given: Any) -> Any:
        return act(ctx.find_object(Invocation) or Invocation(), **given)

    return click.Command(
        name,
        callback=run,
        short_help=short,
        help=f"{short}.\n\n{text}\n\nExamples:\n\n\b\n{examples}",
        params=[*params, *global_options()],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


# --- serve -------------------------------------------------------------------------------------------


def _serve_command(parts: Parts, environ: Mapping[str, str]) -> click.Command:
    def serve(
        invocation: Invocation,
        host: str | None,
        port: int | None,
        background: bool,
        with_parent: bool,
        ready_fd: int | None,
    ) -> Answer | None:
        from minutebook.model.errors import MinutebookError

        if background and with_parent:
            raise MinutebookError(
                "invalid_input", "--background outlives its parent, --with-parent does not: give one of them."
            )
        given = {"MINUTEBOOK_HOST": host, "MINUTEBOOK_PORT": None if port is None else str(port)}
        meant = {**environ, **{name: value for name, value in given.items() if value is not None}}
        if background and ready_fd is None:
            return _in_background(invocation, meant)
        parent = os.getppid() if with_parent else None
        tell = _Ready(ready_fd)
        try:
            if background:
                _detach()
            return _serve(invocation, meant, parts, background, parent, tell)
        except MinutebookError as error:
            tell.failed(error)
            raise
        except Exception as error:
            tell.failed(MinutebookError("internal", f"{type(error).__name__}: {error}"[:500]))
            raise

    return _command(
        "serve",
        "Run the service that all agents share",
        "Owns the ledger and opens it over HTTP on the loopback, over a unix socket, and for MCP. Other commands "
        "find it by itself and start it when it is absent, so this command is for those who want to see it, keep "
        "it under a supervisor, or choose its port. Ctrl-C or SIGTERM ends it, when every request it took has "
        "its answer.",
        "  minutebook serve\n  minutebook serve --port 8700\n  minutebook serve --background",
        [
            click.Option(["--host"], metavar="ADDRESS", help="Where to listen, if not 127.0.0.1."),
            click.Option(["--port"], metavar="NUMBER", type=click.IntRange(1, 65535), help="The port."),
            click.Option(["--background"], is_flag=True, help="Start it, say where it listens, and return."),
            click.Option(["--with-parent"], is_flag=True, help="End when the process ends that started it."),
            click.Option(["--ready-fd"], type=int, hidden=True),
        ],
        serve,
    )


class _Ready:
    """Tells the command that started us that we are ready, or what went wrong; once."""

    def __init__(self, descriptor: int | None) -> None:
        # -1: it does not wait for it
        self._descriptor = None if descriptor is None or descriptor < 0 else descriptor

    def ready(self) -> None:
        self._say(b"ready\n")

    def failed(self, error: Any) -> None:
        import json

        from minutebook.operations.plain import to_plain

        self._say(json.dumps(to_plain(error.as_dict())).encode())

    def _say(self, words: bytes) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            os.write(descriptor, words)
        except BrokenPipeError:
            pass  # whoever started us did not wait; others will come
        finally:
            os.close(descriptor)


def _detach() -> None:
    """Leave the process behind that started us, so that nobody has to wait for our end."""
    if os.fork() > 0:
        os._exit(0)


def _in_background(invocation: Invocation, environ: Mapping[str, str]) -> Answer:
    from minutebook.surfaces.cli.commands import Answer
    from minutebook.surfaces.light import daemon
    from minutebook.surfaces.running.standing import Serving

    places = _places(invocation, environ)
    before = daemon.owner(places)
    daemon.join(places, places.socket, environ=environ).close()
    running = _needed(places)
    return Answer(Serving(sentence=_found(running) if before else _began(running), service=running))


def _serve(
    invocation: Invocation,
    environ: Mapping[str, str],
    parts: Parts,
    background: bool,
    parent: int | None,
    tell: _Ready,
) -> Answer | None:
    from minutebook.surfaces.cli.commands import Answer
    from minutebook.surfaces.running.standing import Serving

    settings = _settings(invocation, environ)
    places = _places_of(settings)
    lock = _take_lock(places, settings.lock_wait)
    if lock is None:
        tell.ready()
        running = _needed(places)
        return Answer(Serving(sentence=_found(running), service=running))
    from minutebook.surfaces.running.serve import Terms, serve

    def ready(running: Running) -> None:
        if not background:
            _print(invocation, environ, Serving(sentence=_began(running), service=running))
        tell.ready()

    terms = Terms(
        settings=settings,
        places=places,
        environ=environ,
        background=background,
        parent=parent,
        ready=ready,
    )
    serve(terms, lock, parts)
    return None


def _take_lock(places: Places, patience: float) -> int | None:
    """The service's lock; None when another service has it and answers. One that is ending is waited for."""
    from minutebook.surfaces.light import daemon

    deadline = time.monotonic() + patience + daemon.START_SECONDS
    while True:
        lock = daemon.take_lock(places)
        if lock is not None:
            return lock
        said = daemon.ask(places)
        if said is not None and said["state"] == "running":
            return None
        if time.monotonic() > deadline:
            raise daemon.silent(places)
        time.sleep(_PAUSE)


def _began(running: Running) -> str:
    return f"minutebook {running.version} serves {running.ledger} (process {running.pid})."


def _found(running: Running) -> str:
    from minutebook.model.times import to_the_minute

    return f"The service runs already: minutebook {running.version}, process {running.pid}, since {to_the_minute(running.since)}."


def _print(invocation: Invocation, environ: Mapping[str, str], value: Any) -> None:
    import sys

    from minutebook.surfaces.cli import output

    screen = output.Screen.of(sys.stdout, sys.stderr, environ)
    if invocation.no_color:
        screen = screen.plain()
    output.show(value, None, invocation.output, invocation.quiet, "minutebook serve", screen)
    screen.out.flush()


# --- stop, status, restart ---------------------------------------------------------------------------


def _stop_command(environ: Mapping[str, str]) -> click.Command:
    def stop(invocation: Invocation, force: bool) -> Answer:
        from minutebook.surfaces.cli.commands import Answer
        from minutebook.surfaces.light import daemon
        from minutebook.surfaces.running.standing import Stopped

        pid = daemon.stop(_places(invocation, environ), force=force)
        said = "No service runs here." if pid is None else f"The service (process {pid}) has ended."
        return Answer(Stopped(pid=pid, sentence=said))

    return _command(
        "stop",
        "End the service, when it has finished what it took",
        "Waits until it has ended. The next command that needs the service starts it again.",
        "  minutebook stop\n  minutebook stop --force",
        [click.Option(["--force"], is_flag=True, help="Kill it; what was acknowledged is on the disk.")],
        stop,
    )


def _status_command(environ: Mapping[str, str]) -> click.Command:
    def status(invocation: Invocation) -> Answer:
        from minutebook.surfaces.cli.commands import Answer

        standing = standing_of(_places(invocation, environ))
        return Answer(standing, code=ABSENT if standing.state == "absent" else 0)

    return _command(
        "status",
        "Say whether the service runs, where it listens and who is connected",
        "Asks the service over its socket and never starts it. Exits with 3 where none runs.",
        "  minutebook status\n  minutebook status -o json",
        [],
        status,
    )


def _restart_command(environ: Mapping[str, str]) -> click.Command:
    def restart(invocation: Invocation, force: bool) -> Answer:
        from minutebook.surfaces.light import daemon

        daemon.stop(_places(invocation, environ), force=force)
        return _in_background(invocation, environ)

    return _command(
        "restart",
        "End the service and start it again",
        "Needed after an upgrade of minutebook or a change of its settings, which a service reads when it begins.",
        "  minutebook restart",
        [click.Option(["--force"], is_flag=True, help="Kill it rather than wait for it.")],
        restart,
    )


def standing_of(places: Places) -> Standing:
    """How the service is, as it says itself; an error when it is there and does not answer."""
    import minutebook
    from minutebook.operations.plain import from_plain
    from minutebook.surfaces.light import daemon
    from minutebook.surfaces.running.standing import Standing

    said = daemon.ask(places)
    if said is None and daemon.owner(places) is not None:
        # It has the lock and no door: on its way in or out.
        return Standing(state="ending" if daemon.facts_of(places) else "starting", home=places.home)
    if said is None:
        advice = "the next command starts it; or: minutebook serve"
        return Standing(state="absent", home=places.home, advice=advice)
    version = said["service"]["version"]
    advice = ""
    if version != minutebook.__version__:
        advice = f"it is minutebook {version}, this is {minutebook.__version__}: minutebook restart"
    return from_plain(Standing, {**said, "advice": advice})


def _needed(places: Places) -> Running:
    from minutebook.surfaces.light import daemon

    found = standing_of(places).service
    if found is None:
        raise daemon.silent(places)
    return found


def _settings(invocation: Invocation, environ: Mapping[str, str]) -> Settings:
    from minutebook import settings as settings_module

    return settings_module.load(environ, home=invocation.home, database_url=invocation.database)


def _places(invocation: Invocation, environ: Mapping[str, str]) -> Places:
    return _places_of(_settings(invocation, environ))


def _places_of(settings: Settings) -> Places:
    from minutebook.surfaces.light.places import Places

    return Places(str(settings.home), settings.database_url)
