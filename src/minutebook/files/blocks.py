"""Our lines in a file that is somebody else's: between two marks, and never a byte outside them.

Files are taken and given as bytes. Every byte outside the marks stays, the kind of line end too.
"""

from __future__ import annotations

from enum import Enum

from minutebook.model.errors import MinutebookError


class Marks(Enum):
    """How the two marks are written, by the kind of file."""

    MARKDOWN = (b"<!-- minutebook:begin -->", b"<!-- minutebook:end -->")
    HASH = (b"# minutebook:begin", b"# minutebook:end")


def marks_for(path: str) -> Marks:
    return Marks.MARKDOWN if path.endswith((".md", ".mdc")) else Marks.HASH


def find(data: bytes, marks: Marks, path: str) -> tuple[int, int] | None:
    """Where our block stands, with its marks and the end of its last line; None where there is none."""
    begin, end = marks.value
    starts = _lines_with(data, begin)
    stops = _lines_with(data, end)
    if not starts and not stops:
        return None
    if len(starts) != 1 or len(stops) != 1 or stops[0][0] < starts[0][0]:
        number = data[: min(starts + stops)[0]].count(b"\n") + 1
        raise MinutebookError(
            "bad_file",
            f"{path}, line {number}: the marks of minutebook's block do not come in one pair; see to it by hand.",
            path=path,
            line=number,
        )
    return starts[0][0], stops[0][1]


def block_in(data: bytes, marks: Marks, path: str) -> str | None:
    """What our block says, without its marks."""
    where = find(data, marks, path)
    if where is None:
        return None
    lines = data[where[0] : where[1]].replace(b"\r\n", b"\n").splitlines()
    return b"\n".join(lines[1:-1]).decode(errors="replace")


def put(data: bytes, block: str, marks: Marks, path: str) -> bytes:
    """The file with our block as it should be: in its place, or at the end where there was none."""
    where = find(data, marks, path)
    alike = data if where is None else data[where[0] : where[1]]
    newline = b"\r\n" if b"\r\n" in alike else b"\n"
    begin, end = marks.value
    ours = newline.join([begin, *block.encode().split(b"\n"), end]) + newline
    if where is not None:
        return data[: where[0]] + ours + data[where[1] :]
    if not data:
        return ours
    gap = b"" if data.endswith(b"\n") else newline
    return data + gap + newline + ours


def take(data: bytes, marks: Marks, path: str) -> bytes:
    """The file without our block, and without the blank line that `put` had set before it."""
    where = find(data, marks, path)
    if where is None:
        return data
    before, after = data[: where[0]], data[where[1] :]
    for blank in (b"\r\n\r\n", b"\n\n"):
        if before.endswith(blank):
            before = before[: -len(blank) // 2]
            break
    return before + after


def _lines_with(data: bytes, mark: bytes) -> list[tuple[int, int]]:
    """The beginning of each line that is the mark, and the beginning of the next."""
    found = []
    at = 0
    for line in data.splitlines(keepends=True):
        if line.strip() == mark:
            found.append((at, at + len(line)))
        at += len(line)
    return found
