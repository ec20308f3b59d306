"""Reading a folder that others write to: never led out of it, and absent is not the same as unreadable."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.files.lines import digest_of, lines_of, sha256_of
from minutebook.files.safe import Root, Sort
from minutebook.model.errors import MinutebookError
from tests.files.attackers import exchanging


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    inside = tmp_path / "workspace"
    (inside / "inbox").mkdir(parents=True)
    (inside / "inbox" / "a.md").write_bytes(b"fine\n")
    with Root(inside) as opened:
        yield opened


def code_of(root: Root, path: str) -> str:
    with pytest.raises(MinutebookError) as raised:
        root.read(path)
    return raised.value.code


def test_a_file_is_read_whole_with_its_hash(root: Root) -> None:
    found = root.read("inbox/a.md")
    assert found is not None
    assert (found.data, found.sha256, found.facts.size) == (b"fine\n", sha256_of(b"fine\n"), 5)


@pytest.mark.parametrize("path", ["inbox/b.md", "nowhere/a.md", "inbox/a/b/c.md"])
def test_what_is_not_there_is_absent(root: Root, path: str) -> None:
    assert root.read(path) is None
    assert root.look(path) is None


@pytest.mark.parametrize(
    "path",
    ["", ".", "..", "/etc/passwd", "../workspace/inbox/a.md", "inbox/../inbox/a.md", "inbox/./a.md", "inbox//a.md",
     "inbox/a.md/", "a\0b", "inbox\\..\\..\\x", "x/\udc00\ud800", "n" * 300],
)  # fmt: skip
def test_a_path_that_is_no_plain_path_below_the_folder_is_refused(root: Root, path: str) -> None:
    assert code_of(root, path) == "unsafe_file"


def test_links_pipes_sockets_folders_and_second_names_are_refused(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    inside = root.path / "inbox"
    (inside / "link.md").symlink_to(secret)
    (inside / "dangling.md").symlink_to(tmp_path / "nothing")
    (root.path / "linked").symlink_to(tmp_path)
    os.link(secret, inside / "shared.md")
    os.mkfifo(inside / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(inside)  # the address of a socket is short
        listening.bind("socket.md")
    for name in ("link.md", "dangling.md", "shared.md", "pipe.md", "socket.md"):
        assert code_of(root, f"inbox/{name}") == "unsafe_file", name
    assert code_of(root, "inbox") == "unsafe_file"
    assert code_of(root, "linked/secret.md") == "unsafe_file"
    assert code_of(root, "inbox/a.md/b.md") == "unsafe_file"
    named = {one.name: one.sort for one in root.names("inbox") or ()}
    assert named == {
        "a.md": Sort.FILE,
        "dangling.md": Sort.LINK,
        "link.md": Sort.LINK,
        "pipe.md": Sort.OTHER,
        "shared.md": Sort.SHARED,
        "socket.md": Sort.OTHER,
    }


def test_a_file_over_the_limit_is_not_read(root: Root) -> None:
    (root.path / "big.md").write_bytes(b"x" * 101)
    assert root.read("big.md", most=101) is not None
    with pytest.raises(MinutebookError) as raised:
        root.read("big.md", most=100)
    assert raised.value.code == "too_large"


def test_what_cannot_be_read_is_not_absent(root: Root) -> None:
    if os.geteuid() == 0:
        # Root reads everything: a folder that is no folder any more stands for what cannot be entered.
        (root.path / "inbox" / "a.md").unlink()
        (root.path / "inbox").rmdir()
        (root.path / "inbox").write_text("a file")
        assert code_of(root, "inbox/a.md") == "unsafe_file"
    else:
        (root.path / "inbox").chmod(0)
        assert code_of(root, "inbox/a.md") == "no_access"
        (root.path / "inbox").chmod(0o755)


def test_a_folder_that_was_moved_away_makes_nothing_absent(root: Root) -> None:
    root.path.rename(root.path.with_name("moved"))
    assert root.read("inbox/a.md") is not None
    assert code_of(root, "inbox/b.md") == "no_access"
    root.path.mkdir()
    assert code_of(root, "inbox/b.md") == "no_access"
    with pytest.raises(MinutebookError) as raised:
        root.names("nowhere")
    assert raised.value.code == "no_access"


def test_a_root_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(MinutebookError) as raised:
        Root(tmp_path / "nothing")
    assert raised.value.code == "not_found"
    (tmp_path / "file").write_text("")
    with pytest.raises(MinutebookError) as raised:
        Root(tmp_path / "file")
    assert raised.value.code == "unsafe_file"


def test_names_are_listed_up_to_a_limit(root: Root) -> None:
    assert [one.name for one in root.names() or ()] == ["inbox"]
    assert root.names("nowhere") is None
    (root.path / "inbox" / "b.md").write_text("")
    with pytest.raises(MinutebookError) as raised:
        root.names("inbox", most=1)
    assert raised.value.code == "too_many"


def test_lines_are_cited_with_a_hash_that_no_line_end_changes(root: Root) -> None:
    (root.path / "lf.md").write_bytes(b"one\ntwo\nthree")
    (root.path / "crlf.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\nfour\r\n")
    cited = root.cite("lf.md", 2, 3)
    assert cited is not None
    assert (cited.lines, cited.whole) == ((b"two", b"three"), True)
    again = root.cite("crlf.md", 2, 3)
    assert again is not None
    assert again.digest == cited.digest == digest_of([b"two", b"three"])
    beyond = root.cite("lf.md", 3, 9)
    assert beyond is not None
    assert (beyond.lines, beyond.whole) == ((b"three",), False)
    assert root.cite("none.md", 1, 2) is None
    assert lines_of(b"") == []
    assert lines_of(b"\n") == [b""]


def test_a_file_that_is_replaced_all_the_time_is_one_of_its_versions(root: Root) -> None:
    versions = [bytes([65 + number]) * 50_000 for number in range(2)]
    target = root.path / "busy.md"
    target.write_bytes(versions[0])
    enough = threading.Event()

    def replace() -> None:
        turn = 0
        while not enough.is_set():
            turn ^= 1
            (root.path / "new").write_bytes(versions[turn])
            os.replace(root.path / "new", target)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(300):
            found = root.read("busy.md")
            assert found is not None
            assert found.data in versions
    finally:
        enough.set()
        thread.join()


def test_a_file_that_is_written_over_while_it_is_read_is_read_again(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root.path / "inbox" / "a.md"
    real, edits = os.read, iter([b"wine\n", b"pine\n"])

    def read(handle: int, size: int) -> bytes:
        found = real(handle, size)
        if edit := next(edits, b""):
            before = path.stat().st_mtime_ns
            with path.open("r+b") as file:
                file.write(edit)
            os.utime(path, ns=(before + 1_000, before + 1_000))
        return found

    monkeypatch.setattr(os, "read", read)
    found = root.read("inbox/a.md")
    assert found is not None
    assert found.data == b"pine\n"


def read_under_attack(tmp_path: Path, tries: int) -> tuple[int, int, int]:
    """Read a file while its folder is exchanged for a link to another folder: fine, refused, swaps."""
    inside, outside = tmp_path / "root", tmp_path / "outside"
    (inside / "inbox").mkdir(parents=True)
    outside.mkdir()
    (inside / "inbox" / "a.md").write_bytes(b"fine")
    (outside / "a.md").write_bytes(b"secret")
    (inside / "trap").symlink_to(outside)
    fine = refused = 0
    with Root(inside) as root, exchanging(inside / "inbox", inside / "trap") as attacker:
        for _ in range(tries):
            try:
                found = root.read("inbox/a.md")
                assert found is not None
                assert found.data == b"fine"
                fine += 1
            except MinutebookError as error:
                refused += error.code == "unsafe_file"
        assert fine + refused == tries
        attacker.stop()
        return fine, refused, attacker.swaps


def test_a_folder_exchanged_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    fine, refused, swaps = read_under_attack(tmp_path, 4_000)
    assert min(fine, refused) > 100
    assert swaps > 4_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_thousand_exchanges_lead_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fine, refused, swaps = read_under_attack(tmp_path, 200_000)
    with capsys.disabled():
        print(f"\nread {fine}, refused {refused}, {swaps} exchanges, no escape")
    assert swaps > 100_000
    assert min(fine, refused) > 1_000
