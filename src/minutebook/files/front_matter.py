"""Front matter of our own: flat `key: value` lines between two `---`, every value a text.

It is written so that YAML reads the same, and read by a grammar without any of YAML's features: no aliases, no
types, no nesting, no comments, and a key comes once. What people type by hand (a title with a colon in it) is
taken; what only means something to YAML is an error with its line, not a surprise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from minutebook.model.errors import MinutebookError
from minutebook.model.text import clean, visible

FENCE = "---"
MOST_FIELDS = 64
MOST_VALUE = 20_000

_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: What begins something other than plain text in YAML.
_INDICATORS = frozenset("\"'[]{}&*!|>%@`#,?")
#: Plain words and numbers that YAML reads as something other than text.
_TYPED = re.compile(
    r"(?i:~|null|true|false|yes|no|on|off|y|n)|[-+.]?[0-9][0-9_.,:+eExXoObBaAcCdDfFtTzZ-]*|[-+]?\.(?i:inf|nan)"
)
#: What JSON leaves as it is though an editor, a terminal or UTF-8 would stumble over it.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file in their order, and the text below them."""

    fields: tuple[tuple[str, str], ...]
    body: str
    #: the line of the file on which the body begins, counted from 1
    body_line: int

    def get(self, key: str) -> str | None:
        return dict(self.fields).get(key)


def read(text: str, *, known: Collection[str] | None = None) -> FrontMatter:
    """Read a file that begins with front matter, or say on which line it is none.

    With `known`, any other key is an error: a misspelled key would otherwise be lost without a word.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n").split("\n")
    if lines[0].rstrip() != FENCE:
        raise bad_line(1, "The file does not begin with a line of three hyphens.")
    fields: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() == FENCE:
            body = lines[number:]
            skipped = 1 if body and not body[0].strip() else 0
            return FrontMatter(tuple(fields.items()), clean("\n".join(body[skipped:])), number + 1 + skipped)
        key, value = _field(number, line)
        if key in fields:
            raise bad_line(number, f"The key `{key}` comes twice.")
        if known is not None and key not in known:
            raise bad_line(number, f"There is no key `{key}`; use {', '.join(sorted(known))}.")
        if len(fields) == MOST_FIELDS:
            raise bad_line(number, f"There are more than {MOST_FIELDS} keys.")
        fields[key] = value
    raise bad_line(len(lines), "The front matter does not end: a second line of three hyphens is missing.")


def _field(number: int, line: str) -> tuple[str, str]:
    key, colon, rest = line.partition(":")
    if not colon or not _KEY.fullmatch(key):
        shown = visible(line[:40], lines=False)
        raise bad_line(number, f"`{shown}` is not `key: value`, the key in small letters, digits and `_`.")
    if rest and rest[0] not in " \t":
        raise bad_line(number, f"A space is missing after `{key}:`.")
    value = rest.strip(" \t")
    if len(value) > MOST_VALUE:
        raise bad_line(number, f"The value of `{key}` is longer than {MOST_VALUE} characters.")
    if value.startswith('"'):
        return key, _unquoted(number, key, value)
    if value[:1] in _INDICATORS or value.startswith(("- ", ": ")) or value in ("-", ":"):
        raise bad_line(
            number, f'The value of `{key}` begins with `{value[0]}`; put the value in double quotes: "…".'
        )
    return key, value


def _unquoted(number: int, key: str, value: str) -> str:
    try:
        return json.loads(value)
    except ValueError:
        raise bad_line(number, f"The quoted value of `{key}` is not one text in double quotes.") from None


def write(fields: Iterable[tuple[str, str]], body: str) -> str:
    """A file with front matter, such that `read` gives back the fields and the body as they were."""
    head = [f"{key}: {quoted(value)}" for key, value in fields]
    text = clean(body)
    return "\n".join([FENCE, *head, FENCE, *(["", text] if text else [])]) + "\n"


def quoted(value: str) -> str:
    """A value as it stands in front matter: plain where everybody reads it alike, else in double quotes."""
    if (
        not value.isprintable()
        or value != value.strip()
        or value[:1] in _INDICATORS
        or value in ("", "-", ":")
        or value.startswith(("- ", ": ", "---", "..."))
        or ": " in value
        or " #" in value
        or value.endswith(":")
        or _TYPED.fullmatch(value)
    ):
        written = json.dumps(value, ensure_ascii=False)
        return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
    return value


def bad_line(line: int, problem: str) -> MinutebookError:
    """The one error of every parser: which line, and what is wrong with it."""
    return MinutebookError("bad_file", f"Line {line}: {problem}", line=line, reason=problem)
