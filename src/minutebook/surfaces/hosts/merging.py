"""Put one entry into somebody else's configuration file, or take it out, and leave every other byte as it was.

JSON and TOML are edited as texts, not read and written anew: order, spacing, numbers and remarks are the
owner's. Whatever comes out is read again and compared with what was meant; a file that cannot be edited so
that the two agree is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from minutebook.model.errors import MinutebookError

Path = tuple[str, ...]
Ours = Callable[[Any], bool]


# --- JSON --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    """A value in a text: where it stands, and what is in it with the place where each part begins."""

    start: int
    end: int
    value: Any
    #: (the key of a member or None for an item, where it begins, its value)
    parts: list[tuple[str | None, int, _Node]] = field(default_factory=list)

    def member(self, key: str) -> int | None:
        return next((number for number, part in enumerate(self.parts) if part[0] == key), None)


def read_json(text: str) -> Any:
    """A JSON document. Remarks, doubled keys and numbers that JSON does not have are errors."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MinutebookError("invalid_input", _why(text, error)) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_STRING_OR_REMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//|/\*)')


def _why(text: str, error: Exception) -> str:
    if any(match[1] for match in _STRING_OR_REMARK.finditer(text)):
        return "It has remarks, which rewriting could lose"
    return (
        "It is nested too deeply" if isinstance(error, RecursionError) else f"It is not valid JSON: {error}"
    )


def set_member(text: str, path: Path, value: Any) -> str:
    """The text with a value at the path; objects on the way are made where they are missing."""
    wanted = _with(read_json(text), path, value)
    node, missing = _follow(text, path)
    if not missing:
        new = text if node.value == value else _replaced(text, node, value)
    else:
        for key in reversed(missing[1:]):
            value = {key: value}
        new = _inserted(text, node, value, missing[0])
    return _checked(new, wanted)


def remove_member(text: str, path: Path) -> str:
    """The text without the member at the path."""
    wanted = deepcopy(read_json(text))
    parent, missing = _follow(text, path[:-1])
    number = None if missing else parent.member(path[-1])
    if number is None:
        return text
    place = wanted
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return _checked(_without(text, parent, number), wanted)


def put_in_list(text: str, path: Path, value: Any, ours: Ours) -> str:
    """The text with the value in the list at the path, in the place of what was ours there before."""
    node, missing = _follow(text, path)
    if missing:
        return set_member(text, path, [value])
    if not isinstance(node.value, list):
        raise MinutebookError("invalid_input", f"{'.'.join(path)} is not a list there")
    before = [item for item in node.value if ours(item)]
    if before == [value]:
        return text
    if len(before) == 1:
        number = next(number for number, item in enumerate(node.value) if ours(item))
        wanted = _with(read_json(text), path, [value if ours(item) else item for item in node.value])
        return _checked(_replaced(text, node.parts[number][2], value), wanted)
    text = take_from_list(text, path, ours)
    node, _ = _follow(text, path)
    return _checked(_inserted(text, node, value, None), _with(read_json(text), path, [*node.value, value]))


def take_from_list(text: str, path: Path, ours: Ours) -> str:
    """The text without what is ours in the list at the path."""
    node, missing = _follow(text, path)
    if missing or not isinstance(node.value, list):
        return text
    wanted = _with(read_json(text), path, [item for item in node.value if not ours(item)])
    for number in reversed([number for number, item in enumerate(node.value) if ours(item)]):
        text = _without(text, node, number)
        node, _ = _follow(text, path)
    return _checked(text, wanted)


def _with(document: Any, path: Path, value: Any) -> Any:
    wanted = deepcopy(document)
    if not isinstance(wanted, dict):
        raise MinutebookError("invalid_input", "It is not an object")
    place = wanted
    for key in path[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise MinutebookError("invalid_input", f"{key} is not an object there")
    place[path[-1]] = value
    return wanted


def _checked(text: str, wanted: Any) -> str:
    if read_json(text) != wanted:
        raise MinutebookError("invalid_input", "It is written in a way that cannot be edited safely")
    return text


def _follow(text: str, path: Sequence[str]) -> tuple[_Node, list[str]]:
    """The deepest value of the path that is there, and the keys that are not."""
    read_json(text)
    node = _scan(text, _blank(text, 0))
    for number, key in enumerate(path):
        if not isinstance(node.value, dict):
            raise MinutebookError("invalid_input", f"{'.'.join(path[:number]) or 'It'} is not an object")
        found = node.member(key)
        if found is None:
            return node, list(path[number:])
        node = node.parts[found][2]
    return node, []


_BLANK = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"[ \t]*")


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _scan(text: str, at: int) -> _Node:
    """The value that begins there. The text was read as JSON before, so nothing can be wrong with it."""
    start = at
    if text[at] not in "{[":
        value, end = json.JSONDecoder().raw_decode(text, at)
        return _Node(start, end, value)
    closing = "}" if text[at] == "{" else "]"
    parts: list[tuple[str | None, int, _Node]] = []
    at = _blank(text, at + 1)
    while text[at] != closing:
        begins, key = at, None
        if closing == "}":
            key, at = json.JSONDecoder().raw_decode(text, at)
            at = _blank(text, _blank(text, at) + 1)
        node = _scan(text, at)
        parts.append((key, begins, node))
        at = _blank(text, node.end)
        if text[at] == ",":
            at = _blank(text, at + 1)
    if closing == "}":
        return _Node(start, at + 1, {key: node.value for key, _, node in parts}, parts)
    return _Node(start, at + 1, [node.value for _, _, node in parts], parts)


