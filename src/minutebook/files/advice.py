"""What init puts beside a workspace, or says that it would: lines for git, and a word to agents.

A file that is not there yet may be made. In one that is there, our lines are only put when somebody said so, and
from then on kept as they should be. What stands outside our marks is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from minutebook.files import blocks, safe_writing
from minutebook.files.blocks import marks_for
from minutebook.files.safe import Root
from minutebook.model.errors import MinutebookError

GIT_IGNORE, GIT_ATTRIBUTES = ".gitignore", ".gitattributes"
GIT_FILES = (GIT_ATTRIBUTES, GIT_IGNORE)
#: Files that agents read when they start, by the names that are looked at without being named.
AGENT_FILES = ("AGENTS.md", "CLAUDE.md")
#: What is adopted, by names that are looked at without a walk.
ADOPTABLE = (".squad", ".ai-team", ".agh", *AGENT_FILES, "MEMORY.md", "docs/adr", "docs/decisions", "adr")

# What waits for a decision, and what is being done today, is of this machine and this hour.
_IGNORED = """\
.squad/decisions/inbox/
.squad/identity/now.md
.minutebook-*"""

# The bytes are compared with what was written, so that git must not change line ends. Both sides of a merge are
# whole files of ours: git keeps one of them, says so, and the next pass writes the present state.
_ATTRIBUTES = """\
.squad/decisions.md text eol=lf -merge
.squad/agents/*/history.md text eol=lf -merge linguist-generated
.agentweaver/context/*.md text eol=lf -merge linguist-generated
.minutebook/**/*.md text eol=lf
.minutebook/**/MEMORY.md text eol=lf -merge linguist-generated"""

_AGENTS = """\
## Team memory (minutebook)

The decisions that bind everyone here are in `.agentweaver/context/boundaries.md`.
Read that file before you change anything, and keep to it. All decisions are in
`.squad/decisions.md`. Both are written from the team's ledger: do not edit them.

- What the team knows about your task:
  `minutebook context --task "what you are about to do"` (MCP: `context`).
- What the team should remember:
  `minutebook inbox submit TYPE TITLE CONTENT` (MCP: `inbox_submit`).
  A reviewer decides; do not propose again what was rejected."""


@dataclass(frozen=True, slots=True)
class Advised:
    """One file beside a workspace, and what became of our lines in it."""

    path: str
    #: created, added, renewed, current, removed, or advised: nothing was written
    outcome: str
    #: the lines, where they were not written
    lines: str = ""


def block_for(path: str) -> str:
    """Our lines for a file."""
    name = path.rpartition("/")[2]
    return {GIT_IGNORE: _IGNORED, GIT_ATTRIBUTES: _ATTRIBUTES}.get(name, _AGENTS)


def settle(
    root: Root, paths: Sequence[str], *, word: bool, make: bool, new_id: Callable[[], str]
) -> tuple[Advised, ...]:
    """See to our lines in these files: `word` says that existing files may get them, `make` that new ones may be made."""
    return tuple(_settle(root, path, word=word, make=make, new_id=new_id) for path in paths)


def _settle(root: Root, path: str, *, word: bool, make: bool, new_id: Callable[[], str]) -> Advised:
    block, marks = block_for(path), marks_for(path)
    found = root.read(path)
    data = b"" if found is None else found.data
    has = blocks.block_in(data, marks, path)
    if has == block:
        return Advised(path, "current")
    if has is None and not (word or (make and found is None)):
        return Advised(path, "advised", block)
    outcome = "created" if found is None else "added" if has is None else "renewed"
    was = None if found is None else found.sha256
    safe_writing.write(root, path, blocks.put(data, block, marks, path), was=was, new_id=new_id)
    return Advised(path, outcome)


def remove(root: Root, paths: Sequence[str], *, new_id: Callable[[], str]) -> tuple[Advised, ...]:
    """Take our lines out again; a file in which nothing else stands goes with them.

    One in which they cannot be told from the rest is left, and said once the others are done.
    """
    done: list[Advised] = []
    failed: MinutebookError | None = None
    for path in paths:
        found = root.read(path)
        try:
            if found is None or blocks.find(found.data, marks_for(path), path) is None:
                continue
        except MinutebookError as error:
            failed = failed or error
            continue
        rest = blocks.take(found.data, marks_for(path), path)
        if rest.strip():
            safe_writing.write(root, path, rest, was=found.sha256, new_id=new_id)
        else:
            safe_writing.delete(root, path, was=found.sha256, new_id=new_id)
        done.append(Advised(path, "removed"))
    if failed is not None:
        raise failed
    return tuple(done)


def with_blocks(root: Root, paths: Sequence[str]) -> list[str]:
    """Those of the files in which our lines stand."""
    found = []
    for path in paths:
        try:
            read = root.read(path)
            has = read is not None and blocks.find(read.data, marks_for(path), path) is not None
        except MinutebookError:
            continue  # nothing of ours can be kept current in what cannot be read; `files status` lists it
        if has:
            found.append(path)
    return found
