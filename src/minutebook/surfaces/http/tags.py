"""Entity tags: what a reader saw, so that a writer can say which state it means to change.

A tag has two parts. The first names the thing and its revision, and If-Match asks for that. The second names
the whole answer, with what stands around the thing, and If-None-Match asks for both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from minutebook.call import Call
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import ProposalView
from minutebook.model.memories import MemoryView
from minutebook.model.projects import ProjectView
from minutebook.operations.plain import to_plain
from minutebook.operations.registry import Operation
from minutebook.surfaces.http.exchange import json_bytes

#: Changes by being looked at, so it says nothing about what stands.
_PASSING = frozenset({"last_used_at"})


def tag_of(value: Any, body: bytes) -> str:
    """The tag of what `show` answered, with the quotes that belong to it."""
    return f'"{_core(value)}.{hashlib.blake2b(body, digest_size=8).hexdigest()}"'


def _core(value: Any) -> str:
    """The thing itself and its revision; where there are no revisions, all that it says."""
    thing = value
    if isinstance(value, MemoryView):
        thing = value.memory
    elif isinstance(value, ProposalView):
        thing = value.proposal
    elif isinstance(value, ProjectView):
        thing = value.project
    revision = getattr(thing, "revision", None)
    if revision is not None:
        return f"{thing.id}.{revision}"
    said = {name: part for name, part in to_plain(thing).items() if name not in _PASSING}
    return hashlib.blake2b(json_bytes(said), digest_size=12).hexdigest()


def is_known(tag: str, if_none_match: str | None) -> bool:
    """Whether a caller has this very answer already."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in [each.removeprefix("W/") for each in _each(if_none_match)]


def condition(show: Operation, arguments: Mapping[str, Any], if_match: str) -> Callable[[Call], None] | None:
    """What must hold inside the write's own transaction: the thing is still one of those that were seen."""
    wanted = _each(if_match)
    if wanted == ["*"]:
        return None  # any state will do, and what is not there is not found
    seen = {each[1:-1].rpartition(".")[0] for each in wanted if each.startswith('"')}
    parsed = show.parse(arguments)

    def check(call: Call) -> None:
        if _core(show.function(call, **parsed)) not in seen:
            raise MinutebookError("stale_match", hint="read it again, and decide anew")

    return check


def _each(header: str) -> list[str]:
    """The tags of a header, quotes and all. Ours hold no comma."""
    found = [each.strip() for each in header.split(",") if each.strip()]
    wrong = [each for each in found if each != "*" and not each.endswith('"')]
    if not found or wrong or ("*" in found and len(found) > 1):
        raise MinutebookError("invalid_input", 'If-Match and If-None-Match take "quoted" tags, or *.')
    return found
