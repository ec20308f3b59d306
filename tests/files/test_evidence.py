"""What became of what memories rest on: the cited lines, in a workspace that others write to."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.call import Nobody, Witness
from minutebook.files import evidence as module
from minutebook.files import workspace
from minutebook.files.evidence import Workspaces
from minutebook.model.context import EvidenceState
from minutebook.model.evidence import Evidence, EvidenceKind, parse_evidence, spelled

PROJECT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LINES = [f"line {number}" for number in range(1, 11)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace of the project with one file in it."""
    place = tmp_path / "work"
    (place / "src").mkdir(parents=True)
    workspace.create(place, project=PROJECT, name="Nostromo", created_at="2026-01-01T00:00:00.000000Z")
    (place / "src/app.py").write_text("\n".join(LINES) + "\n")
    return place


def witness(root: Path, known: Workspaces | None = None) -> Witness:
    return (known or Workspaces())(root, PROJECT)


def cite(root: Path, text: str = "file:src/app.py#3-5") -> Evidence:
    piece = parse_evidence(text)
    return replace(piece, digest=witness(root).digest(piece))


def state(root: Path, piece: Evidence) -> str:
    return witness(root).state(piece).value


def write(root: Path, *lines: str, path: str = "src/app.py") -> None:
    (root / path).write_text("\n".join(lines) + "\n")


def test_a_span_that_is_as_it_was_is_fresh(root: Path) -> None:
    piece = cite(root)
    assert piece.digest is not None
    assert state(root, piece) == "fresh"
    assert state(root, cite(root, "file:src/app.py")) == "fresh"
    assert state(root, cite(root, "file:src/app.py#3")) == "fresh"


def test_a_span_is_stale_when_one_letter_of_it_changed_and_not_when_another_line_did(root: Path) -> None:
    piece, whole = cite(root), cite(root, "file:src/app.py")
    write(root, *LINES[:7], "line eight", *LINES[8:])
    assert (state(root, piece), state(root, whole)) == ("fresh", "stale")
    write(root, *LINES[:3], "Line 4", *LINES[4:])
    assert state(root, piece) == "stale"
    write(root, *LINES[:4])
    assert state(root, piece) == "stale"


def test_a_span_that_only_moved_within_its_file_is_fresh(root: Path) -> None:
    piece = cite(root)
    write(root, "new", "lines", "above", *LINES)
    found, why = witness(root).why(piece)
    assert (found, why) == (EvidenceState.FRESH, "the cited lines are as they were, from line 6 on")
    write(root, *LINES[2:])
    assert state(root, piece) == "fresh"


def test_other_line_ends_are_no_change(root: Path) -> None:
    piece = cite(root)
    (root / "src/app.py").write_bytes(b"\r\n".join(line.encode() for line in LINES))
    assert state(root, piece) == "fresh"


def test_a_file_that_is_gone_is_missing_also_where_no_hash_was_taken(root: Path) -> None:
    piece = cite(root)
    os.rename(root / "src", root / "source")
    assert state(root, piece) == "missing"
    assert state(root, replace(piece, digest=None)) == "missing"


def test_without_a_hash_nothing_can_be_said(root: Path) -> None:
    assert state(root, parse_evidence("file:src/app.py#3-5@0a1b2c")) == "unverifiable"
    for text in ("url:https://example.org", "commit:0a1b2c", "source:S1", "message:M1"):
        piece = replace(parse_evidence(text), digest="0" * 64)
        assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/hostname", "src/../src/app.py", "./src/app.py", "src//app.py", "", "\0"]
)
def test_a_path_that_leaves_the_workspace_is_not_looked_at(root: Path, path: str) -> None:
    (root.parent / "outside").write_text("secret\n")
    piece = Evidence(EvidenceKind.FILE, path, None, "0" * 64)
    assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)


