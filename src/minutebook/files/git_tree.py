"""Where git stands in a workspace: whether files may have come and gone by its hand.

Only what git writes about itself is read, through handles that follow no link. A commit is no such moment: it leaves
the working tree as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from minutebook.files.lines import sha256_of
from minutebook.files.safe import Facts, Root, Sort
from minutebook.model.errors import MinutebookError

#: What is read of git's log of a working tree; of a longer one, its size counts.
_MOST_LOG = 2 * 1024 * 1024
_MOST_HEAD = 4096
_SHORT = 32
#: What git holds while it changes the files of a working tree.
_LOCK = "index.lock"
#: What git leaves lying while a merge, a rebase or a pick is under way.
_UNDER_WAY = ("MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "rebase-apply", _LOCK)


def tree_of(root: Root) -> str:
    """A name for the state of the working tree; another one after a checkout, a pull, a reset or a stash."""
    found = _folder(root)
    if found is None:
        return ""
    with found as git:
        head = git.read("HEAD", most=_MOST_HEAD)
        name = b"" if head is None else head.data
        # A branch is named; a commit that is checked out by itself is in the log too.
        shown = name.decode("utf-8", "replace").strip() if name.startswith(b"ref:") else "detached"
        # Only to be compared: what git says of somebody's work is not kept.
        return sha256_of(f"{shown} {_last_move(git)}".encode())[:_SHORT]


def made_of(root: Root) -> str:
    """Which directory it is: another one after it was removed and cloned anew at the same path."""
    facts = [
        named.facts for path in (".minutebook", ".minutebook/workspace.toml") if (named := root.look(path))
    ]
    return sha256_of(" ".join(f"{each.inode}" for each in facts[:1]).encode() + _times(facts[1:]))[:_SHORT]


def _times(facts: list[Facts]) -> bytes:
    # The number of a file that is gone is soon another one's; its time is not.
    return b"".join(b" %d %d" % (each.inode, each.changed_ns) for each in facts)


def in_between(root: Root) -> bool:
    """Whether git is changing files, or a merge of its is not settled: what is missing then nobody deleted."""
    return _holds(root, _UNDER_WAY)


def is_busy(root: Root) -> bool:
    """Whether git is changing the files at this moment."""
    return _holds(root, (_LOCK,))


def is_in_git(root: Root) -> bool:
    """Whether a directory lies in a working tree of git."""
    found = _folder(root)
    if found is not None:
        found.close()
    return found is not None


def _holds(root: Root, names: Sequence[str]) -> bool:
    found = _folder(root)
    if found is None:
        return False
    with found as git:
        return any(git.look(name) is not None for name in names)


def _folder(root: Root) -> Root | None:
    """Git's own folder: of the workspace itself, or of the nearest directory above it that has one."""
    named = root.look(".git")
    if named is not None:
        return _opened(root, named.sort)
    for above in root.path.parents:
        try:
            with Root(above) as opened:
                named = opened.look(".git")
                if named is not None:
                    return _opened(opened, named.sort)
        except MinutebookError:
            continue  # a directory that may be passed through and not be looked into, as homes often are
    return None


def _opened(tree: Root, sort: Sort) -> Root | None:
    """The folder by that name; for a second working tree, the one that its file names."""
    if sort is Sort.FOLDER:
        return Root(tree.path / ".git")
    said = tree.read(".git", most=_MOST_HEAD) if sort is Sort.FILE else None
    text = "" if said is None else said.data.decode("utf-8", "replace").strip()
    if not text.startswith("gitdir:"):
        return None
    try:
        return Root(Path(tree.path, text.removeprefix("gitdir:").strip()))
    except MinutebookError:
        return None  # a working tree whose repository is not here: git can do nothing in it


def _last_move(git: Root) -> str:
    """The last line of git's log that is no commit; the log's size where it is too long to be read."""
    named = git.look("logs/HEAD")
    if named is None:
        return ""
    if named.facts.size > _MOST_LOG:
        return f"{named.facts.size}"
    found = git.read("logs/HEAD", most=_MOST_LOG)
    for line in reversed([] if found is None else found.data.splitlines()):
        who, _, what = line.partition(b"\t")
        if not what.startswith(b"commit"):
            return (
                f"{who.decode('utf-8', 'replace').partition(' <')[0]} {what.decode('utf-8', 'replace')[:200]}"
            )
    return ""
