"""Which files of a directory are somebody's memory: walks it through handles that follow no link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from minutebook.files.entries import Dialect
from minutebook.files.safe import Named, Root, Sort
from minutebook.model.adoption import Form, NotTaken
from minutebook.model.errors import MinutebookError

#: Folders below the place that are entered, how deep, and files of unknown sort whose head is looked at.
MOST_FOLDERS = 20_000
MOST_DEPTH = 12
MOST_LOOKED_AT = 5_000
#: Files that one adoption takes.
MOST_FILES = 10_000
_HEAD_BYTES = 4 * 1024 * 1024

#: Names under which a team's files lie.
MARKS = {".squad": Form.SQUAD, ".ai-team": Form.AI_TEAM, ".agh": Form.AGH}
#: Folders of other people's files, of programs, and of minutebook itself.
_SKIPPED = frozenset(
    ("node_modules", "venv", "env", "site-packages", "__pycache__", "dist", "build", "target", "vendor", "third_party",
     "coverage", "bin", "obj")
)  # fmt: skip
#: Parts of a team's folder that are no memory: what a product copies there, and what it throws away itself.
_RUNTIME = frozenset(["templates", ".cache", ".scratch", "sessions", "plugins"])
_INSTRUCTIONS = re.compile(
    r"(?:CLAUDE|AGENTS|GEMINI|MEMORY)(?:\.local)?\.md|copilot-instructions\.md|\.cursorrules"
)
_ADR_FOLDER = re.compile(r"(?:^|/)(?:adrs?|(?:docs?|architecture|design|documentation)/decisions)$", re.I)
_NO_ADR = re.compile(r"(?:readme|index|template.*|.*[-_]template|0+-template)\.md", re.I)
_GRAPH = re.compile(r"(?:memory|.*knowledge[-_]?graph)\.jsonl?", re.I)
_PERMALINK = re.compile(r"\A(?:\ufeff)?---\s*\n(?:[^\n]*\n){0,40}?permalink\s*:", re.I)
_ENTITY = re.compile(r'\s*\{\s*"type"\s*:\s*"(?:entity|relation)"')

_READABLE = (".md", ".json", ".jsonl")
#: The files of a team that hold entries; the others are kept as they are.
_HELD = re.compile(
    r"(?:^|/)(?:decisions(?:-archive)?\.md|decisions/.+\.md|agents/(?:_alumni/)?[^/]+/(?:history[\w.-]*|charter)\.md"
    r"|identity/(?:now|wisdom)\.md|memory/.+\.md)$"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that is taken: whose it is, and how it is read (None: as its path and content say)."""

    path: str
    form: Form
    dialect: Dialect | None = None
    #: whether it may hold entries at all
    parsed: bool = True