def test_no_link_is_followed_and_nothing_but_a_plain_file_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "app.py").write_text("\n".join(LINES) + "\n")
    piece = cite(root)
    (root / "src/app.py").rename(root / "src/real.py")
    (root / "src/app.py").symlink_to(outside / "app.py")
    assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)
    (root / "src/app.py").unlink()
    os.link(root / "src/real.py", root / "src/app.py")
    assert state(root, piece) == "unverifiable"
    (root / "src/app.py").unlink()
    os.mkfifo(root / "src/app.py")
    assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)
    (root / "src/app.py").unlink()
    (root / "src/app.py").mkdir()
    assert state(root, piece) == "unverifiable"
    (root / "src/app.py").rmdir()
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(root)  # the address of a socket is short
        server.bind("src/app.py")
        assert state(root, piece) == "unverifiable"
    (root / "src/app.py").unlink()
    (root / "src/real.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)


def test_a_file_that_is_too_large_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece = cite(root)
    monkeypatch.setattr(module, "_FILE_BYTES", 20)
    assert (state(root, piece), witness(root).digest(piece)) == ("unverifiable", None)


def test_only_so_much_is_read_for_one_call(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, *LINES, path="src/other.py")
    one, two = cite(root), cite(root, "file:src/other.py#1")
    monkeypatch.setattr(module, "_CALL_BYTES", 10)
    looking = witness(root)
    assert (looking.state(one), looking.state(two)) == ("fresh", "unverifiable")
    assert looking.state(replace(one, span="1", digest="0" * 64)) == "stale"


def test_a_file_that_may_not_be_read_is_not_taken_for_missing(root: Path) -> None:
    piece = cite(root)
    handle = os.open(root / "src", os.O_RDONLY)
    try:
        os.chmod(root / "src", 0)
        if os.access(root / "src/app.py", os.R_OK):  # the superuser may read all the same
            assert state(root, piece) == "fresh"
        else:
            assert state(root, piece) == "unverifiable"
    finally:
        os.fchmod(handle, 0o755)
        os.close(handle)


@pytest.mark.parametrize("span", ["0", "5-3", "0-0", "11", "9-12"])
def test_lines_that_a_file_does_not_have_are_not_hashed(root: Path, span: str) -> None:
    assert witness(root).digest(Evidence(EvidenceKind.FILE, "src/app.py", span)) is None
    assert state(root, Evidence(EvidenceKind.FILE, "src/app.py", span, "0" * 64)) == "stale"


def test_a_folder_that_is_not_the_projects_by_its_own_file_tells_nothing(root: Path, tmp_path: Path) -> None:
    known = Workspaces()
    assert isinstance(known(root, "01ARZ3NDEKTSV4RRFFQ69G5FAX"), Nobody)
    assert isinstance(known(tmp_path, PROJECT), Nobody)
    assert isinstance(known(tmp_path / "nowhere", PROJECT), Nobody)
    (root / ".minutebook/workspace.toml").write_text("nonsense")
    assert isinstance(known(root, PROJECT), Nobody)
    assert Nobody().state(cite_nothing()) == "unverifiable"


def cite_nothing() -> Evidence:
    return Evidence(EvidenceKind.FILE, "x", None, "0" * 64)


def test_what_did_not_change_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piece, known = cite(root), Workspaces()
    assert witness(root, known).state(piece) == "fresh"
    monkeypatch.setattr(module, "_FILE_BYTES", 0)  # whoever reads now fails
    assert witness(root, known).state(piece) == "fresh"
    write(root, *LINES[:3], "Line 4", *LINES[4:])
    assert witness(root, known).state(piece) == "unverifiable"
    monkeypatch.undo()
    assert witness(root, known).state(piece) == "stale"


def test_only_so_many_answers_are_remembered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 3)
    known = Workspaces()
    for number in range(1, 9):
        witness(root, known).state(cite(root, f"file:src/app.py#{number}"))
    assert len(known._seen) == 3


def test_no_handle_is_left_open(root: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        state(root, cite(root))
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize(
    "text",
    ["file:src/app.py#3-5@0a1b2c", "file:a#1", "url:https://example.org/a#b@c", "commit:0a", "message:m"],
)
def test_evidence_is_spelled_as_it_is_read(text: str) -> None:
    assert spelled(parse_evidence(text)) == text
