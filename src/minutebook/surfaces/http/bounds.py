"""Which files a request may name: on the socket what its sender can name, over the network the home's alone."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from minutebook.model.errors import MinutebookError
from minutebook.operations.parameters import unwrap
from minutebook.operations.registry import Operation
from minutebook.settings import Settings


@cache
def names_files(operation: Operation) -> tuple[str, ...]:
    """The parameters of an operation that name files."""
    return tuple(parameter.name for parameter in operation.parameters if unwrap(parameter.type)[0] is Path)


def bounded(
    operation: Operation, arguments: dict[str, Any], settings: Settings, *, local: bool
) -> dict[str, Any]:
    """The arguments, with every path whole and where it may be."""
    for name in names_files(operation):
        given = arguments.get(name)
        if isinstance(given, str):
            path = _local(name, given) if local else _beneath(given, settings)
            _check_not_ours(path, settings)
            arguments[name] = path
    return arguments


def _local(name: str, given: str) -> str:
    """The service works in another directory than its caller, who therefore says the whole path."""
    if not os.path.isabs(given):
        raise MinutebookError("invalid_input", f"{name}: give the whole path, from / on.")
    return given


def _beneath(given: str, settings: Settings) -> str:
    """A file beneath the home, with every link followed; what is not absolute is meant to be there."""
    home = os.path.realpath(settings.home)
    path = os.path.realpath(os.path.join(home, given.replace("\0", "")))
    if os.path.commonpath([home, path]) != home or path == home:
        raise MinutebookError("foreign_path", hint="name a file without a leading slash: it lies in the home")
    return path


def _check_not_ours(path: str, settings: Settings) -> None:
    """Keep off the ledger's own files, and what the running service leaves in the home."""
    place = os.path.realpath(path)
    run = os.path.join(os.path.realpath(settings.home), "run")
    taken = place == run or place.startswith(run + os.sep)
    if settings.url.startswith("sqlite://"):
        ledger = os.path.realpath(settings.url.removeprefix("sqlite://"))
        taken = taken or place.startswith(ledger)  # the log, the lock and the index beside it begin alike
    if taken:
        raise MinutebookError("foreign_path", "That is a file of the open ledger or of the running service.")
