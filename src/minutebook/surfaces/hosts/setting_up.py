"""Put our configuration into a host's files, or take it out: into the file as it is, with a backup beside it.

A file that cannot be read, or edited without loss, is left alone, and the reason told.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.hosts import merging
from minutebook.surfaces.hosts.known import (
    NAME,
    TOKEN_VARIABLE,
    VSCODE_INPUT,
    Host,
    Scope,
    Wanted,
    is_our_hook,
)

Act = Literal["show", "write", "remove"]

#: The most that is read of a configuration; ~/.claude.json grows to some megabytes.
_MOST_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One configuration file of one host: what it should say, and what was done about it."""

    host: str
    part: Literal["server", "hooks"]
    file: str
    #: shown, written, unchanged, would change, removed, absent, refused
    outcome: str
    #: why it was refused
    problem: str = ""
    #: what belongs into the file
    text: str = ""
    #: the host's own command that does the same
    command: str = ""
    steps: tuple[str, ...] = ()
    diff: str = ""
    backup: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for, and of which machine."""

    act: Act
    dry: bool
    hooks: bool
    wanted: Wanted
    home: Path
    root: Path
    #: names the backups
    stamp: str
    #: whether the ledger's address holds a password, which is written nowhere
    secret_address: bool = False


def _steps(host: Host, plan: Plan, part: str) -> tuple[str, ...]:
    """What is left for a person to do."""
    wanted = plan.wanted
    if part == "hooks":
        return (host.hooks.note,) if host.hooks.note else ()
    steps = [host.note] if host.note and (plan.act == "write" or "safer" not in host.note) else []
    if wanted.transport == "http" and not wanted.token:
        words = ["minutebook", "tokens", "create", "--role", "agent", "--agent", wanted.agent or host.id]
        if wanted.project:
            words += ["--project", wanted.project]
        elif wanted.scope == "user":
            words.append("--everywhere")
        steps.append(f"Make a token: {shlex.join(words)}")
        if host.id == "vscode":
            steps.append("VS Code asks for the token when it first connects.")
        else:
            steps.append(f"Set {TOKEN_VARIABLE} to it in the environment that {host.title} starts in.")
    if wanted.transport == "stdio" and plan.secret_address:
        steps.append("Set MINUTEBOOK_DATABASE_URL where the host starts: it holds a password.")
    return tuple(steps)


# --- what is done about it ---------------------------------------------------------------------------


def set_up(host: Host, plan: Plan) -> Iterator[Setup]:
    """Do what was planned for one host: one answer for each of its files."""
    # A host is an agent, whatever it is called: unbound, it would be the person who runs it, who may decide.
    plan = replace(plan, wanted=replace(plan.wanted, agent=plan.wanted.agent or host.id))
    file = config_file(host, plan.wanted.scope, plan.home, plan.root)
    entry = host.entry(plan.wanted)
    server = Setup(
        host=host.id,
        part="server",
        file=str(file),
        outcome="shown",
        text=_alone(host, entry, plan.wanted),
        command=host.line(plan.wanted),
        steps=_steps(host, plan, "server"),
    )

    def edited(text: str) -> str:
        if host.form == "toml":
            if plan.act == "remove":
                return merging.remove_table(text, host.path)
            return merging.set_table(text, host.path, entry)
        return _edited_json(text or "{}\n", host, entry, plan)

    yield _done(server, file, edited, plan)
    if plan.hooks:
        yield _hooks(host, plan)


def config_file(host: Host, scope: Scope, home: Path, root: Path) -> Path:
    """The host's file; opencode reads one of two names, and the one that is there is meant."""
    file = host.file(scope, home, root)
    other = file.with_suffix(".jsonc")
    return other if host.id == "opencode" and other.exists() and not file.exists() else file


def _edited_json(text: str, host: Host, entry: dict[str, Any], plan: Plan) -> str:
    def is_our_input(item: Any) -> bool:
        return isinstance(item, dict) and item.get("id") == VSCODE_INPUT["id"]

    asks = host.id == "vscode" and plan.wanted.transport == "http" and not plan.wanted.token
    if plan.act == "remove":
        text = merging.remove_member(text, host.path)
        return merging.take_from_list(text, ("inputs",), is_our_input) if host.id == "vscode" else text
    text = merging.set_member(text, host.path, entry)
    return merging.put_in_list(text, ("inputs",), VSCODE_INPUT, is_our_input) if asks else text


def _alone(host: Host, entry: dict[str, Any], wanted: Wanted) -> str:
    """The entry as it would stand in a file of its own."""
    if host.form == "toml":
        return merging.toml_text(host.path, entry)
    text = merging.set_member("{}\n", host.path, entry)
    if host.id == "vscode" and wanted.transport == "http" and not wanted.token:
        text = merging.set_member(text, ("inputs",), [VSCODE_INPUT])
    return text


