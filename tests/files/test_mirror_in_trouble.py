"""kill -9 at the steps of a pass, a full disk, a read-only one: nothing is lost, nothing is left lying, all is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minutebook.operations import decisions
from tests.files.attackers import exchanging
from tests.files.mirroring import Office, tree
from tests.houses import House

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, seconds: float = 120) -> dict[str, Any]:
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return json.loads(done.stdout.splitlines()[-1])


def check_kills(tmp_path: Path, every: int, seconds: float = 120) -> int:
    answer = run(sys.executable, "-m", "tests.files.dying_mirror", tmp_path, str(every), seconds=seconds)
    assert answer["wrong"] == []
    assert answer["steps"] > 200
    assert answer["states"][".agentweaver/context/patterns.md"] == "foreign"
    return answer["kills"]


def test_a_sample_of_kills_during_a_pass(tmp_path: Path) -> None:
    assert check_kills(tmp_path, 17) > 15


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_kill_at_every_step_of_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kills = check_kills(tmp_path, 1, seconds=1_000)
    with capsys.disabled():
        print(f"\n{kills} kills of a pass over a workspace, each restarted and compared")
    assert kills > 200


def test_a_full_and_a_read_only_disk_are_told_of_and_caught_up_with(tmp_path: Path) -> None:
    inside = [sys.executable, "-m", "tests.files.tight_spot", tmp_path]
    answers = run("unshare", "--map-root-user", "--mount", *inside)
    path = ".squad/decisions.md"
    assert answers["good"]["states"][path][0] == "in step"
    full = answers["full"]
    assert full["done"][path] == ["failed", f"There is no room to write {path}."]
    assert full["states"][path] == ["late", f"There is no room to write {path}."]
    assert full["health"]
    assert full["kept"] == 1
    read_only = answers["read-only"]
    assert read_only["done"][path][0] == "failed"
    assert "cannot be read or written" in read_only["states"][path][1]
    for settled, entries in (("room again", 2), ("writable again", 3)):
        assert answers[settled]["states"][path] == ["in step", ""]
        assert answers[settled]["health"] == []
        assert answers[settled]["kept"] == entries
    assert [answer["litter"] for answer in answers.values()] == [[]] * 5


def test_a_folder_that_is_swapped_for_a_link_leads_no_pass_astray(house: House, tmp_path: Path) -> None:
    office = Office(house, tmp_path)
    root, elsewhere = office.make(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "decisions.md").write_bytes(b"theirs")
    house.dallas(decisions.write, type="scope", title="Rule", content="The first.", slug="rule")
    office.sync()
    (root / "link").symlink_to(elsewhere)
    with exchanging(root / ".squad", root / "link") as attacker:
        for number in range(40):
            house.dallas(decisions.edit, ref="rule", content=f"The {number}th wording.")
            office.follow(root)
            office.sync()
        attacker.stop()
    assert attacker.swaps > 100
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == {"decisions.md": b"theirs"}
    if (root / ".squad").is_symlink():
        (root / ".squad").rename(root / "other")
        (root / "link").rename(root / ".squad")
    office.sync()
    assert b"The 39th wording." in tree(root)[".squad/decisions.md"]
    assert not list((root / ".squad").glob(".minutebook-*"))
