"""Front matter of other tools, as far as it says something: keys and texts, never types.

Other tools write YAML, or what looks like it. We take keys, quoted and plain values, short lists and one level
of nesting (`provenance.created_at`); anything else of YAML stays what it is, text. Nothing is evaluated, so
nothing can explode.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_KEY = re.compile(r"([A-Za-z][\w .-]{0,60}?)\s*:(?:\s+(.*))?$", re.ASCII)
_FENCES = ("---", "...")
MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class ForeignMatter:
    """What was found. `last` is the line of the closing fence."""

    values: dict[str, tuple[str, ...]]
    last: int
    #: keys whose value was written as a list
    lists: frozenset[str] = frozenset()
    #: keys that came a second time, and the line where they did; their first value stands
    repeated: dict[str, int] = field(default_factory=dict)

    def one(self, *keys: str) -> str | None:
        """The first value of the first of the keys that has one."""
        for key in keys:
            for value in self.values.get(key, ()):
                if value:
                    return value
        return None

    def many(self, *keys: str) -> tuple[str, ...]:
        """Every value of the first of the keys that has any; in a plain one, commas separate."""
        for key in keys:
            found = self.values.get(key, ())
            if key not in self.lists and len(found) == 1:
                found = tuple(part.strip() for part in found[0].split(","))
            if any(found):
                return tuple(value for value in found if value)
        return ()


def read_foreign(lines: list[str]) -> ForeignMatter | None:
    """The front matter at the head of a file, or None where there is none that ends."""
    if not lines or lines[0].rstrip() != "---":
        return None
    values: dict[str, list[str]] = {}
    lists: set[str] = set()
    repeated: dict[str, int] = {}
    parent = key = ""
    for number, line in enumerate(lines[1:MOST_LINES], start=2):
        if line.rstrip() in _FENCES:
            found = {name: tuple(parts) for name, parts in values.items()}
            return ForeignMatter(found, number, frozenset(lists), repeated)
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        nested = line[0] in " \t"
        if text.startswith("- ") and key:
            values[key].append(_plain(text[2:]))
            lists.add(key)
            continue
        match = _KEY.match(text)
        if match is None:
            continue
        name = match[1].strip().casefold()
        if nested and parent:
            name = f"{parent}.{name}"
        else:
            parent = name
        key = name
        # The first one stands: a later line must not put other words in its place.
        if key in values:
            repeated.setdefault(key, number)
        else:
            values[key] = _values(match[2] or "")
            if (match[2] or "").startswith("["):
                lists.add(key)
    return None


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return [_plain(part) for part in text[1:-1].split(",") if part.strip()]
        return [one if isinstance(one, str) else json.dumps(one) for one in found]
    return [_plain(text)] if text else []


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        try:
            found = json.loads(text)
        except ValueError:
            return text[1:-1]
        return found if isinstance(found, str) else text
    return text
