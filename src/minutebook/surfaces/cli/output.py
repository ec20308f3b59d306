"""What a command prints: JSON, JSON lines, bare names, or words for a person; and errors.

Only the words for a person need Rich, and only they import it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TextIO

from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.operations.plain import to_plain
from minutebook.operations.registry import Operation
from minutebook.surfaces.cli import tables

#: The width of what is not a terminal, and the least that anything is laid out for.
PIPED_WIDTH = 100
LEAST_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a command prints, and what can be shown there."""

    out: TextIO
    err: TextIO
    width: int
    out_colour: bool
    err_colour: bool
    debug: bool
    #: the width of the terminal that errors go to; None where they go to a pipe or a file, a line each
    err_width: int | None = None

    @classmethod
    def of(cls, out: TextIO, err: TextIO, environment: Mapping[str, str]) -> Screen:
        """The screen of two streams. A character the stream cannot encode is spelled out, never an error."""
        for stream in (out, err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
        colour = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        return cls(
            out,
            err,
            _width(out, environment),
            colour and out.isatty(),
            colour and err.isatty(),
            environment.get("MINUTEBOOK_DEBUG", "") not in ("", "0"),
            _width(err, environment) if err.isatty() else None,
        )

    def plain(self) -> Screen:
        return replace(self, out_colour=False, err_colour=False)

    @property
    def unicode(self) -> bool:
        return (getattr(self.out, "encoding", None) or "utf-8").lower().startswith("utf")


def _width(out: TextIO, environment: Mapping[str, str]) -> int:
    asked = environment.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        width = int(asked)
    elif out.isatty():
        width = os.get_terminal_size(out.fileno()).columns or PIPED_WIDTH
    else:
        width = PIPED_WIDTH
    return max(width, LEAST_WIDTH)


def show(value: Any, operation: Operation | None, form: str, quiet: bool, again: str, screen: Screen) -> None:
    """Print the answer of a command; `again` is its command line, to be continued with a cursor."""
    if form == "json":
        screen.out.write(document(to_plain(value), screen.unicode) + "\n")
    elif form == "jsonl":
        for item in _items(value):
            screen.out.write(line(to_plain(item), screen.unicode) + "\n")
        if isinstance(value, Page) and value.next is not None and not quiet:
            screen.out.flush()
            screen.err.write(line({"next": value.next}, screen.unicode) + "\n")
    elif quiet:
        for item in _items(value):
            screen.out.write(_shown(tables.name_of(item)) + "\n")
    elif type(value).__name__ in tables.VERBATIM:
        # A text that is made to be handed on: not one byte of it is laid out anew.
        screen.out.write(getattr(value, tables.VERBATIM[type(value).__name__]))
    else:
        from minutebook.surfaces.cli import human

        human.show(value, operation, again, screen)


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, Page):
        yield from value.items
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value


def _shown(text: str) -> str:
    # Its tables of characters take longer to build than all else that the first help screen needs.
    from minutebook.model.text import visible

    return visible(text, lines=False)


# JSON

#: Beyond what JSON escapes by itself: what steers a terminal, reorders or hides text, breaks lines, or
#: is no character at all. It can only stand inside strings, where its escape means the same.
_DECEPTIVE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def document(plain: Any, unicode: bool = True) -> str:
    """Plain data as one indented JSON document."""
    return _DECEPTIVE.sub(_escape, json.dumps(plain, indent=2, ensure_ascii=not unicode))


def line(plain: Any, unicode: bool = True) -> str:
    """Plain data as one line of JSON."""
    return _DECEPTIVE.sub(_escape, json.dumps(plain, separators=(",", ":"), ensure_ascii=not unicode))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


# Errors

_RED, _DIM, _PLAIN = "\x1b[31m", "\x1b[2m", "\x1b[0m"


def show_error(error: MinutebookError, form: str, screen: Screen) -> None:
    """Print an error to stderr: one line of JSON, or words with the details a person can use."""
    if form != "human":
        screen.err.write(line(to_plain(error.as_dict()), screen.unicode) + "\n")
        return
    head = _broken(f"error[{error.code}]: {_shown(error.message)}", screen.err_width)
    details = [
        part
        for name, value in error.details.items()
        for line in _detail(name, to_plain(value), error.message)
        for part in _broken(line, screen.err_width)
    ]
    if screen.err_colour:
        head[0] = head[0].replace("error", f"{_RED}error{_PLAIN}", 1)
        details = [f"{_DIM}{said}{_PLAIN}" for said in details]
    screen.err.write("\n".join([*head, *details]) + "\n")
    screen.err.flush()


def _broken(line: str, width: int | None) -> list[str]:
    """A line in lines that fit a terminal, broken between words; what is one word, such as a path, stays whole."""
    if width is None or len(line) <= width:
        return [line]
    import textwrap

    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    parts = textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [part.rstrip(" ") for part in parts]


def _detail(name: str, value: Any, message: str) -> list[str]:
    """One detail as indented lines; nothing that the message says already."""
    label = name.replace("_", " ")
    if value is None or value in ("", [], {}):
        return []
    if name == "problems":
        return [f"  {_brief(item)}" for item in value] if len(value) > 1 else []
    if isinstance(value, list):
        if all(str(item) in message for item in value):
            return []
        return [f"  {label}:", *[f"    - {_brief(item)}" for item in value]]
    if isinstance(value, dict):
        return [f"  {label}:", *[f"    {key}: {_brief(item)}" for key, item in value.items()]]
    return [f"  {label}: {_brief(value)}"]


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        if value.keys() == {"field", "problem"}:
            return _shown(f"{value['field']}: {value['problem']}")
        return ", ".join(f"{key} {_brief(item)}" for key, item in value.items() if item not in (None, ""))
    if isinstance(value, list):
        return ", ".join(_brief(item) for item in value)
    return _shown(_scalar(value))


def _scalar(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
