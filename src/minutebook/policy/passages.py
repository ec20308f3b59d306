"""What of a memory is put into numbers: its words, cut into passages that a model takes in whole."""

from __future__ import annotations

import hashlib
import re

from minutebook.model.memories import Memory, Type

#: Words of a passage: well under what the models take, because a long passage means everything and nothing.
PASSAGE_WORDS = 150
#: Passages of one memory; what lies beyond is found by its text alone.
MOST_PASSAGES = 16
#: Of one word; a longer run without a space says nothing to a model.
_WORD_CHARS = 60
#: Part of a space's identity: vectors of passages that were cut in another way are not comparable.
VERSION = 1

#: A word, or one sign of a script that has no spaces.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


def passages(memory: Memory) -> list[str]:
    """The passages of a memory, each with what tells where it belongs: its title, or who said it."""
    head = f"{memory.author}: " if memory.type is Type.EPISODE else f"{memory.title}\n"
    content = memory.content
    if content.casefold().startswith(head.strip().casefold()):
        content = content[len(head.strip()) :].lstrip()
    return [head + part for part in _cut(content)]


def digest(parts: list[str]) -> str:
    """The same for the same passages."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _cut(text: str) -> list[str]:
    """The text in parts of so many words; whole if it has few."""
    starts = [found.start() for found in _WORD.finditer(text)]
    if len(starts) <= PASSAGE_WORDS:
        return [_short(text)]
    cuts = starts[::PASSAGE_WORDS][:MOST_PASSAGES]
    ends = [
        *cuts[1:],
        starts[len(cuts) * PASSAGE_WORDS] if len(starts) > len(cuts) * PASSAGE_WORDS else len(text),
    ]
    return [_short(text[start:end].strip()) for start, end in zip(cuts, ends, strict=True)]


def _short(text: str) -> str:
    return text[: PASSAGE_WORDS * _WORD_CHARS]
