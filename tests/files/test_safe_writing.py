"""Writing and deleting: whole or not at all, and never what was not seen before."""

from __future__ import annotations

import itertools
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.files import renames, safe_writing
from minutebook.files.lines import sha256_of
from minutebook.files.safe import Root
from minutebook.files.safe_writing import Swept, delete, is_ours, sweep, write
from minutebook.model.errors import MinutebookError
from tests.files.attackers import exchanging

_NUMBERS = itertools.count(1)


def new_id() -> str:
    return f"{next(_NUMBERS):026d}"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "root").mkdir()
    with Root(tmp_path / "root") as opened:
        yield opened


def put(root: Root, path: str, data: bytes, was: bytes | None = None) -> bool:
    before = None if was is None else sha256_of(was)
    return write(root, path, data, was=before, new_id=new_id).changed


def names(root: Root) -> list[str]:
    return sorted(os.listdir(root.path))


def test_a_file_is_made_with_its_folders(root: Root) -> None:
    written = write(root, ".squad/decisions/inbox/a.md", b"one\n", was=None, new_id=new_id)
    path = root.path / ".squad/decisions/inbox/a.md"
    assert path.read_bytes() == b"one\n"
    assert written.sha256 == sha256_of(b"one\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["a.md"]
    found = root.read(".squad/decisions/inbox/a.md")
    assert found is not None
    assert found.facts == written.facts


def test_a_file_is_replaced_when_it_is_as_it_was_and_keeps_its_mode(root: Root) -> None:
    (root.path / "a.md").write_bytes(b"one")
    (root.path / "a.md").chmod(0o640)
    assert put(root, "a.md", b"two", was=b"one")
    assert (root.path / "a.md").read_bytes() == b"two"
    assert stat.S_IMODE((root.path / "a.md").stat().st_mode) == 0o640
    assert names(root) == ["a.md"]


def test_writing_what_is_there_already_changes_nothing(root: Root) -> None:
    put(root, "a.md", b"one")
    before = root.look("a.md")
    assert not put(root, "a.md", b"one")
    # As after a crash between the rename and the note that it was made.
    assert not put(root, "a.md", b"one", was=b"zero")
    assert root.look("a.md") == before


@pytest.mark.parametrize("was", [None, b"something else"])
def test_what_changed_since_is_left_alone(root: Root, was: bytes | None) -> None:
    (root.path / "a.md").write_bytes(b"hers")
    with pytest.raises(MinutebookError) as raised:
        put(root, "a.md", b"ours", was=was)
    assert raised.value.code == "file_changed"
    with pytest.raises(MinutebookError) as raised:
        delete(root, "a.md", was=sha256_of(b"ours"), new_id=new_id)
    assert raised.value.code == "file_changed"
    assert (root.path / "a.md").read_bytes() == b"hers"
    assert names(root) == ["a.md"]


def test_what_was_deleted_since_is_not_made_anew(root: Root) -> None:
    with pytest.raises(MinutebookError) as raised:
        put(root, "a.md", b"ours", was=b"gone")
    assert raised.value.code == "file_changed"
    assert names(root) == []


def test_a_file_is_deleted_only_once_and_only_as_it_was(root: Root) -> None:
    put(root, "a.md", b"one")
    assert delete(root, "a.md", was=sha256_of(b"one"), new_id=new_id)
    assert not delete(root, "a.md", was=sha256_of(b"one"), new_id=new_id)
    assert not delete(root, "no/where.md", was=sha256_of(b"one"), new_id=new_id)
    assert names(root) == []


class LateEdit:
    """An edit in the moment between our last look and our act: the id for our temporary name is asked then."""

    def __init__(self, path: Path, data: bytes | None) -> None:
        self.path, self.data = path, data

    def __call__(self) -> str:
        if self.data is None:
            self.path.unlink(missing_ok=True)
        else:
            (self.path.parent / "hers").write_bytes(self.data)
            os.replace(self.path.parent / "hers", self.path)
        return new_id()


@pytest.mark.parametrize("late", [b"her last edit", None])
@pytest.mark.parametrize("was", [b"old", None])
def test_an_edit_in_the_last_moment_wins_over_our_write(
    root: Root, late: bytes | None, was: bytes | None
) -> None:
    if was is not None:
        (root.path / "a.md").write_bytes(was)
    edit = LateEdit(root.path / "a.md", late)
    before = None if was is None else sha256_of(was)
    if was is None and late is None:
        assert write(root, "a.md", b"ours", was=before, new_id=edit).changed
        return
    with pytest.raises(MinutebookError) as raised:
        write(root, "a.md", b"ours", was=before, new_id=edit)
    assert raised.value.code == "file_changed"
    assert names(root) == ([] if late is None else ["a.md"])
    assert late is None or (root.path / "a.md").read_bytes() == late


def test_an_edit_in_the_last_moment_is_not_deleted(root: Root) -> None:
    (root.path / "a.md").write_bytes(b"old")
    with pytest.raises(MinutebookError) as raised:
        delete(root, "a.md", was=sha256_of(b"old"), new_id=LateEdit(root.path / "a.md", b"her edit"))
    assert raised.value.code == "file_changed"
    assert (root.path / "a.md").read_bytes() == b"her edit"
    assert names(root) == ["a.md"]
    assert not delete(root, "a.md", was=sha256_of(b"her edit"), new_id=LateEdit(root.path / "a.md", None))


def test_where_names_cannot_be_exchanged_the_last_look_still_counts(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renames, "_call", lambda: None)
    put(root, "a.md", b"one")
    assert put(root, "a.md", b"two", was=b"one")
    with pytest.raises(MinutebookError):
        write(
            root, "a.md", b"3", was=sha256_of(b"two"), new_id=LateEdit(root.path / "a.md", b"her last edit")
        )
    assert (root.path / "a.md").read_bytes() == b"her last edit"
    with pytest.raises(MinutebookError):
        write(root, "b.md", b"4", was=None, new_id=LateEdit(root.path / "b.md", b"hers"))
    assert delete(root, "a.md", was=sha256_of(b"her last edit"), new_id=new_id)
    assert names(root) == ["b.md"]


def test_links_and_second_names_are_neither_replaced_nor_followed(root: Root, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"secret")
    (root.path / "link.md").symlink_to(outside)
    os.link(outside, root.path / "shared.md")
    (root.path / "linked").symlink_to(tmp_path)
    for path in ("link.md", "shared.md", "linked/outside.md", "linked/new.md", "../new.md"):
        with pytest.raises(MinutebookError) as raised:
            put(root, path, b"ours", was=b"secret")
        assert raised.value.code == "unsafe_file"
        with pytest.raises(MinutebookError) as raised:
            delete(root, path, was=sha256_of(b"secret"), new_id=new_id)
        assert raised.value.code == "unsafe_file"
    assert outside.read_bytes() == b"secret"
    assert sorted(os.listdir(tmp_path)) == ["outside.md", "root"]


def test_a_full_disk_leaves_the_old_file_and_no_litter(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource
    import signal

    put(root, "a.md", b"one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, before[1]))
    try:
        with pytest.raises(MinutebookError) as raised:
            put(root, "a.md", b"x" * 100_000, was=b"one")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert raised.value.code == "disk_full"
    assert (root.path / "a.md").read_bytes() == b"one"
    assert names(root) == ["a.md"]


def test_a_sweep_removes_what_is_ours_and_reports_what_may_be_an_edit(root: Root) -> None:
    old, new = sha256_of(b"old")[:16], sha256_of(b"new")[:16]
    ours = [f".minutebook-{new_id()}.part", f".minutebook-{new_id()}-{new}-{old}.swap",
            f".minutebook-{new_id()}-{new}-{old}.swap"]  # fmt: skip
    for name, data in zip(ours, (b"hal", b"old", b"new"), strict=True):
        (root.path / name).write_bytes(data)
    edit = f".minutebook-{new_id()}-{new}-{old}.swap"
    (root.path / edit).write_bytes(b"an edit that nobody has seen")
    link = f".minutebook-{new_id()}.part"
    (root.path / link).symlink_to("a.md")
    for name in ("a.md", ".minutebook-notes", ".minutebook-x.part"):
        (root.path / name).write_bytes(b"hers")
    assert sweep(root) == Swept(tuple(sorted(ours)), tuple(sorted([edit, link])))
    assert names(root) == sorted(["a.md", ".minutebook-notes", ".minutebook-x.part", edit, link])
    assert sweep(root, "nowhere") == Swept((), ())


def test_a_sweep_leaves_a_write_that_is_under_way_alone(root: Root) -> None:
    """The name of the part is asked for the second time when the first one was taken; here it is swept."""
    with root.folder_of("a.md") as (folder, _):
        assert folder is not None
        handle, name = safe_writing._part(folder, new_id)
        assert sweep(root) == Swept((), ())
        os.close(handle)
        assert sweep(root) == Swept((name,), ())


def test_nothing_that_an_editor_wrote_is_ever_lost(root: Root) -> None:
    """Both sides exchange names, so that each knows what it displaced: every version is accounted for once."""
    path = root.path / "a.md"
    path.write_bytes(b"first")
    written, displaced = ["first"], []
    enough = threading.Event()

    def edit() -> None:
        with root.folder_of("a.md") as (folder, _):
            assert folder is not None
            number = 0
            while not enough.is_set():
                number += 1
                (root.path / "hers").write_bytes(b"hers %d" % number)
                renames.exchange("hers", "a.md", folder)
                written.append(f"hers {number}")
                displaced.append((root.path / "hers").read_text())

    thread = threading.Thread(target=edit)
    thread.start()
    made, refusals = 0, list[str]()
    try:
        # How often each comes in time is up to the machine: go on until both have, a few times.
        for number in itertools.count():
            if number >= 250 and (min(made, len(refusals)) > 3 or number >= 20_000):
                break
            found = root.read("a.md")
            assert found is not None
            try:
                write(root, "a.md", b"ours %d" % number, was=found.sha256, new_id=new_id)
                written.append(f"ours {number}")
                displaced.append(found.data.decode())
                made += 1
            except MinutebookError as error:
                refusals.append(error.code)
                if "kept" in error.details:
                    written.append(f"ours {number}")  # it was in its place for a moment, and displaced
    finally:
        enough.set()
        thread.join()
    kept = [(root.path / name).read_text() for name in names(root) if is_ours(name)]
    assert set(refusals) == {"file_changed"}
    assert min(made, len(refusals)) > 3
    assert sorted([*displaced, *kept, path.read_text()]) == sorted(written)


def test_a_kill_at_any_call_leaves_whole_files_and_nothing_that_a_sweep_does_not_take(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "tests.files.dying_writer", str(tmp_path / "root")]
    done = subprocess.run(
        script, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=True
    )
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert told["killed"] == told["calls"] > 50


def write_under_attack(tmp_path: Path, wanted: int) -> tuple[int, int, int]:
    """Write and delete in a folder that is exchanged for a link: done, refused, swaps."""
    inside, outside = tmp_path / "root", tmp_path / "outside"
    (inside / "inbox").mkdir(parents=True)
    outside.mkdir()
    (outside / "a.md").write_bytes(b"secret")
    (inside / "trap").symlink_to(outside)
    done = refused = number = 0
    held: str | None = None
    with Root(inside) as root, exchanging(inside / "inbox", inside / "trap") as attacker:
        while done < wanted or refused < wanted:
            number += 1
            try:
                if number % 4 == 3 and held is not None:
                    delete(root, "inbox/a.md", was=held, new_id=new_id)
                    held = None
                else:
                    held = write(root, "inbox/a.md", b"%d" % number, was=held, new_id=new_id).sha256
                done += 1
            except MinutebookError as error:
                refused += error.code == "unsafe_file"
        attacker.stop()
        assert done + refused == number
        assert os.listdir(outside) == ["a.md"]
        assert (outside / "a.md").read_bytes() == b"secret"
        assert [name for folder in ("inbox", "trap") if not (inside / folder).is_symlink()
                for name in os.listdir(inside / folder) if name != "a.md"] == []  # fmt: skip
        return done, refused, attacker.swaps


def test_a_folder_exchanged_for_a_link_is_not_written_through(tmp_path: Path) -> None:
    done, refused, swaps = write_under_attack(tmp_path, 40)
    assert min(done, refused) >= 40
    assert swaps > 600


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_hundred_thousand_exchanges_let_nothing_be_written_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, refused, swaps = write_under_attack(tmp_path, 4_000)
    with capsys.disabled():
        print(f"\nwrote or deleted {done}, refused {refused}, {swaps} exchanges, no escape, no litter")
    assert swaps > 100_000
