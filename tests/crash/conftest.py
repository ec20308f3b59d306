"""What the crash tests share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import postgres
from tests.crash.runs import Launcher

# What is not there cannot be tested: the shim needs a compiler.
collect_ignore = [] if shutil.which("cc") else ["test_kill_at_every_file_call.py"]
if postgres.OFF:
    collect_ignore.append("test_kill_at_every_step_on_postgres.py")


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    """The process that forks the victims of one test."""
    started = Launcher(tmp_path / "launcher")
    yield started
    started.close()