@dataclass(slots=True)
class Walk:
    """One walk below a root, and what it left out."""

    root: Root
    form: Form | None
    #: whether somebody named the folder, and did not only mean the whole workspace
    named: bool = False
    #: names of files that an importer reads; then only these are taken
    patterns: tuple[str, ...] = ()
    left_out: list[NotTaken] = field(default_factory=list)
    _folders: int = 0
    _looked_at: int = 0
    _taken: int = 0

    def files(self, place: str) -> Iterator[Candidate]:
        """What is to be taken of a folder or a file below the root ('' is the root itself)."""
        standing = self.root.look(place) if place else None
        if place and standing is None:
            raise MinutebookError(
                "not_found", f"There is no file or folder {place[:300]!r} there.", path=place
            )
        if standing is not None and standing.sort is not Sort.FOLDER:
            yield self._given(place)
            return
        self._looked_at = self._folders = self._taken = 0
        for candidate in self._below(place, 0):
            self._taken += 1
            if self._taken > MOST_FILES:
                self.left_out.append(NotTaken(place or ".", f"there are more than {MOST_FILES:,} files"))
                return
            yield candidate

    def _given(self, path: str) -> Candidate:
        """A file that was named: taken whatever its name is."""
        if self.patterns:
            return Candidate(path, Form.IMPORTER)
        if self.form is not None:
            return _as_form(path, self.form)
        return self._sort(path) or Candidate(path, Form.INSTRUCTIONS)

    def _below(self, folder: str, depth: int) -> Iterator[Candidate]:
        if self._folders >= MOST_FOLDERS or depth > MOST_DEPTH:
            self.left_out.append(
                NotTaken(folder or ".", "too many folders, or too deep; name it to have it read")
            )
            return
        self._folders += 1
        try:
            names = self.root.names(folder)
        except MinutebookError as error:
            self.left_out.append(NotTaken(folder or ".", error.message))
            return
        for named in names or ():
            path = f"{folder}/{named.name}" if folder else named.name
            if named.sort is Sort.FOLDER:
                if self._enters(path, named.name):
                    yield from self._below(path, depth + 1)
            elif named.sort is Sort.FILE:
                found = self._sort(path)
                if found is not None:
                    yield found
            elif _team_of(path) is not None or _INSTRUCTIONS.fullmatch(named.name):
                self.left_out.append(NotTaken(path, _why(named)))

    def _enters(self, path: str, name: str) -> bool:
        if _team_of(path) is not None:
            if name in _RUNTIME:
                self.left_out.append(
                    NotTaken(path, "it holds no memory: templates, caches, running sessions")
                )
                return False
            return True
        if name.startswith("."):
            return name in MARKS or name in (".github", ".claude")
        return name not in _SKIPPED

    def _sort(self, path: str) -> Candidate | None:
        """Whose file it is; None where it is nobody's memory, or not of the form that was asked for."""
        if self.patterns:
            name = path.rpartition("/")[2]
            return (
                Candidate(path, Form.IMPORTER)
                if any(fnmatchcase(name, each) for each in self.patterns)
                else None
            )
        found = self._found(path)
        if self.form is None or found is not None:
            return found if self.form in (None, None if found is None else found.form) else None
        # The folder was named together with its form: what it holds is of that form, whatever the names say.
        fits = _HELD.search(path) if self.form in (Form.SQUAD, Form.AI_TEAM) else path.endswith(_READABLE)
        return (
            _as_form(path, self.form) if self.named and self.form is not Form.INSTRUCTIONS and fits else None
        )

    def _found(self, path: str) -> Candidate | None:
        folder, _, name = path.rpartition("/")
        team = _team_of(path)
        if team is Form.AGH:
            inside = re.search(r"(?:^|/)memory/.+\.md$", path) is not None
            return Candidate(path, team, parsed=not _is_of_programs(path)) if inside else None
        if team is not None:
            held = _HELD.search(path) is not None
            return Candidate(path, team, parsed=held)
        if _INSTRUCTIONS.fullmatch(name):
            return Candidate(path, Form.INSTRUCTIONS, Dialect.INSTRUCTIONS)
        if name.endswith(".md") and _ADR_FOLDER.search(folder):
            return None if _NO_ADR.fullmatch(name) else Candidate(path, Form.ADR, Dialect.ADR)
        if _GRAPH.fullmatch(name):
            return _as_form(path, Form.KNOWLEDGE_GRAPH) if _ENTITY.match(self._head(path)) else None
        if name.endswith(".md") and _PERMALINK.match(self._head(path)):
            return _as_form(path, Form.BASIC_MEMORY)
        return None

    def _head(self, path: str) -> str:
        """The beginning of a file whose name does not say what it is."""
        self._looked_at += 1
        if self._looked_at > MOST_LOOKED_AT:
            return ""
        try:
            found = self.root.read(path, most=_HEAD_BYTES)
        except MinutebookError:
            return ""  # nobody asked for this file; those that are asked for say why they cannot be read
        return "" if found is None else found.data[:4_096].decode("utf-8", "replace")


def _as_form(path: str, form: Form) -> Candidate:
    """A file that is of a form because somebody says so."""
    if form in (Form.SQUAD, Form.AI_TEAM):
        return Candidate(path, form, parsed=_HELD.search(path) is not None)
    if form is Form.AGH:
        dialect = None if path.endswith("MEMORY.md") else Dialect.NOTE
        return Candidate(path, form, dialect, parsed=not _is_of_programs(path))
    if form is Form.ADR:
        return Candidate(path, form, Dialect.ADR)
    if form is Form.BASIC_MEMORY:
        return Candidate(path, form, Dialect.BASIC_MEMORY)
    if form is Form.KNOWLEDGE_GRAPH:
        return Candidate(path, form, Dialect.KNOWLEDGE_GRAPH)
    return Candidate(path, Form.INSTRUCTIONS, Dialect.INSTRUCTIONS)


def _is_of_programs(path: str) -> bool:
    """Whether it is what AGH's programs keep beside the notes: kept, and nobody's note."""
    return "/_system" in f"/{path}"


def _team_of(path: str) -> Form | None:
    """The team's folder that a path lies in, or is."""
    return next((MARKS[part] for part in reversed(path.split("/")) if part in MARKS), None)


def _why(named: Named) -> str:
    if named.sort is Sort.LINK:
        return "it is a link; links are not followed"
    return "it has a second name (a hard link)" if named.sort is Sort.SHARED else "it is no plain file"
