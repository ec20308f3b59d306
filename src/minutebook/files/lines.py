"""What a line of a file is, once, so that a span means the same to everyone who cites or checks it.

A line ends at LF; a CR before it belongs to the line's end. A byte order mark before the first line is no
part of it. So the hash of a span holds when git writes the file with other line ends, or when something is
appended to a file that did not end its last line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

BOM = b"\xef\xbb\xbf"


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file without their ends."""
    lines = data.removeprefix(BOM).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines] if b"\r" in data else lines


def digest_of(lines: Sequence[bytes]) -> str:
    """The SHA-256 of lines, in hex, whatever ended them."""
    return hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()


def sha256_of(data: bytes) -> str:
    """The SHA-256 of a whole file, byte by byte, in hex."""
    return hashlib.sha256(data).hexdigest()
