"""What doctor finds out about the service from outside: whether it runs, answers, and is of this version."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import minutebook
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Finding
from minutebook.model.times import to_the_minute
from minutebook.settings import Settings
from minutebook.surfaces.light import daemon, receipts
from minutebook.surfaces.light.places import Places

#: Seconds for a service to answer before doctor goes on without it.
_PATIENCE = 3.0
#: How much of the end of the log is looked at.
_LOG_BYTES = 64 * 1024
#: How many of a host's last calls are looked at.
_CALLS = 20
#: So many calls in a row that found no service mean that it cannot be started.
_STARTS = 3


def places_of(settings: Settings) -> Places:
    return Places(str(settings.home), settings.database_url)


def service_findings(settings: Settings) -> Iterator[Finding]:
    """The service of the home: one finding for each thing that was looked at."""
    places = places_of(settings)
    if settings.service_url:
        yield _far(settings.service_url)
        return
    yield _standing(settings, places)
    running = (daemon.facts_of(places) or {}) if daemon.owner(places) is not None else {}
    yield from _last_failure(places, str(running.get("since") or _yesterday()))
    if isinstance(running.get("url"), str):
        yield _port(running["url"])
    elif settings.service != "never":
        yield from _wanted_port(settings, places)


def _yesterday() -> str:
    """Where no service runs, what happened longer ago than a day is no news."""
    return _time(time.time() - 86_400)


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _standing(settings: Settings, places: Places) -> Finding:
    try:
        said = daemon.ask(places, wait=_PATIENCE)
    except MinutebookError as error:
        return Finding("error", error.message, str(error.details.get("hint", "")))
    if said is None and settings.service == "never":
        later = "Captures, files and vectors wait until a service runs."
        return Finding("ok", f"Each command owns the ledger itself (MINUTEBOOK_SERVICE=never). {later}")
    if said is None and settings.service == "join":
        return Finding("warning", "No service runs, and none is started.", "minutebook serve")
    if said is None:
        return Finding("ok", "No service runs; the first command that needs it starts it.")
    service = said.get("service", {})
    since = to_the_minute(str(service.get("since")))
    about = f"The service is {said.get('state')}: process {service.get('pid')} since {since}"
    if service.get("version") != minutebook.__version__:
        return Finding(
            "warning",
            f"{about}, of minutebook {service.get('version')}; this is {minutebook.__version__}.",
            "minutebook restart",
        )
    return Finding("ok", f"{about}.")


def _far(address: str) -> Finding:
    status = _status_at(address)
    if status is None:
        return Finding(
            "error", f"Nobody answers at {address} (MINUTEBOOK_SERVICE_URL).", "look at the address"
        )
    return Finding("ok", f"A service answers at {address} (MINUTEBOOK_SERVICE_URL).")


def _port(url: str) -> Finding:
    """A service of ours asks everybody who comes by the port for a token."""
    status = _status_at(url)
    if status is None:
        return Finding("error", f"Nobody answers HTTP at {url}.", "minutebook restart")
    if status != 401:
        return Finding("error", f"Something else than minutebook answers at {url}.", "minutebook restart")
    return Finding("ok", f"HTTP answers at {url}.")


def _wanted_port(settings: Settings, places: Places) -> Iterator[Finding]:
    """A port that somebody else has taken meanwhile makes the addresses in hosts' files wrong."""
    try:
        with open(places.port, "rb") as file:
            text = file.read(16).strip()
    except (FileNotFoundError, NotADirectoryError):
        text = b""
    port = settings.port or (int(text) if text.isdigit() else 0)
    if port == 0:
        return
    with socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, port))
        except OSError as error:
            yield Finding(
                "warning",
                f"Port {port} of {settings.host} cannot be had: {error.strerror}.",
                "the service takes another one; hosts that come over HTTP must be told (minutebook connect)",
            )


