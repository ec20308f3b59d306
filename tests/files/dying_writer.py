"""A process that writes files and is killed at each of its system calls in turn, a fresh child for each.

It prints one line of JSON: how many calls the whole story makes, and what went wrong after any of the kills.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from minutebook.files import safe_writing
from minutebook.files.lines import sha256_of
from minutebook.files.safe import Root
from minutebook.files.safe_writing import delete, is_ours, sweep, write

OLD, NEW, NEWER = b"old\n", b"new " * 5_000, b"newer\n"
CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "fchmod", "close", "stat", "link")


def count_calls(kill_at: int | None) -> list[int]:
    """From here on every call counts, and the one that was named is the last."""
    count = [0]

    def counted(call: Any) -> Any:
        @functools.wraps(call)
        def wrapped(*args: Any, **options: Any) -> Any:
            count[0] += 1
            if count[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return wrapped

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    for name in ("exchange", "rename_onto_nothing"):
        setattr(safe_writing, name, counted(getattr(safe_writing, name)))
    return count


def tell(root: Path, kill_at: int | None) -> int:
    numbers = itertools.count(os.getpid() * 1_000)
    with Root(root) as opened:

        def new_id() -> str:
            return f"{next(numbers):026d}"

        count = count_calls(kill_at)
        write(opened, "inbox/made.md", NEW, was=None, new_id=new_id)
        write(opened, "kept.md", NEW, was=sha256_of(OLD), new_id=new_id)
        write(opened, "kept.md", NEWER, was=sha256_of(NEW), new_id=new_id)
        delete(opened, "gone.md", was=sha256_of(OLD), new_id=new_id)
    return count[0]


def wrong_with(root: Path) -> list[str]:
    """What a kill may not leave: half a file, a lost one, and, after a sweep, anything of ours."""
    found: list[str] = []
    allowed = {
        "kept.md": [OLD, NEW, NEWER],
        "gone.md": [OLD, None],
        "inbox/made.md": [NEW, None],
        "hers.md": [b"hers\n"],
    }
    with Root(root) as opened:
        for folder in ("", "inbox"):
            swept = sweep(opened, folder)
            found += [f"kept {name}" for name in swept.kept]
            found += [f"left {named.name}" for named in opened.names(folder) or () if is_ours(named.name)]
        for path, contents in allowed.items():
            held = opened.read(path)
            if (held.data if held else None) not in contents:
                found.append(f"{path} holds {held.data[:20] if held else None!r}")
    return found


def prepare(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for name, data in (("kept.md", OLD), ("gone.md", OLD), ("hers.md", b"hers\n")):
        (root / name).write_bytes(data)


def main(root: Path) -> None:
    prepare(root)
    child = os.fork()
    if child == 0:
        (root.parent / "calls").write_text(str(tell(root, None)))
        os._exit(0)
    os.waitpid(child, 0)
    calls = int((root.parent / "calls").read_text())
    wrong = [f"whole: {what}" for what in wrong_with(root)]
    killed = 0
    for at in range(1, calls + 1):
        prepare(root)
        child = os.fork()
        if child == 0:
            tell(root, at)
            os._exit(0)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        wrong += [f"call {at}: {what}" for what in wrong_with(root)]
    print(json.dumps({"calls": calls, "killed": killed, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
