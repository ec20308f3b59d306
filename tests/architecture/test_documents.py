"""The documents are true: every command that the README prints works, every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.surfaces import settings_page

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```(\w+) run\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_every_example_of_the_readme_runs(
    tmp_path: Path, database_url: str, request: pytest.FixtureRequest
) -> None:
    """One reader, one ledger, from the first block to the last."""
    project = tmp_path / "project"
    project.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINUTEBOOK_")}
    environment = kept | {
        "MINUTEBOOK_HOME": str(tmp_path / "home"),
        "MINUTEBOOK_DATABASE_URL": database_url,
        "MINUTEBOOK_IDLE_EXIT": "60",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    blocks = _BLOCK.findall((ROOT / "README.md").read_text("utf-8"))
    assert {language for language, _ in blocks} == {"sh", "python"}
    stop = [str(Path(sys.executable).with_name("minutebook")), "stop", "--force"]
    request.addfinalizer(lambda: subprocess.run(stop, env=environment, cwd=project, check=True))
    for language, text in blocks:
        command = ["bash", "-euo", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
        done = subprocess.run(
            [*command, text],
            env=environment,
            cwd=project,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_page_of_settings_is_current() -> None:
    assert settings_page.main(["--check"]) == 0


def test_a_page_of_settings_that_is_not_current_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings_page, "FILE", tmp_path / "SETTINGS.md")
    assert settings_page.main(["--check"]) == 1
    assert "not current" in capsys.readouterr().out
    assert settings_page.main([]) == 0
    assert settings_page.main(["--check"]) == 0
