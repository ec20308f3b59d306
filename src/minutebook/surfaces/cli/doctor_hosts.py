"""What doctor finds out about the hosts on this machine: whether what their files say of us works.

It starts what they would start, says hello as they would, and changes nothing: no service is started for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from minutebook.model.errors import MinutebookError
from minutebook.model.system import Finding
from minutebook.settings import Settings
from minutebook.surfaces.cli.connect import mcp_url
from minutebook.surfaces.cli.doctor_service import places_of
from minutebook.surfaces.hosts import merging
from minutebook.surfaces.hosts.known import HOSTS, NAME, TOKEN_VARIABLE, Host, Scope, is_our_hook
from minutebook.surfaces.hosts.setting_up import config_file, read_file
from minutebook.surfaces.light import daemon

_SCOPES: tuple[Scope, ...] = ("user", "project")
#: Seconds for a server to say hello.
_PATIENCE = 10.0
_MOST_ANSWER = 1024**2
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "minutebook-doctor", "version": "1"},
    },
}


@dataclass(frozen=True, slots=True)
class Look:
    """Where doctor looks, and what it knows already."""

    settings: Settings
    environ: Mapping[str, str]
    home: Path
    #: the directory whose own files count: the project's root
    root: Path

    @property
    def served(self) -> bool:
        """Whether a service runs that can be tried."""
        return bool(self.settings.service_url) or daemon.owner(places_of(self.settings)) is not None


def host_findings(look: Look) -> Iterator[Finding]:
    """Each file of a host that names us: its server, then its hooks."""
    for host in HOSTS.values():
        # In the home directory itself both scopes may be one file.
        for file in dict.fromkeys(config_file(host, scope, look.home, look.root) for scope in _SCOPES):
            yield from _server(host, file, look)
        for hooks in dict.fromkeys(host.hooks_file(scope, look.home, look.root) for scope in _SCOPES):
            if hooks is not None:
                yield from _hooks(host, hooks, look)


def _server(host: Host, file: Path, look: Look) -> Iterator[Finding]:
    try:
        text = read_file(file)
        if text is None or NAME not in text:
            return
        document = merging.read_toml(text) if host.form == "toml" else merging.read_json(text)
    except MinutebookError as error:
        yield Finding("warning", f"{host.title}: {file} was not looked into. {error.message}.")
        return
    except OSError as error:
        yield Finding("warning", f"{host.title}: {file} cannot be read: {error.strerror}.")
        return
    entry = document
    for key in host.path:
        entry = entry.get(key) if isinstance(entry, dict) else None
    if isinstance(entry, dict):
        url = entry.get("url") or entry.get("httpUrl")
        if isinstance(url, str):
            yield _over_http(host, file, entry, url, look)
        else:
            yield _over_stdio(host, file, entry, look)


def _again(host: Host, *more: str) -> str:
    return shlex.join(["minutebook", "connect", host.id, *more, "--write"])


# --- a server that the host starts -------------------------------------------------------------------


def _over_stdio(host: Host, file: Path, entry: dict[str, Any], look: Look) -> Finding:
    words, environment = _words(entry)
    about = f"{host.title} ({file})"
    if not words:
        return Finding("error", f"{about}: the entry names no command.", _again(host))
    path = environment.get("PATH") or look.environ.get("PATH")
    program = shutil.which(words[0], path=path)
    if program is None:
        return Finding("error", f"{about}: there is no program {words[0]!r} to run.", _again(host))
    other = environment.get("MINUTEBOOK_HOME")
    if other and Path(other).expanduser() != look.settings.home:
        return Finding("warning", f"{about}: it keeps its memory in another home, {other}.", _again(host))
    if "--agent" not in words and "MINUTEBOOK_AGENT" not in environment:
        return Finding(
            "warning", f"{about}: it acts as you, who may decide, and not as an agent.", _again(host)
        )
    if not look.served:
        return Finding("ok", f"{about}: configured; not tried, because no service runs.")
    problem = _hello_over_stdio([program, *words[1:]], environment, look)
    if problem:
        return Finding("error", f"{about}: {problem}", "run it by hand: " + shlex.join(words))
    return Finding("ok", f"{about}: starts and answers.")


def _words(entry: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The command line and environment of an entry, in either of the forms that hosts have."""
    command, arguments = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *arguments] if command else []
    environment = entry.get("env") or entry.get("environment") or {}
    if not isinstance(environment, dict):
        environment = {}
    return [str(word) for word in words], {str(name): str(value) for name, value in environment.items()}


def _hello_over_stdio(words: list[str], environment: dict[str, str], look: Look) -> str:
    """Start it as the host would and say hello; what went wrong, or nothing."""
    variables = {**look.environ, **environment, "MINUTEBOOK_SERVICE": "join"}
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=look.root,
        env=variables,
    )
    try:
        answer = _first_line(process)
    finally:
        process.kill()
        process.communicate()
    if answer is None:
        return f"it started and did not answer within {_PATIENCE:.0f} seconds."
    return _judged(answer)


