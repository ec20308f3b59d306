"""Which folder holds the notes of which scope, and which file name belongs to which identity."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from minutebook.files.agent_folders import agent_folder
from minutebook.files.note_rendering import INDEX
from minutebook.files.safe_writing import is_ours
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileKind, FileLine, FileState
from minutebook.model.memories import Type
from minutebook.model.scopes import GLOBAL, Scope, ScopeKind, Tier
from minutebook.model.text import canonical_slug, check_name, fold_name, slug_segment, visible

MEMORY = "memory"
AGENTS = "agents"
#: Where all of it lies in a workspace; the home of the ledger is such a folder itself.
_IN_WORKSPACE = ".minutebook/"
#: Names of the house, for what programs keep beside the notes.
RESERVED = "_system"
_TYPES = {member.value: member for member in Type}
_TEMPORARY = re.compile(r"\.tmp-|~$|^#")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of notes, and the scope whose notes lie there."""

    path: str
    scope: Scope

    def file(self, name: str) -> str:
        return f"{self.path}/{name}"


def base_of(project: str) -> str:
    """What stands before `memory/` and `agents/`: nothing in the home, which is the place of what is global."""
    return "" if project == GLOBAL else _IN_WORKSPACE


def agents_path(project: str) -> str:
    return f"{base_of(project)}{AGENTS}"


@lru_cache(4_096)
def folder_of(scope: Scope, project: str) -> Folder | None:
    """The folder of a scope in the workspaces of a project (or in the home); None for what has no notes there."""
    if scope.project != project:
        return None
    if scope.kind in (ScopeKind.PROJECT, ScopeKind.GLOBAL):
        return Folder(f"{base_of(project)}{MEMORY}", scope)
    if scope.kind is ScopeKind.AGENT:
        return Folder(f"{agents_path(project)}/{agent_folder(scope.agent)}/{MEMORY}", scope)
    return None


def agent_of(folder: str, known: Iterable[str]) -> str:
    """The agent whose folder it is: one that is known, else the one of that plain name."""
    for agent in known:
        if agent_folder(agent) == folder:
            return agent
    name = fold_name(check_name(folder, "agent"))
    if slug_segment(name) != folder:
        raise MinutebookError("bad_name", f"{folder!r} is not the folder of an agent that is known here.")
    return name


def scope_of_agent(project: str, agent: str) -> Scope:
    return Scope.of_agent(project, agent, Tier.GLOBAL if project == GLOBAL else Tier.PROJECT)


def file_name(type: Type, slug: str) -> str:
    """The name of a note: its identity can be read from it. A slug has no underscore."""
    return f"{type.value}_{slug}.md"


def slug_of(name: str, type: Type) -> str:
    """The slug of a note from the name of its file, with or without the type in front."""
    stem = name.removesuffix(".md")
    said, _, rest = stem.rpartition("_")
    if rest and _TYPES.get(said) is type:
        return canonical_slug(rest)
    return canonical_slug(stem)


def is_note(name: str) -> bool:
    """Whether a name in a folder is that of a note: what editors, programs and we ourselves leave lying is not."""
    return (
        name.endswith(".md")
        and is_text(name)
        and not name.startswith((".", RESERVED))
        and name != INDEX
        and not _TEMPORARY.search(name)
        and not is_ours(name)
    )


def is_text(name: str) -> bool:
    """Whether a name can be stored: one whose bytes are no UTF-8 cannot."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_reserved(name: str) -> bool:
    """Whether a file has a name that is kept for programs."""
    return name.endswith(".md") and name.startswith(RESERVED) and is_text(name)


def nameless(path: str, kind: FileKind) -> FileLine:
    """What is said of a file whose name cannot be stored."""
    return FileLine(
        visible(path, lines=False), kind, FileState.UNREADABLE, "its name is not UTF-8", "rename it"
    )
