"""A process that takes in notes and letters and is killed at each of its steps in turn, a fresh child for each.

A step is what `dying_mirror` calls one. The passes are those of `files sync`, or, with `watch` as the third word, what
the service's duties do: the watcher with its thread, and the mirror. It prints one line of JSON: how many steps a whole
pass has, how many kills there were, and what went wrong after any.
"""

from __future__ import annotations

import gc
import json
import re
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minutebook.files import desk as desks
from minutebook.files import mirror_worker, notes, watcher
from minutebook.operations import memories
from tests.conftest import Clock
from tests.files.desks import HOST, INBOX, MEMORY, Desk
from tests.files.dying_mirror import child, count_steps
from tests.houses import House

NOTE = "---\ntitle: {title}\ntype: learning\n---\n\n{text}\n"
LETTER = "### 2026-03-04: {title}\n**By:** Ripley\n**What:** {text}\n"
#: What a hand may lay down or change by its own name between two looks.
LATER = "2026-02-01T00:00:00.000000Z"


def open_desk(base: Path, *, at: str | None = None) -> Desk:
    # A copy of the workspace is laid in its place for each kill; it is to be taken for the same one.
    notes.made_of = lambda _root: "the same"  # type: ignore[assignment]
    clock = Clock()
    if at is not None:
        clock.set(at)
    return Desk(House(f"sqlite://{base}/ledger.db", base / "home", clock), base / "ship")


def prepare(base: Path) -> None:
    """A workspace in step; then hands change, lay down, rename and delete, and the ledger moves on too."""
    desk = open_desk(base)
    house = desk.house
    for name in ("edited", "rival", "gone", "named", "late", "left", "sixth", "seventh"):
        house.mother(memories.write, type="learning", title=name.title(), content=f"It is {name}.", slug=name)
    desk.settle(mirror=True)
    (desk.root / f"{MEMORY}/learning_gone.md").unlink()
    desk.settle(mirror=True)
    house.mother(memories.edit, ref="rival", content="The ledger says otherwise.")
    house.mother(memories.edit, ref="late", content="It is late no more.")
    house.mother(memories.retire, ref="left", reason="no more")
    desk.edit(f"{MEMORY}/learning_edited.md", "It is edited.", "A hand was here.")
    desk.edit(f"{MEMORY}/learning_rival.md", "It is rival.", "A hand says this.")
    (desk.root / f"{MEMORY}/learning_named.md").rename(desk.root / f"{MEMORY}/renamed.md")
    desk.write(f"{MEMORY}/new.md", NOTE.format(title="New", text="Nobody knew this."))
    desk.write(f"{MEMORY}/bad.md", "no note\n")
    desk.write(f"{INBOX}/one.md", LETTER.format(title="One", text="We fly with one engine."))
    desk.write(
        f"{INBOX}/two.md",
        LETTER.format(title="Two", text="We carry two tanks.")
        + "\n"
        + LETTER.format(title="Three", text="We land on three legs."),
    )
    desk.write(f"{INBOX}/bad.md", "nothing at all\n")
    house.close()


def settle(base: Path, kill_at: int | None) -> int:
    desk = open_desk(base, at=LATER)
    count = count_steps(kill_at)
    desk.settle(mirror=True)
    steps = count[0]
    desk.house.close()
    return steps


def watch(base: Path, kill_at: int | None) -> int:
    """The duties of a service, until they find nothing more to do at once."""
    desk = open_desk(base, at=LATER)
    watcher._BREATH = mirror_worker._BREATH = 0.0
    office = desks.Desk(HOST, (desk.letters, desk.notes))
    duties = (watcher.Watcher(desk.means, office), mirror_worker.MirrorWorker(desk.means, office))
    count, ending = count_steps(kill_at), threading.Event()
    for _ in range(3):
        for duty in duties:
            duty.step(ending)
    steps = count[0]
    for duty in duties:
        duty.close()
    desk.house.close()
    return steps


def settled(base: Path) -> dict[str, Any]:
    """What a restart makes of it: the ledger, the files, how they stand, and whether anything is left to do."""
    desk = open_desk(base, at="2026-02-02T00:00:00.000000Z")
    desk.settle(mirror=True)
    desk.settle(mirror=True)
    again = sorted(desk.settle(mirror=True))
    house = desk.house
    rows = {
        "memories": house.rows("SELECT slug, content, status, revision FROM memories ORDER BY slug"),
        "proposals": house.rows("SELECT slug, content, status, agent FROM proposals ORDER BY slug"),
        "verdicts": house.rows("SELECT op, count(*) AS n FROM verdicts GROUP BY op ORDER BY op"),
        "sources": house.rows("SELECT locator FROM sources ORDER BY locator"),
    }
    lines = {path: line.state.value for path, line in desk.lines().items()}
    house.close()
    files = {
        path.relative_to(base).as_posix(): re.sub(r"(?m)^id: .*$|01[0-9A-Z]{24}", "id", path.read_text())
        for path in sorted((base / "ship").rglob("*"))
        if path.is_file()
    }
    return {"rows": rows, "lines": lines, "files": files, "again": again}


def main(base: Path, every: int, deed: Callable[[Path, int | None], int]) -> None:
    gc.freeze()
    run = base / "run"
    run.mkdir(parents=True)
    child(prepare, run)
    shutil.copytree(run, base / "kept", symlinks=True)
    _, steps = child(deed, run, None)
    _, whole = child(settled, run)
    wrong: list[str] = []
    kills = 0
    for at in range(1, steps + 1, every):
        shutil.rmtree(run)
        shutil.copytree(base / "kept", run, symlinks=True)
        killed, _ = child(deed, run, at)
        kills += killed
        _, after = child(settled, run)
        if after != whole:
            differing = [key for key in whole if after[key] != whole[key]]
            wrong.append(f"step {at}: {[(after[key], whole[key]) for key in differing]}")
    print(json.dumps({"steps": steps, "kills": kills, "wrong": wrong[:3], "whole": whole}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), watch if sys.argv[3:] == ["watch"] else settle)