def _first_line(process: subprocess.Popen[bytes]) -> bytes | None:
    """The first line it prints after our hello; None when none comes in time."""
    assert process.stdin is not None
    assert process.stdout is not None
    deadline = time.monotonic() + _PATIENCE
    with contextlib.suppress(BrokenPipeError):  # it ended before it heard us; what it said is there
        process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
        process.stdin.flush()
    said = b""
    while b"\n" not in said and len(said) < _MOST_ANSWER:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            return None
        part = os.read(process.stdout.fileno(), 65536)
        if not part:
            break
        said += part
    return said.partition(b"\n")[0]


def _judged(answer: bytes) -> str:
    """What is wrong with an answer to our hello, or nothing."""
    try:
        said = json.loads(answer)
    except ValueError:
        return "it started and did not answer in the form of MCP."
    if isinstance(said, dict) and isinstance(said.get("result"), dict) and "serverInfo" in said["result"]:
        return ""
    error = said.get("error") if isinstance(said, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return f"it was refused: {message}" if message else "it started and did not answer in the form of MCP."


# --- a server that the host reaches ------------------------------------------------------------------


def _over_http(host: Host, file: Path, entry: dict[str, Any], url: str, look: Look) -> Finding:
    about = f"{host.title} ({file})"
    wanted = mcp_url(look.settings)
    again = _again(host, "--transport", "http")
    if url.rstrip("/") != wanted.rstrip("/"):
        return Finding("warning", f"{about}: it goes to {url}, and the service is at {wanted}.", again)
    said = json.dumps(entry)
    if re.search(r"Bearer [A-Za-z0-9_.~-]{16,}", said) and file.stat().st_mode & 0o077:
        return Finding("warning", f"{about}: others may read the token in it.", f"chmod 600 {file}")
    token = look.environ.get(TOKEN_VARIABLE, "").strip()
    if TOKEN_VARIABLE not in said:
        return Finding("ok", f"{about}: goes to {url}.")
    if not token:
        return Finding(
            "warning",
            f"{about}: {TOKEN_VARIABLE} is not set here; it must be where {host.title} starts.",
            "minutebook tokens create --role agent",
        )
    if not look.served:
        return Finding("ok", f"{about}: configured; not tried, because no service runs.")
    problem = _hello_over_http(url, token)
    if problem:
        return Finding("error", f"{about}: {problem}", "minutebook tokens list, then minutebook status")
    return Finding("ok", f"{about}: the service answers it at {url}.")


def _hello_over_http(url: str, token: str) -> str:
    """Say hello as a host would over HTTP; what went wrong, or nothing."""
    import http.client

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_PATIENCE)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    try:
        connection.request("POST", parts.path, json.dumps(_HELLO).encode(), headers)
        answer = connection.getresponse()
        body = answer.read(_MOST_ANSWER)
    except (OSError, http.client.HTTPException) as error:
        return f"nobody answers at {url} ({error})."
    finally:
        connection.close()
    if answer.status in (401, 403):
        return f"the service does not take the token of {TOKEN_VARIABLE}."
    if answer.status != 200:
        return f"the service answers {answer.status}."
    # Either JSON, or a stream of events with it.
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return _judged(next((line for line in lines if line), body))


# --- hooks -------------------------------------------------------------------------------------------


def _hooks(host: Host, file: Path, look: Look) -> Iterator[Finding]:
    try:
        text = read_file(file)
        if text is None or NAME not in text:
            return
        commands = _own_commands(text) if host.hooks.own_file else _hook_commands(merging.read_json(text))
    except MinutebookError as error:
        # The server's file may be the same one; what is wrong with it is told once.
        if file not in [config_file(host, scope, look.home, look.root) for scope in _SCOPES]:
            yield Finding("warning", f"{host.title}: {file} was not looked into. {error.message}.")
        return
    except OSError as error:
        yield Finding("warning", f"{host.title}: {file} cannot be read: {error.strerror}.")
        return
    if not commands:
        return
    about = f"{host.title}, hooks ({file})"
    for words in commands:
        program = _program(words)
        if shutil.which(program, path=look.environ.get("PATH")) is None:
            yield Finding(
                "error", f"{about}: there is no program {program!r} to run.", _again(host, "--hooks")
            )
            return
    yield Finding("ok", f"{about}: {len(commands)} configured.")


def _hook_commands(document: Any) -> list[list[str]]:
    """The command lines of our hooks, in whichever form the file lists them."""
    found: list[list[str]] = []
    events = document.get("hooks") if isinstance(document, dict) else None
    for items in events.values() if isinstance(events, dict) else ():
        for item in items if isinstance(items, list) else ():
            if is_our_hook(item):
                inner = item.get("hooks", [item])
                found += [shlex.split(str(hook["command"])) for hook in inner]
    return found


def _own_commands(text: str) -> list[list[str]]:
    """The command line in a file that is all ours."""
    found = re.search(r"^const HOOK = (\[.*\])$", text, re.MULTILINE)
    return [json.loads(found[1])] if found else []


def _program(words: list[str]) -> str:
    """What a command line runs, behind the variables that it sets."""
    rest = words[1:] if words and words[0] == "env" else words
    return next((word for word in rest if "=" not in word), "")
