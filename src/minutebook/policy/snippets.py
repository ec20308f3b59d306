"""The part of a text that shows why it was found."""

from __future__ import annotations

from collections.abc import Collection

from minutebook.model.text import one_line, words

_WIDTH = 160


def snippet(content: str, terms: Collection[str]) -> str:
    """About one line of the text around the words that matched; its beginning where none is seen.

    Stems match (`deploy` finds `deployed`), so words are compared by their beginning.
    """
    line = one_line(content)
    if len(line) <= _WIDTH:
        return line
    stems = {term[: max(4, len(term) - 3)] for term in terms}
    best, best_count = 0, -1
    for start in range(0, len(line) - _WIDTH // 2, _WIDTH // 4):
        seen = words(line[start : start + _WIDTH])
        count = sum(any(word.startswith(stem) for word in seen) for stem in stems)
        if count > best_count:
            best, best_count = start, count
        if count == len(stems) or start > 8_000:
            break
    cut = line[best : best + _WIDTH].strip()
    if best > 0:
        cut = "…" + cut.partition(" ")[2]
    return cut.rpartition(" ")[0] + "…" if best + _WIDTH < len(line) and " " in cut else cut
