"""The story that `make start` plays: it runs to its end, on a screen and in a pipe, and notices a lie."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import ModuleType

import pytest

STORY = Path(__file__).parents[2] / "demo" / "story.py"
COMMAND = [sys.executable, str(STORY), "--fast"]


def quiet_house(tmp_path: Path) -> dict[str, str]:
    """An environment in which the reader has a ledger of their own, which nobody may touch."""
    return {
        **os.environ,
        "HOME": str(tmp_path / "reader"),
        "MINUTEBOOK_HOME": str(tmp_path / "own"),
        "MINUTEBOOK_AGENT": "somebody",
        "TERM": "xterm-256color",
        "TMPDIR": str(tmp_path),
    }


def load_story() -> ModuleType:
    spec = importlib.util.spec_from_file_location("minutebook_story", STORY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_story_runs_to_its_end_in_a_pipe_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    done = subprocess.run(
        COMMAND, env=quiet_house(tmp_path), capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    for told in (
        "created proposal database--bishop, because database is another agent's",
        "error[not_allowed]",
        "promoted database -> decision",
        "error[tombstoned]",
        "error[secret]",
        "Supersedes 'database'.",
        "Reverted supersede of 'database'.",
        "1 promoted, 1 waiting for review",
        "**learning** by ripley, kept by the scribe",
        "2 found",
    ):
        assert told in done.stdout
    assert done.stdout.rindex("minutebook init") > done.stdout.rindex("Now in your own project")
    assert [path.name for path in tmp_path.iterdir()] == ["reader"]
    assert list((tmp_path / "reader").iterdir()) == []


def test_the_story_fits_eighty_columns_and_is_in_colour_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = quiet_house(tmp_path)
    environment.pop("COLUMNS", None)
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(COMMAND, env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(master)
    assert process.wait(timeout=120) == 0, said.decode()
    text = said.decode()
    assert "\x1b[31merror\x1b[0m[secret]" in text  # the program's own colours
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "").split("\n")
    # A path is never cut; the temporary directory of a test can be deeper than that of a person.
    assert [line for line in lines if len(line) > 80 and str(tmp_path) not in line] == []


@pytest.mark.parametrize(
    ("script", "lie"),
    [
        ("echo something else", "does not say"),
        ("echo is the project nostromo now; exit 3", "exit code is 3"),
        ("echo is the project nostromo now; echo forbidden", "says 'forbidden'"),
    ],
)
def test_the_story_breaks_where_the_program_answers_otherwise(tmp_path: Path, script: str, lie: str) -> None:
    story = load_story()
    stage = story.Stage(tmp_path, fast=True)
    stage.program = tmp_path / "minutebook"
    stage.program.write_text(f"#!/bin/sh\n{script}\n")
    stage.program.chmod(0o755)
    with pytest.raises(story.Broken, match=lie):
        stage.run("init", shows=["is the project nostromo now"], hides=["forbidden"])
