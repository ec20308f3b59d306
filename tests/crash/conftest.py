"""What the crash tests share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.runs import Launcher

# Without a compiler there is no shim, and so nothing to test.
collect_ignore = [] if shutil.which("cc") else ["test_kill_at_every_file_call.py"]


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    """The process that forks the victims of one test."""
    started = Launcher(tmp_path / "launcher")
    yield started
    started.close()
