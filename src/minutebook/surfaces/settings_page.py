"""docs/SETTINGS.md: the table of settings as a page, written by this module and compared by a test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from minutebook.settings import Setting, table

FILE = Path(__file__).parents[3] / "docs" / "SETTINGS.md"

_HEAD = """\
# Settings

Every setting is an environment variable; there is no settings file. The command line's `--home`, `--database`
and `--project` come before the environment. A value that cannot be used is an error (`bad_setting`), never
ignored. This page is written by `python -m minutebook.surfaces.settings_page`.

| variable | default | meaning |
|---|---|---|
"""

_TAIL = """
Three more variables are read by the command line alone:

| variable | meaning |
|---|---|
| `NO_COLOR` | set to anything: no colour, also on a terminal |
| `COLUMNS` | the width of tables and help |
| `MINUTEBOOK_DEBUG` | `1` prints the trace of a defect of ours |
"""


def render(settings: Sequence[Setting]) -> str:
    """The page."""
    return _HEAD + "".join(_row(setting) for setting in settings) + _TAIL


def _row(setting: Setting) -> str:
    default = f"`{setting.default}`" if str(setting.default) else "(empty)"
    meaning = setting.meaning.replace("|", "\\|")
    return f"| `{setting.environment}` | {default} | {meaning} |\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with --check say whether it is current."""
    wanted = render(table())
    if "--check" not in arguments:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(wanted, encoding="utf-8")
        return 0
    current = FILE.exists() and FILE.read_text(encoding="utf-8") == wanted
    if not current:
        print(f"{FILE.name} is not current; run: python -m minutebook.surfaces.settings_page")
    return 0 if current else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
