"""The file that binds a directory to a project: found upwards, never regenerated, never overwritten."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.files import workspace
from minutebook.model.errors import MinutebookError
from minutebook.model.text import check_name

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
AT = "2026-01-01T00:00:00.000000Z"


def bind(root: Path, project: str = ULID, name: str = "Nostromo") -> workspace.Binding:
    return workspace.create(root, project=project, name=name, created_at=AT)


def problem(start: Path) -> MinutebookError:
    with pytest.raises(MinutebookError) as refused:
        workspace.find(start)
    return refused.value


def place(root: Path, content: bytes) -> Path:
    (root / ".minutebook").mkdir()
    path = root / ".minutebook" / "workspace.toml"
    path.write_bytes(content)
    return path


def test_a_binding_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = bind(tmp_path, name='A "name" \\ with signs')
    assert workspace.find(tmp_path) == made
    assert made.file == tmp_path / ".minutebook" / "workspace.toml"
    assert oct(made.file.stat().st_mode & 0o777) == "0o644"
    assert os.listdir(made.file.parent) == ["workspace.toml"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=80))
def test_every_name_that_a_project_may_have_is_kept(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    try:
        accepted = check_name(name, "project")
    except MinutebookError:
        return
    root = tmp_path_factory.mktemp("named")
    bind(root, name=accepted)
    found = workspace.find(root)
    assert found is not None
    assert found.name == accepted


def test_ancestors_are_searched_and_the_nearest_is_taken(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert workspace.find(deep) is None
    bind(tmp_path)
    bind(tmp_path / "a" / "b", OTHER)
    starts = (deep, tmp_path / "a", tmp_path / "a" / "no-such-directory")
    found = [binding for start in starts if (binding := workspace.find(start)) is not None]
    assert [binding.project for binding in found] == [OTHER, ULID, ULID]
    assert [binding.root for binding in found] == [tmp_path / "a" / "b", tmp_path, tmp_path]


def test_a_moved_or_copied_directory_keeps_its_project(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    bind(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    found = workspace.find(tmp_path / "there")
    assert found is not None
    assert (found.project, found.root) == (ULID, tmp_path / "there")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"project_id = \n",
        b"\xff\xfe\x00",
        b'project_id = "not-a-ulid"\n',
        f'project_id = "{ULID.lower()}"\n'.encode(),
        f'project_id = "{ULID}"\nname = 5\n'.encode(),
        f'project_id = "{ULID}"\ncreated_at = 2026-01-01\n'.encode(),
        f'project_id = ["{ULID}"]\n'.encode(),
        f'project_id = "{ULID}"\n'.encode() + b"#" * 20_000,
        b"<<<<<<< HEAD\n",
    ],
    ids=["empty", "torn", "binary", "no ulid", "lower case", "name", "date", "list", "huge", "conflict"],
)
def test_an_invalid_file_is_an_error_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = place(tmp_path, content)
    (tmp_path / "deep").mkdir()
    for start in (tmp_path, tmp_path / "deep"):
        error = problem(start)
        assert (error.code, error.details["path"]) == ("bad_workspace", str(path))
        assert "version control" in error.details["hint"]
    with pytest.raises(MinutebookError) as refused:
        bind(tmp_path)
    assert refused.value.code == "exists"
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["workspace.toml"]


def test_an_invalid_file_is_not_passed_over_for_a_valid_one_above(tmp_path: Path) -> None:
    bind(tmp_path)
    (tmp_path / "deep").mkdir()
    place(tmp_path / "deep", b"torn")
    assert problem(tmp_path / "deep").code == "bad_workspace"


def test_an_existing_file_is_never_overwritten_whoever_races(tmp_path: Path) -> None:
    ended: list[str] = []
    together = threading.Barrier(2)

    def race(project: str) -> None:
        together.wait(30)
        try:
            ended.append(bind(tmp_path, project).project)
        except MinutebookError as error:
            ended.append(error.code)

    threads = [threading.Thread(target=race, args=(project,)) for project in (ULID, OTHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "exists" in ended
    found = workspace.find(tmp_path)
    assert found is not None
    assert found.project in ended
    with pytest.raises(MinutebookError):
        bind(tmp_path, OTHER)
    assert workspace.find(tmp_path) == found


def test_links_that_lead_nowhere_or_in_circles_are_errors(tmp_path: Path) -> None:
    folder = tmp_path / ".minutebook"
    folder.symlink_to(folder)  # a circle
    assert problem(tmp_path).code == "bad_workspace"
    with pytest.raises(MinutebookError) as refused:
        bind(tmp_path)
    assert refused.value.code in ("bad_workspace", "exists")
    folder.unlink()
    folder.mkdir()
    (folder / "workspace.toml").symlink_to("nowhere")
    assert problem(tmp_path).code == "bad_workspace"
    (folder / "workspace.toml").unlink()
    (folder / "workspace.toml").symlink_to("workspace.toml")
    assert problem(tmp_path).code == "bad_workspace"


def test_a_linked_folder_does_not_take_a_new_file_out_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / ".minutebook").symlink_to(tmp_path / "outside")
    with pytest.raises(MinutebookError) as refused:
        bind(tmp_path / "inside")
    assert refused.value.code == "bad_workspace"
    assert os.listdir(tmp_path / "outside") == []


def test_what_is_no_plain_file_is_an_error_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = place(tmp_path, b"")
    path.unlink()
    os.mkfifo(path)
    assert "not a plain file" in problem(tmp_path).message
    path.unlink()
    path.mkdir()
    assert problem(tmp_path).code == "bad_workspace"
    path.rmdir()
    path.symlink_to("/dev/zero")
    assert problem(tmp_path).code == "bad_workspace"


@pytest.mark.parametrize("failing", ["lstat", "open"])
def test_what_cannot_be_read_is_an_error_and_not_taken_for_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    bind(tmp_path)

    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(workspace.os, failing, denied)
    error = problem(tmp_path)
    assert (error.code, "Permission denied" in error.message) == ("bad_workspace", True)


def test_a_directory_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(MinutebookError) as refused:
        bind(tmp_path / "no-such-directory")
    assert refused.value.code == "cannot_open"
