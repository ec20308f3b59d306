"""Small packages that bring providers: built as wheels and unpacked, with the metadata that an installer leaves."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path


def wheel(folder: Path, name: str, version: str, code: str, entries: Mapping[str, Mapping[str, str]]) -> Path:
    """A wheel with one module, and entry points by their group."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    points = "\n".join(
        f"[{group}]\n" + "".join(f"{point} = {module}:{made}\n" for point, made in of.items())
        for group, of in entries.items()
    )
    files = {
        f"{module}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": points,
    }
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
        f"{len(text.encode())}\n"
        for path, text in files.items()
    )
    made = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return made


def unpacked(made: Path, into: Path) -> Path:
    """What installing a pure wheel comes to."""
    with zipfile.ZipFile(made) as archive:
        archive.extractall(into)
    return into
