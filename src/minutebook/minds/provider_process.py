"""The process that a provider runs in: it loads that one provider, and answers one request after the other.

It needs nothing but the standard library and whatever the provider needs. What another package does stays in here:
it cannot open the ledger's files beside their owner, hold up a thread of the service, or take it down with it.
A line in is a request, a line out its answer. It ends when nobody holds the other end any more, or nothing was asked
for a while.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from itertools import islice
from typing import Any, BinaryIO

#: Seconds without a request after which it ends; the next request starts it anew.
IDLE = 300.0
#: Things that one answer may list.
MOST_ITEMS = 2_000
#: Characters of an error that are told; who asked decides who may read them.
_SAID = 500


def main(arguments: list[str]) -> None:
    group, name, package, target = arguments
    said, heard = _streams()
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(heard, requests), daemon=True).start()
    try:
        made = _loaded(group, name, package, target)
        answer = {"answer": _DESCRIBING[group](made)}
    except BaseException as error:  # noqa: BLE001  (whatever it is, it is the provider's, and it is told)
        _tell(said, _fault(error))
        return
    _tell(said, answer)
    while True:
        try:
            line = requests.get(timeout=IDLE)
        except queue.Empty:
            return
        _tell(said, _answered(group, made, line))


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """Ours alone: what the provider prints goes nowhere."""
    said, heard = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return said, heard


def _listen(heard: BinaryIO, requests: queue.Queue[bytes]) -> None:
    for line in heard:
        requests.put(line)
    # Nobody is there any more: also in the middle of something that would never end.
    os._exit(0)


def _loaded(group: str, name: str, package: str, target: str) -> Any:
    for entry in metadata.entry_points(group=group):
        of = "" if entry.dist is None else entry.dist.name
        if (entry.name.strip().lower(), of, entry.value) == (name, package, target):
            return entry.load()()
    raise LookupError("it is not installed here any more")


def _answered(group: str, made: Any, line: bytes) -> dict[str, Any]:
    try:
        return {"answer": _ASKING[group](made, json.loads(line))}
    except BaseException as error:  # noqa: BLE001  (the same)
        return _fault(error)


def _fault(error: BaseException) -> dict[str, Any]:
    return {"error": type(error).__name__, "said": str(error)[:_SAID]}


def _tell(said: BinaryIO, answer: dict[str, Any]) -> None:
    try:
        line = json.dumps(answer, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        line = json.dumps(_fault(TypeError(f"its answer is no plain data: {error}"))).encode()
    said.write(line + b"\n")
    said.flush()


# --- what each kind is asked --------------------------------------------------------------------------------------


def _named(made: Any) -> dict[str, Any]:
    return {"name": str(getattr(made, "name", "")), "version": str(getattr(made, "version", ""))}


def _embedder(made: Any) -> dict[str, Any]:
    return {**_named(made), "dimensions": int(made.dimensions)}


def _importer(made: Any) -> dict[str, Any]:
    return {**_named(made), "patterns": [str(pattern) for pattern in made.patterns]}


def _embed(made: Any, asked: Mapping[str, Any]) -> list[list[float]]:
    return [[float(number) for number in row] for row in made.embed(asked["texts"], asked["purpose"])]


def _ask(made: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    answer = made.ask(asked["task"], asked["material"], asked["schema"], asked["tokens"])
    return dict(answer) if isinstance(answer, Mapping) else {"text": str(answer)}


def _extract(made: Any, asked: Mapping[str, Any]) -> list[dict[str, Any] | None]:
    return _items(made.extract(asked["text"]))


def _read(made: Any, asked: Mapping[str, Any]) -> list[dict[str, Any] | None]:
    return _items(made.read(asked["path"], asked["text"]))


def _items(found: Iterable[Any]) -> list[dict[str, Any] | None]:
    """Each thing by itself: one that is none costs itself alone."""
    return [dict(item) if isinstance(item, Mapping) else None for item in islice(found, MOST_ITEMS)]


_DESCRIBING: dict[str, Callable[[Any], dict[str, Any]]] = {
    "minutebook.embedders": _embedder,
    "minutebook.extractors": _named,
    "minutebook.models": _named,
    "minutebook.importers": _importer,
}
_ASKING: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "minutebook.embedders": _embed,
    "minutebook.extractors": _extract,
    "minutebook.models": _ask,
    "minutebook.importers": _read,
}

if __name__ == "__main__":
    main(sys.argv[1:])