# How it is laid out


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What the file is indented by: the blanks before its first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """The blanks at the beginning of the line that a place is in."""
    found = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return "" if found is None else found[0]


def _spelled(value: Any, text: str, indent: str) -> str:
    said = json.dumps(value, indent=_unit(text), ensure_ascii=False)
    return said.replace("\n", _line_end(text) + indent)


def _replaced(text: str, node: _Node, value: Any) -> str:
    on_one_line = node.parts and "\n" not in text[node.start : node.end]
    said = (
        json.dumps(value, ensure_ascii=False)
        if on_one_line
        else _spelled(value, text, _indent(text, node.start))
    )
    return text[: node.start] + said + text[node.end :]


def _inserted(text: str, node: _Node, value: Any, key: str | None) -> str:
    """The text with one part more at the end of an object or a list."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if not node.parts:
        outer = _indent(text, node.start)
        inner = _line_end(text) + outer + _unit(text)
        said = f"{inner}{name}{_spelled(value, text, outer + _unit(text))}{_line_end(text)}{outer}"
        return text[: node.start + 1] + said + text[node.end - 1 :]
    _, begins, _ = node.parts[0]
    last = node.parts[-1][2].end
    before = text[node.start + 1 : begins]
    if "\n" not in before:  # all on one line: it stays so
        return text[:last] + f", {name}{json.dumps(value, ensure_ascii=False)}" + text[last:]
    indent = _indent(text, begins)
    return text[:last] + f",{_line_end(text)}{indent}{name}{_spelled(value, text, indent)}" + text[last:]


def _without(text: str, node: _Node, number: int) -> str:
    """The text without one part of an object or a list, and without the comma that went with it."""
    parts = node.parts
    if len(parts) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if number + 1 < len(parts):
        return text[: parts[number][1]] + text[parts[number + 1][1] :]
    return text[: parts[number - 1][2].end] + text[parts[number][2].end :]


# --- TOML --------------------------------------------------------------------------------------------


def read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MinutebookError("invalid_input", f"It is not valid TOML: {error}") from error


def set_table(text: str, path: Path, value: dict[str, Any]) -> str:
    """The text with a table at the path, in the place of the one that was there before."""
    document = read_toml(text)
    if _at(document, path) == value:
        return text
    wanted = _with(document, path, value)
    lines, place = _without_table(text, path)
    end = _line_end(text)
    block = [line + end for line in _table_lines(path, value)]
    if place == len(lines):
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += end
        if lines and lines[-1].strip():
            block.insert(0, end)
    elif lines[place].strip():
        block.append(end)
    new = "".join([*lines[:place], *block, *lines[place:]])
    return _checked_toml(new, wanted)


def remove_table(text: str, path: Path) -> str:
    """The text without the table at the path and those beneath it."""
    document = read_toml(text)
    if _at(document, path) is None:
        return text
    wanted = _with(document, path, None)
    place = wanted
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    lines, at = _without_table(text, path)
    # The blank line that set it apart goes with it.
    if at > 0 and not lines[at - 1].strip() and (at == len(lines) or not lines[at].strip()):
        del lines[at - 1]
    new = "".join(lines)
    if not place and len(path) > 1 and read_toml(new) != wanted:
        wanted = _dropped(wanted, path[:-1])  # a table that only its tables made is gone with the last
    return _checked_toml(new, wanted)


def _dropped(document: dict[str, Any], path: Path) -> dict[str, Any]:
    place = document
    for key in path[:-1]:
        place = place[key]
    place.pop(path[-1], None)
    return document


def _checked_toml(text: str, wanted: Any) -> str:
    if read_toml(text) != wanted:
        raise MinutebookError("invalid_input", "It is written in a way that cannot be edited safely")
    return text


def _at(document: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(document, dict) or key not in document:
            return None
        document = document[key]
    return document


_HEADER = re.compile(r"^\s*\[(?!\[).*\]\s*(#.*)?$")
_ANY_HEADER = re.compile(r"^\s*\[")


def _without_table(text: str, path: Path) -> tuple[list[str], int]:
    """The lines without the table's, and where its first stood (the end, if there was none).

    A line of a longer string may look like a header. It is not looked into: what comes of it is compared with
    what was meant, and refused.
    """
    kept: list[str] = []
    waiting: list[str] = []  # blank lines and remarks of which it is not known yet what follows them
    place: int | None = None
    ours = False
    for line in text.splitlines(keepends=True):
        if _ANY_HEADER.match(line):
            beneath = _is_beneath(line, path)
            if beneath and place is None:
                place = len(kept)
            elif ours and not beneath:
                kept += waiting
                waiting = []
            ours = beneath
        if not ours:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            kept += [remark for remark in waiting if remark.strip()]
            waiting = []
        else:
            waiting.append(line)
    kept += waiting
    return kept, len(kept) if place is None else place


def _is_beneath(line: str, path: Path) -> bool:
    if not _HEADER.match(line):
        return False
    try:
        document: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    return _at(document, path) is not None


def _table_lines(path: Path, value: dict[str, Any]) -> list[str]:
    """A table with its plain values, and a table beneath it for each value that is one."""
    lines = [f"[{'.'.join(_toml_key(key) for key in path)}]"]
    lines += [
        f"{_toml_key(key)} = {_toml(item)}" for key, item in value.items() if not isinstance(item, dict)
    ]
    for key, item in value.items():
        if isinstance(item, dict):
            lines += ["", *_table_lines((*path, key), item)]
    return lines


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    # The escapes of a JSON string are those of a TOML string.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(path: Path, value: dict[str, Any]) -> str:
    """A table as it would stand in a file of its own."""
    return "\n".join(_table_lines(path, value)) + "\n"
