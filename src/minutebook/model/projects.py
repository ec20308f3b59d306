"""Projects, the units of governance, and the directories bound to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    slug: str
    name: str
    created_by: str
    created_at: str
    archived_at: str | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory that was seen with the project's id file in it."""

    project: str
    host: str
    path: str
    first_seen_at: str
    last_seen_at: str


@dataclass(frozen=True, slots=True)
class ProjectView:
    project: Project
    workspaces: tuple[Workspace, ...]
    repos: tuple[str, ...]
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Repo:
    id: str
    project: str
    slug: str
    remote: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class Reaching:
    """A link to another project: to all that stands there for the whole project, or to one memory of it."""

    id: str
    #: the other project, by its slug
    project: str
    #: the one memory that may be read; None where it is the whole project
    memory: str | None
    #: the memory here that the link comes from, and how it stands to the other
    link: str | None
    relation: str | None
    created_by: str
    created_at: str
