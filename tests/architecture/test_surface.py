"""The golden file of the whole surface is what the code says."""

from __future__ import annotations

import pytest

from minutebook.operations.registry import REGISTRY
from minutebook.surfaces import surface


def test_the_surface_file_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    current = surface.main(["--check"]) == 0
    said = "\n".join(capsys.readouterr().out.splitlines()[:40])
    assert current, f"run `python -m minutebook.surfaces.surface` and look at the diff:\n{said}"


def test_the_surface_file_names_every_operation() -> None:
    text = surface.FILE.read_text("utf-8")
    assert [op.name for op in REGISTRY.all() if op.command not in text] == []
