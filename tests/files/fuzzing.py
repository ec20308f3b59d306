"""Any bytes for every parser of files: what comes out is an answer or `bad_file`, in less than 50 ms.

    python -m tests.files.fuzzing [COUNT [PARSER …]]

Texts are made of the pieces that real files are made of, and of earlier texts that were read as entries, cut and
joined anew: what gets far into a parser is what the next text is bred from.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from minutebook.files import blocks, front_matter
from minutebook.files.entries import Dialect
from minutebook.files.mirror_rules import has_conflict_marks
from minutebook.files.note_rendering import read_index, read_note, render_note
from minutebook.files.reading import parse
from minutebook.files.render import Offered, Shown, render_decisions, render_now, render_proposal
from minutebook.files.sem import as_sem, render_sem
from minutebook.model.errors import MinutebookError
from tests.files.parsing import PATHS, PIECES, check_spans

#: The longest that one text may take.
MOST_SECONDS = 0.05
_BREEDING = 400


def _of(dialect: Dialect) -> Callable[[bytes], bool]:
    def read(data: bytes) -> bool:
        parsed = parse(PATHS[dialect], data, dialect=dialect, team=("ripley",))
        check_spans(parsed, data)
        return bool(parsed.entries or parsed.focus)

    return read


def _sem(data: bytes) -> bool:
    """Legacy blocks become SEM, and what was written so is an entry again."""
    found = False
    for dialect in (Dialect.LEDGER, Dialect.HISTORY):
        for entry in parse(PATHS[dialect], data, dialect=dialect).entries:
            block = as_sem(entry, in_history=dialect is Dialect.HISTORY)
            if block is not None:
                found = True
                assert parse(
                    ".squad/decisions.md", render_sem(block).encode(), dialect=Dialect.LEDGER
                ).entries
    return found


def _note(data: bytes) -> bool:
    note = read_note(data)
    again = read_note(render_note(note))
    assert (again.title, again.type, again.text) == (note.title, note.type, note.text)
    return True


def _index(data: bytes) -> bool:
    return bool(read_index(data))


def _matter(data: bytes) -> bool:
    return bool(front_matter.read(data.decode("utf-8", "replace")).fields)


def _block(data: bytes) -> bool:
    for path in ("AGENTS.md", ".gitignore"):
        marks = blocks.marks_for(path)
        stood = blocks.find(data, marks, path) is not None
        put = blocks.put(data, "ours", marks, path)
        assert blocks.block_in(put, marks, path) == "ours"
        if not stood:
            assert blocks.take(put, marks, path).strip() == data.strip()
    return not has_conflict_marks(data)


PARSERS: dict[str, Callable[[bytes], bool]] = {
    **{dialect.value: _of(dialect) for dialect in Dialect},
    "conversion to SEM": _sem,
    "our note": _note,
    "index of notes": _index,
    "front matter": _matter,
    "block in a file": _block,
}


#: One text that each strict parser takes, from which others are bred.
_ROW = Shown(
    "01", "scope", "Stay in orbit", "Nobody lands.\n# Not a heading", "ripley", "2026-02-14T10:30:00Z"
)
_BEGIN = (
    '---\ntitle: A proxy\ntype: learning\ntags: a, b\ndescription: "It: drops"\n---\n\nIt drops bodies.\n'
)
SEEDS = {
    "mirror": render_decisions([_ROW, _ROW]),
    "note": b"---\nname: Style\ntype: user\ndescription: How\nprovenance:\n  confidence: high\n---\n\nShort.\n",
    "drop-box": render_proposal(Offered("ash", "a-slug", "process", "A title", "A text.", "A reason.")),
    "focus": render_now("The importer", ["#12", 'a "b"'], "Half done.", "2026-02-14T10:30:00Z"),
    "knowledge-graph": b'{"type":"entity","name":"A","entityType":"b","observations":["c","d"]}\n'
    b'{"type":"relation","from":"A","to":"A","relationType":"knows"}\n',
    "our note": _BEGIN.encode(),
    "front matter": _BEGIN.encode(),
    "index of notes": b"- [A \\[b\\]](learning_a.md) - It says so\n",
    "block in a file": b"# A\n\n<!-- minutebook:begin -->\nold\n<!-- minutebook:end -->\n",
}


@dataclass(frozen=True)
class Told:
    """What came of many texts."""

    parser: str
    count: int
    refused: int
    slowest: float


class Breeder:
    """Makes texts, and remembers those that got far."""

    def __init__(self, chance: random.Random, *seeds: bytes) -> None:
        self._chance = chance
        self._pool = list(seeds)

    def text(self) -> bytes:
        chance = self._chance
        if self._pool and chance.random() < 0.4:
            return self._bred()
        lines = []
        for _ in range(chance.randrange(30)):
            pieces = chance.choices(PIECES, k=chance.randrange(5))
            if chance.random() < 0.1:
                pieces.append("".join(chr(chance.randrange(1, 0xD800)) for _ in range(chance.randrange(8))))
            lines.append("".join(pieces))
        return chance.choice(["\n", "\r\n", "\n\n"]).join(lines).encode()

    def _bred(self) -> bytes:
        chance = self._chance
        text = bytearray(chance.choice(self._pool))
        if chance.random() < 0.5:
            other = chance.choice(self._pool)
            text[chance.randrange(len(text) + 1) :] = other[chance.randrange(len(other) + 1) :]
        for _ in range(chance.randrange(4)):
            if text:
                text[chance.randrange(len(text))] = chance.randrange(256)
        return bytes(text[:6_000])

    def keep(self, text: bytes) -> None:
        if len(self._pool) < _BREEDING:
            self._pool.append(text)
        else:
            self._pool[self._chance.randrange(_BREEDING)] = text


def timed(read: Callable[[bytes], bool], data: bytes) -> tuple[float, bool | None]:
    """How long one text took, and whether anything was found in it; None where it was refused as it should be."""
    began = time.process_time()
    try:
        found: bool | None = read(data)
    except MinutebookError as error:
        if error.code != "bad_file":
            raise
        if not 1 <= error.details.get("line", 1) <= data.count(b"\n") + 1:
            raise AssertionError(f"there is no such line: {error.details}") from error
        found = None
    return time.process_time() - began, found


def fuzz(parser: str, count: int, seed: int) -> Told:
    chance = random.Random(seed)
    breeder, read = Breeder(chance, *([SEEDS[parser]] if parser in SEEDS else [])), PARSERS[parser]
    slowest, refused = 0.0, 0
    for number in range(count):
        data = breeder.text()
        try:
            spent, found = timed(read, data)
            if spent > slowest:
                # The interpreter clears up now and then, and the machine is never ours alone: slow is what stays slow.
                slowest = max(slowest, min(spent, *(timed(read, data)[0] for _ in range(3))))
        except Exception as error:
            raise AssertionError(f"{parser}, text {number} of seed {seed}: {data!r}") from error
        refused += found is None
        if found and chance.random() < 0.02:
            breeder.keep(data)
    return Told(parser, count, refused, slowest)


def main(count: int, parsers: list[str]) -> int:
    wrong = 0
    for parser in parsers or list(PARSERS):
        seed = random.randrange(1 << 32)
        told = fuzz(parser, count, seed)
        wrong += told.slowest >= MOST_SECONDS
        print(
            f"{parser:18} {told.count:>9,} texts, {told.refused:>7,} refused, "
            f"the slowest took {told.slowest * 1000:5.1f} ms (seed {seed})",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:]))
