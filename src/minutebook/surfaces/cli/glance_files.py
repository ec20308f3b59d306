"""The files of workspaces, at a glance: what is wrong first, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Files that are told of in one workspace.
_MOST_TOLD = 40
#: Columns for the state of a file.
_STATE = 12


def status(it: Any) -> str:
    """One sentence, then each workspace with the files that want attention."""
    return "\n".join([it.sentence, *(line for place in it.workspaces for line in _workspace(place))])


def synced(it: Any) -> str:
    """What was done, then how it stands."""
    lines = [it.sentence]
    for place in it.workspaces:
        told = [each for each in place.done if each.done != "left"]
        if told or place.fault:
            lines.append(place.root)
        if place.fault:
            lines.append(f"  failed: {place.fault}")
        for each in told[:_MOST_TOLD]:
            lines.append(f"  {each.done:<{_STATE}}{each.path}")
            lines += [f"{'':{_STATE + 4}}{each.why}"] if each.why else []
        lines += _rest(len(told))
    return "\n".join([*lines, status(it.status)])


_FLAGS = {".gitignore": "--git-files", ".gitattributes": "--git-files"}


def beside(files: Any) -> Iterator[str]:
    """What init wrote beside the workspace, and what it would write with your word."""
    for each in files:
        if each.outcome == "current":
            continue
        flag = _FLAGS.get(each.path, f"--agents-file {each.path}")
        said = f"not written; minutebook init {flag} adds:" if each.outcome == "advised" else each.outcome
        yield f"  {each.path:<16}{said}"
        yield from (f"    | {line}".rstrip() for line in each.lines.splitlines())


def _workspace(place: Any) -> Iterator[str]:
    counts = ", ".join(f"{number} {state}" for state, number in place.counts.items())
    behind = f"; {place.events_behind} events behind" if place.events_behind else ""
    state = "" if place.state == "on" else f"  {place.state}"
    yield f"{place.root}{state}{': ' + counts if counts else ''}{behind}"
    if place.why:
        yield f"  {place.why}"
    told = place.files[:_MOST_TOLD]
    # What is alike is said once, below the files that it is about.
    alike: dict[tuple[str, str, str], list[Any]] = {}
    for line in told:
        alike.setdefault((line.state, _bare(line), line.advice), []).append(line)
    for (state, why, advice), lines in alike.items():
        for number, line in enumerate(lines):
            yield f"  {'' if number else state:<{_STATE}}{line.path}{f':{line.line}' if line.line else ''}"
        if why:
            yield f"{'':{_STATE + 4}}{why}"
        if advice:
            only = lines[0].path if len(lines) == 1 else "PATH"
            yield f"{'':{_STATE + 4}}-> {advice.replace('PATH', only)}"
    yield from _rest(len(place.files))


def _bare(line: Any) -> str:
    """Why a file is listed, without the line that stands beside its path."""
    return str(line.why).removeprefix(f"Line {line.line}: ")


def _rest(number: int) -> list[str]:
    return [f"  … and {number - _MOST_TOLD} more; -o json tells all"] if number > _MOST_TOLD else []
