"""A workspace on a disk that fills up, and is then mounted so that nobody can write: in a mount namespace of its own.

Run by `unshare --map-root-user --mount`, so that the mounts end with this process. It prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from minutebook.operations import decisions, system
from tests.conftest import Clock
from tests.files.mirroring import Office, tree
from tests.houses import House


def told(office: Office) -> dict[str, Any]:
    """What a pass did, how the files stand after it, and what lies in the workspace that should not."""
    (place,) = office.sync().workspaces
    (stands,) = office.status(every=True)
    root = Path(place.root)
    return {
        "done": {each.path: [each.done, each.why] for each in place.done},
        "states": {line.path: [line.state.value, line.why] for line in stands.files},
        "litter": [str(path) for path in root.rglob(".minutebook-*")],
        "health": list(office.house.mother(system.health).mirror.faults),
        "kept": tree(root)[".squad/decisions.md"].count(b"\n## "),
    }


def fill(path: Path) -> None:
    """Leave no room on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, b"x" * 4096)
    except OSError:
        os.close(handle)


def main(base: Path) -> None:
    disk = base / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
    house = House(f"sqlite://{base}/ledger.db", base / "home", Clock())
    office = Office(house, disk)
    office.make()
    house.dallas(decisions.write, type="scope", title="No web page", content="None.", slug="no-page")
    answers = {"good": told(office)}
    fill(disk / "filler")
    long = "word " * 4_000
    house.dallas(decisions.write, type="scope", title="A long one", content=long, slug="long")
    answers["full"] = told(office)
    (disk / "filler").unlink()
    answers["room again"] = told(office)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    house.dallas(decisions.write, type="technical", title="Tabs", content="Tabs.", slug="tabs")
    answers["read-only"] = told(office)
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    answers["writable again"] = told(office)
    house.close()
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
