"""The drop-box with letters that real teams wrote, where they are at hand.

They are not ours to ship: see test_squad_samples. Inbox files are seldom committed, so that the entries of their
ledgers, each once a letter, are laid down too, in the very lines in which they stand there.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minutebook.files.reading import parse
from minutebook.model.files import FileState
from minutebook.operations import inbox
from tests.files.desks import INBOX, Desk
from tests.files.test_squad_samples import LEDGERS, SAMPLES
from tests.houses import House

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"no samples of real repositories at {SAMPLES.name}"
)
#: As many as were ever committed in the repositories that the samples are of; and those of the short run.
MOST, FEW = 685, 160


@pytest.fixture
def engine() -> str:
    return "sqlite"


def letters(most: int) -> dict[str, bytes]:
    """Real letters by a name of their own: first those of drop-boxes, then entries of ledgers."""
    found: dict[str, bytes] = {}
    files = sorted(SAMPLES.rglob("*.md"))
    for file in files:
        if "decisions/inbox/" in file.as_posix():
            repository = file.relative_to(SAMPLES).parts[0].partition("__")[2].lower()
            found[f"{repository}-{file.name}"] = file.read_bytes()
    for file in files:
        path = file.relative_to(SAMPLES).as_posix()
        if not LEDGERS.search(f"/{path}"):
            continue
        data = file.read_bytes()
        lines = data.splitlines(keepends=True)
        for entry in parse(path.partition("/")[2], data).entries:
            if len(found) >= most:
                return found
            name = re.sub(r"[^a-z0-9]+", "-", entry.title.lower()).strip("-")[:60] or "untitled"
            found.setdefault(f"{name}.md", b"".join(lines[entry.span.first - 1 : entry.span.last]))
    return found


@pytest.mark.parametrize("most", [FEW, pytest.param(MOST, marks=pytest.mark.slow)])
def test_real_letters_are_taken_in_once_and_none_is_lost(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str], most: int
) -> None:
    desk = Desk(house, tmp_path / "ship")
    laid = letters(most)
    folder = desk.root / INBOX
    folder.mkdir(parents=True)
    for name, data in laid.items():
        (folder / name).write_bytes(data)
    done = desk.settle()
    kept = {row["content"].encode() for row in house.rows("SELECT content FROM sources")}
    listed = desk.lines()
    states = {state: sum(line.state is state for line in listed.values()) for state in FileState}
    count = house.rows("SELECT count(*) AS n FROM proposals")[0]["n"]
    with capsys.disabled():
        print(
            f"\n{len(laid)} letters: {count} proposals; left and listed: "
            + ", ".join(f"{number} {state}" for state, number in states.items() if number)
        )
    # Every letter is in the ledger byte by byte, or lies where it lay and is listed.
    for name, data in laid.items():
        path = f"{INBOX}/{name}"
        assert (data in kept) != (path in listed), path
        assert (folder / name).read_bytes() == data
    assert len(done) == len(laid)
    assert count >= 0.9 * len(laid)
    named = house.rows("SELECT count(*) AS n FROM proposals WHERE agent <> 'file'")[0]["n"]
    assert named >= 0.5 * count
    # Once more, by somebody who remembers nothing: nothing new.
    again = Desk(house, desk.root)
    assert again.settle() == {}
    assert house.rows("SELECT count(*) AS n FROM proposals")[0]["n"] == count


def test_real_letters_give_way_to_their_mirrored_form_and_come_back_from_it(
    house: House, tmp_path: Path
) -> None:
    desk = Desk(house, tmp_path / "ship")
    folder = desk.root / INBOX
    folder.mkdir(parents=True)
    for name, data in list(letters(40).items())[:40]:
        (folder / name).write_bytes(data)
    desk.settle(mirror=True)
    waiting = house.mother(inbox.list_, limit=100).items
    stays = {Path(path).name for path in desk.lines()}
    assert set(desk.names(INBOX)) == {f"{line.slug}.md" for line in waiting} | stays
    assert desk.settle(mirror=True) == {}
