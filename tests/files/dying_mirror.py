"""A process that brings files in step and is killed at each of its steps in turn, a fresh child for each.

A step is a call that changes or looks at a file of the workspace, or a write to the ledger, before it and after it. It
prints one line of JSON: how many steps a whole pass has, how many kills there were, and what went wrong after any.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from minutebook.files import safe_writing
from minutebook.ledger.sqlite import SqliteDatabase
from minutebook.operations import decisions, inbox, memories, sessions
from tests.conftest import Clock
from tests.files.mirroring import Office, tree
from tests.houses import House

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "fchmod", "stat", "link")


def count_steps(kill_at: int | None) -> list[int]:
    """From here on every step counts, and the one that was named is the last."""
    count = [0]

    def reached() -> None:
        count[0] += 1
        if count[0] == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(call: Any, *, after: bool = False) -> Any:
        @functools.wraps(call)
        def wrapped(*args: Any, **options: Any) -> Any:
            reached()
            answer = call(*args, **options)
            if after:
                reached()
            return answer

        return wrapped

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    for name in ("exchange", "rename_onto_nothing"):
        setattr(safe_writing, name, counted(getattr(safe_writing, name)))
    SqliteDatabase.write = counted(SqliteDatabase.write, after=True)  # type: ignore[method-assign]
    return count


def open_office(base: Path) -> Office:
    return Office(House(f"sqlite://{base}/ledger.db", base / "home", Clock()), base)


def prepare(base: Path) -> None:
    """A workspace in step, then a ledger that has moved on: something to write, to replace, to remove, to leave."""
    office = open_office(base)
    house = office.house
    root = office.make()
    house.dallas(decisions.write, type="scope", title="No web page", content="None.", slug="no-page")
    house.ripley(memories.write, type="learning", content="The proxy drops bodies.", slug="proxy")
    house.ripley(inbox.submit, type="process", title="Stand up", content="At nine.", slug="stand-up")
    house.ripley(inbox.submit, type="process", title="A name", content="Somebody.", slug="secret-name")
    house.ripley(sessions.start, focus="The importer")
    (root / ".agentweaver/context").mkdir(parents=True)
    (root / ".agentweaver/context/patterns.md").write_bytes(b"hers\n")
    office.sync()
    house.dallas(decisions.write, type="technical", title="Tabs", content="Tabs.", slug="tabs")
    house.dallas(inbox.promote, ref="stand-up")
    house.mother(inbox.erase, ref="secret-name", reason="privacy")
    house.ripley(sessions.close)
    house.ripley(memories.write, type="pattern", content="Retry.", slug="retry")
    house.bishop(memories.write, type="learning", content="Eggs open.", slug="eggs")
    house.close()


def sync(base: Path, kill_at: int | None) -> int:
    office = open_office(base)
    count = count_steps(kill_at)
    office.sync()
    steps = count[0]
    office.house.close()
    return steps


def settled(base: Path) -> dict[str, Any]:
    """What a restart makes of it: the files, how they stand, and whether a second pass finds anything to do."""
    office = open_office(base)
    # The ledger moves on before anybody looks: what was half done must still be known for our own.
    office.house.dallas(decisions.write, type="scope", title="After", content="After.", slug="after")
    for agent in (office.house.ripley, office.house.bishop):
        agent(memories.write, type="learning", content="It was dark.", slug="dark")
    office.sync()
    again = office.sync().sentence
    states = {path: state.value for path, state in office.states().items()}
    office.house.close()
    files = {path: data.decode() for path, data in tree(base / "app").items()}
    return {"files": files, "states": states, "again": again}


def child(deed: Any, *args: Any) -> tuple[bool, Any]:
    """Do it in a process of its own; whether it was killed, and what it answered."""
    out = Path(sys.argv[1]) / "answer.json"
    forked = os.fork()
    if forked == 0:
        try:
            out.write_text(json.dumps(deed(*args)))
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - told to the test, which fails with it
            sys.stderr.write(repr(error))
            os._exit(1)
    killed = os.WIFSIGNALED(os.waitpid(forked, 0)[1])
    return killed, None if killed else json.loads(out.read_text())


def main(base: Path, every: int) -> None:
    gc.freeze()
    # Always at one path: the manifest names a workspace by where it lies.
    run = base / "run"
    run.mkdir(parents=True)
    child(prepare, run)
    shutil.copytree(run, base / "kept")
    _, steps = child(sync, run, None)
    _, whole = child(settled, run)
    wrong: list[str] = []
    kills = 0
    for at in range(1, steps + 1, every):
        shutil.rmtree(run)
        shutil.copytree(base / "kept", run)
        killed, _ = child(sync, run, at)
        kills += killed
        _, after = child(settled, run)
        if after != whole:
            wrong.append(f"step {at}: {after} is not {whole}")
    print(json.dumps({"steps": steps, "kills": kills, "wrong": wrong[:3], "states": whole["states"]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