def _status_at(url: str) -> int | None:
    """The HTTP status that a plain request gets, or None where nobody speaks HTTP."""
    import http.client

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_PATIENCE)
    try:
        connection.request("GET", "/api/inbox")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _last_failure(places: Places, since: str) -> Iterator[Finding]:
    """The last failure that the log tells of, since then."""
    try:
        with open(places.log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _LOG_BYTES))
            lines = file.read(_LOG_BYTES).decode("utf-8", "replace").splitlines()
            written = _time(os.fstat(file.fileno()).st_mtime)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield Finding("warning", f"{places.log} cannot be read: {error.strerror}.")
        return
    came_after = False
    for line in reversed(lines):
        if line.startswith("error[") and written >= since and not came_after:
            # It did not come so far as to keep a log.
            yield Finding("warning", f"The service could not be started: {line}.", f"see {places.log}")
            return
        said = _log_line(line)
        when = str(said.get("time", ""))
        came_after = came_after or bool(when)
        if when and when < since:
            return
        if when and said.get("level") in ("error", "critical"):
            what = " ".join(str(said[name]) for name in _TELLING if name in said)
            yield Finding(
                "warning", f"The service's log tells of a failure at {when}: {what}.", f"see {places.log}"
            )
            return


#: What a line of the log has to say about a failure.
_TELLING = ("event", "operation", "code", "error")


def _log_line(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}  # what a library printed by itself
    return said if isinstance(said, dict) else {}


# --- hooks -------------------------------------------------------------------------------------------

_HOOK_ADVICE = {
    "no_service": "minutebook serve, or MINUTEBOOK_SERVICE=auto where the host starts",
    "timeout": "minutebook status; MINUTEBOOK_HOOK_SECONDS gives it more time",
    "bad_input": "minutebook connect HOST --hooks --write brings its configuration up to date",
    "stopped": "the host ended it before its time; look at the timeout in the host's configuration",
    "failed": "run it by hand: echo '{}' | minutebook-hook session-start",
    "other_project": "the host is bound to another project than the directory it works in",
    "not_found": "minutebook init takes this directory's project into the ledger",
    "bad_workspace": "restore .minutebook/workspace.toml from version control",
    "bad_token": "make another one: minutebook tokens create",
    "bad_setting": "look at MINUTEBOOK_HOOK_SECONDS and MINUTEBOOK_SERVICE_URL where the host starts",
}


def hook_findings(settings: Settings) -> Iterator[Finding]:
    """How the last calls of each host's hooks went, by the receipts they left."""
    path = receipts.file_of(str(settings.home))
    try:
        rows, unreadable = receipts.read(path)
    except OSError as error:
        yield Finding("warning", f"The receipts of hooks cannot be read: {error.strerror}.", f"see {path}")
        return
    if unreadable:
        yield Finding("warning", f"{unreadable} receipts of hooks cannot be read.", f"see {path}")
    by_host: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        by_host.setdefault(str(row.get("host", "other")), []).append(row)
    for host in sorted(by_host):
        yield _hook_finding(host, by_host[host][-_CALLS:])


def _hook_finding(host: str, calls: list[dict[str, object]]) -> Finding:
    last = calls[-1]
    failed = [call for call in calls if call.get("outcome") not in ("ok", "starting")]
    share = f"; {len(failed)} of its last {len(calls)} calls failed" if failed else ""
    when = f"{last.get('event')} at {last.get('at')}, {last.get('ms')} ms"
    if [call.get("outcome") for call in calls[-_STARTS:]] == ["starting"] * _STARTS:
        what = f"Hooks of {host}: each of the last {_STARTS} calls started a service, and none was there"
        return Finding("warning", f"{what}, last {when}.", "minutebook serve says why")
    if last.get("outcome") in ("ok", "starting"):
        return Finding("ok", f"Hooks of {host}: last {when}, {last.get('outcome')}{share}.")
    code, outcome = str(last.get("code") or ""), str(last.get("outcome"))
    why = f"{outcome} ({code})" if code else outcome
    advice = _HOOK_ADVICE.get(code) or _HOOK_ADVICE.get(outcome, "minutebook status")
    return Finding("warning", f"Hooks of {host}: {why}, last {when}{share}.", advice)
