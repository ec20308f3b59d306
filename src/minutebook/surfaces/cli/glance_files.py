"""The files of workspaces, at a glance: what is wrong first, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Files that are told of in one workspace.
_MOST_TOLD = 40


def status(it: Any) -> str:
    """One sentence, then each workspace with the files that want attention."""
    return "\n".join([it.sentence, *(line for place in it.workspaces for line in _workspace(place))])


def synced(it: Any) -> str:
    """What was done, then how it stands."""
    lines = [it.sentence]
    for place in it.workspaces:
        told = [each for each in place.done if each.done != "left"]
        if told or place.fault:
            lines.append(f"  {place.root}")
        if place.fault:
            lines.append(f"    failed: {place.fault}")
        lines += [f"    {each.done:<9}{each.path}{_because(each.why)}" for each in told[:_MOST_TOLD]]
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
    yield f"  {place.root}  {place.state}{': ' + counts if counts else ''}{behind}"
    if place.why:
        yield f"    {place.why}"
    advice = ""
    for line in place.files[:_MOST_TOLD]:
        at = f":{line.line}" if line.line else ""
        yield f"    {line.state:<11}{line.path}{at}{_because(line.why)}"
        if line.advice and line.advice != advice:
            yield f"{'':15}{line.advice.replace('PATH', line.path)}"
        advice = line.advice
    yield from _rest(len(place.files))


def _because(why: str) -> str:
    return f"  ({why})" if why else ""


def _rest(number: int) -> list[str]:
    return [f"    … and {number - _MOST_TOLD} more; -o json tells all"] if number > _MOST_TOLD else []