def _hooks(host: Host, plan: Plan) -> Setup:
    hooks, wanted = host.hooks, plan.wanted
    file = host.hooks_file(wanted.scope, plan.home, plan.root)
    setup = Setup(
        host=host.id,
        part="hooks",
        file="" if file is None else str(file),
        outcome="shown",
        steps=_steps(host, plan, "hooks"),
    )
    if file is None:
        if plan.act == "remove":
            return replace(setup, outcome="absent")
        return replace(setup, outcome="refused", problem=f"{host.title} has no hooks of that scope.")
    if hooks.own_file is not None:
        return _own_file(replace(setup, text=hooks.own_file(wanted)), file, plan)

    def edited(text: str) -> str:
        text = text or "{}\n"
        for name, value in hooks.beside.items():
            if plan.act != "remove" and name not in merging.read_json(text):
                text = merging.set_member(text, (name,), value)
        for event, ours in hooks.events.items():
            path = ("hooks", event)
            if plan.act == "remove":
                text = merging.take_from_list(text, path, is_our_hook)
            else:
                item = hooks.item(shlex.join(wanted.hook(host.id, ours)))
                text = merging.put_in_list(text, path, item, is_our_hook)
        return text

    shown = edited("") if plan.act != "remove" else ""
    return _done(replace(setup, text=shown), file, edited, plan)


def _own_file(setup: Setup, file: Path, plan: Plan) -> Setup:
    """A file that is all ours: written whole, and only in the place of one that is ours too."""
    if plan.act == "show":
        return setup
    before = read_file(file)
    if isinstance(before, str) and NAME not in before.partition("\n")[0]:
        return replace(setup, outcome="refused", problem="There is a file of that name that is not ours.")
    if plan.act == "write":
        return _done(setup, file, lambda _: setup.text, plan)
    if before is None:
        return replace(setup, outcome="absent")
    setup = replace(setup, text="", diff=_diff(file, before, ""))
    if plan.dry:
        return replace(setup, outcome="would change")
    backup = _backup_name(file, plan.stamp)
    os.replace(file, backup)
    return replace(setup, outcome="removed", backup=str(backup))


def _done(setup: Setup, file: Path, edited: Callable[[str], str], plan: Plan) -> Setup:
    """Edit the file as planned; one that cannot be edited is left alone, and the reason told."""
    if plan.act == "show":
        return setup
    if plan.act == "remove":
        setup = replace(setup, text="", command="", steps=())
    try:
        before = read_file(file)
        if plan.act == "remove" and before is None:
            return replace(setup, outcome="absent")
        after = edited(before or "")
        if after == before:
            return replace(setup, outcome="absent" if plan.act == "remove" else "unchanged")
        setup = replace(setup, diff=_diff(file, before or "", after))
        if plan.dry:
            return replace(setup, outcome="would change")
        backup = _write(file, before, after, plan)
    except MinutebookError as error:
        return replace(setup, outcome="refused", problem=f"{error.message}; the file is left as it is.")
    except OSError as error:
        return replace(setup, outcome="refused", problem=f"{error.strerror}: {error.filename or file}")
    return replace(setup, outcome="removed" if plan.act == "remove" else "written", backup=str(backup or ""))


def read_file(file: Path) -> str | None:
    """What a file says, or None where there is none."""
    try:
        if not file.is_file() and os.path.lexists(file):
            raise MinutebookError("invalid_input", "It is not a plain file")
        with open(file, "rb") as handle:
            data = handle.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(data) > _MOST_BYTES:
        raise MinutebookError("invalid_input", "It is too large")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MinutebookError("invalid_input", "It is not UTF-8 text") from None


def _diff(file: Path, before: str, after: str) -> str:
    return "".join(
        line if line.endswith("\n") else line + "\n"
        for line in difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), str(file), str(file)
        )
    )


def _backup_name(file: Path, stamp: str) -> Path:
    found = file.with_name(f"{file.name}.{stamp}.bak")
    number = 2
    while os.path.lexists(found):
        found = file.with_name(f"{file.name}.{stamp}-{number}.bak")
        number += 1
    return found


def _write(file: Path, before: str | None, after: str, plan: Plan) -> Path | None:
    """Put the text in the file's place, whole or not at all; what was there is kept beside it."""
    file = file.resolve()  # a link to somebody's collected settings stays one
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if plan.wanted.token or plan.wanted.scope == "user" else 0o644
    backup: Path | None = None
    if before is not None:
        mode = file.stat().st_mode & 0o777
        backup = _backup_name(file, plan.stamp)
        _place(backup, before, mode)
    staged = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        _place(staged, after, mode)
        if read_file(file) != before:
            raise MinutebookError("invalid_input", "Somebody changed it in this very moment")
        os.replace(staged, file)
    finally:
        staged.unlink(missing_ok=True)
    return backup


def _place(file: Path, text: str, mode: int) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    with open(handle, "wb") as out:
        out.write(text.encode())
        out.flush()
        os.fchmod(handle, mode)
        os.fsync(handle)
