"""The models of a home: `<home>/models/<name>`, added by one explicit command and checked by their hashes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.model.errors import MinutebookError, missing_extra
from minutebook.model.meaning import Space

if TYPE_CHECKING:
    from minutebook.minds.cards import Card
    from minutebook.minds.embedders import Embedder

_IN_USE = "in-use.json"


@dataclass(frozen=True, slots=True)
class Model:
    """One model of a home."""

    name: str
    in_use: bool
    dimensions: int
    bytes: int
    licence: str
    folder: str


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """The models of a home that are in use, one or several as one."""

    folders: tuple[Path, ...]
    cards: tuple[Card, ...]
    threads: int

    @property
    def space(self) -> Space:
        from minutebook.minds.embedders import joined_space

        return joined_space(
            [(Space(card.name, card.digest, card.dimensions), card.weight) for card in self.cards]
        )

    def open(self) -> Embedder:
        from minutebook.minds.embedders import Joined

        try:
            from minutebook.minds.onnx_embedder import OnnxEmbedder
        except ImportError as error:
            raise missing_extra("A local model needs its runtime", "semantic") from error
        parts = [
            (OnnxEmbedder(folder, card, threads=self.threads), card.weight)
            for folder, card in zip(self.folders, self.cards, strict=True)
        ]
        return parts[0][0] if len(parts) == 1 else Joined(parts)


def place(home: Path) -> Path:
    return home / "models"


def names_in_use(home: Path) -> tuple[str, ...]:
    """The models that are in use; none where none was added."""
    try:
        said = json.loads((place(home) / _IN_USE).read_text("utf-8"))
        return tuple(str(name) for name in said["models"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MinutebookError(
            "bad_model", f"{place(home) / _IN_USE} cannot be read.", hint="minutebook models add"
        ) from error


class Shelf:
    """The models of one home as they are now: what their files say is read again when they changed."""

    def __init__(self, home: Path, threads: int) -> None:
        self._home, self._threads = home, threads
        self._seen: tuple[int, int] | None = None
        self._choice: LocalChoice | None = None

    def choose(self) -> LocalChoice:
        """Which models are in use. The list is replaced as a whole, so its inode and time tell of every change."""
        try:
            stat = os.stat(place(self._home) / _IN_USE)
        except FileNotFoundError:
            raise _none() from None
        seen = (stat.st_ino, stat.st_mtime_ns)
        if self._choice is None or seen != self._seen:
            self._choice, self._seen = self._read(), seen
        return self._choice

    def _read(self) -> LocalChoice:
        from minutebook.minds.cards import read_card

        names = names_in_use(self._home)
        if not names:
            raise _none()
        folders = tuple(place(self._home) / name for name in names)
        return LocalChoice(folders, tuple(map(read_card, folders)), self._threads)


def _none() -> MinutebookError:
    return MinutebookError("no_model", "No model is installed", hint="minutebook models add")


def list_(home: Path) -> list[Model]:
    """Every model of a home."""
    from minutebook.minds.cards import read_card

    used = names_in_use(home)
    found = []
    for folder in sorted(place(home).iterdir()) if place(home).exists() else ():
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        card = read_card(folder)
        size = sum(file.stat().st_size for file in folder.iterdir())
        found.append(
            Model(folder.name, folder.name in used, card.dimensions, size, card.licence, str(folder))
        )
    return found


def use(home: Path, names: Sequence[str]) -> None:
    """Say which models are in use from now on."""
    target = place(home) / _IN_USE
    temporary = target.with_name(f".{_IN_USE}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"models": list(names)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, target)
    _sync(target.parent)


def install(home: Path, folder: Path, name: str) -> None:
    """Put a folder that is ready in its place; one of that name goes."""
    target = place(home) / name
    old = place(home) / f".old-{name}"
    shutil.rmtree(old, ignore_errors=True)
    for file in folder.iterdir():
        _sync(file)
    if target.exists():
        os.replace(target, old)
    os.replace(folder, target)
    _sync(place(home))
    shutil.rmtree(old, ignore_errors=True)


def remove(home: Path, name: str) -> None:
    """Take a model out of use and away."""
    if name not in {model.name for model in list_(home)}:
        raise MinutebookError("not_found", f"There is no model {name[:80]!r}.", hint="minutebook models list")
    used = [other for other in names_in_use(home) if other != name]
    use(home, used)
    shutil.rmtree(place(home) / name)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
