"""Keeps stored text inside its entry, whatever it holds, and takes it out again as it was.

Three forms, the plainest that is safe. *Plain*: no line could be taken for structure. *Quoted*: every line
behind `> `, which holds headings, fences, rules and lists of the text inside the quote. *Fenced*: quoted, and a
code block within, because raw HTML would end a quote, or a comment hide all that follows.

The first line tells which it is: plain text never begins with `>`, and a quoted text never with `~~~`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from minutebook.model.text import clean, one_line

#: How a file of ours begins, or goes on after its front matter.
MARK = "<!-- minutebook mirror"

#: A line that is structure, or could be read so by somebody: set in, heading, quote, code, table, rule,
#: underline, definition, field, pinned.
_STRUCTURE = re.compile(
    r"[ \t#>`~|=\\<📌]|[-+*]+[ \t]*$|[-+*] ?\[|[-*_](?:[ \t]*[-*_])+|(?:[-+*]|\d{1,9}[.)])[ \t]+(?:[#>`~|<*_-]|$)|_|\[.*\]:"
)
_HTML = re.compile(r"<[A-Za-z/!?]")
_TILDES = re.compile(r"^[ \t]*(~{3,})", re.MULTILINE)


def contained(text: str) -> list[str]:
    """The lines that stand for a text in a file of ours; `released` gives the text back."""
    text = clean(text)
    lines = text.split("\n")
    if _HTML.search(text) or _TILDES.match(text):
        longest = max((len(run) for run in _TILDES.findall(text)), default=2)
        fence = "~" * (longest + 1)
        return [f"> {fence}text", *map(_quoted, lines), f"> {fence}"]
    if lines[0].strip() and not any(map(_STRUCTURE.match, lines)):
        return lines
    return [_quoted(line) for line in lines]


def _quoted(line: str) -> str:
    return f"> {line}" if line else ">"


def released(lines: Sequence[str]) -> str:
    """The text that lines of a file of ours stand for. Blank lines around them are not part of it."""
    first, end = 0, len(lines)
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    inner = list(lines[first:end])
    if not inner or not inner[0].startswith(">"):
        return "\n".join(inner)
    inner = [line.removeprefix(">").removeprefix(" ") for line in inner]
    if inner[0].startswith("~~~") and len(inner) > 1:
        inner = inner[1:-1]
    return "\n".join(inner)


_IN_LINE = re.compile(r"[\\<|*]")
_OUT_OF_LINE = re.compile(r"\\([\\<|*\[\]])")


def in_line(text: str) -> str:
    """A text as one line among other words; `out_of_line` gives it back."""
    return _IN_LINE.sub(r"\\\g<0>", one_line(text))


def out_of_line(text: str) -> str:
    return _OUT_OF_LINE.sub(r"\1", text)
