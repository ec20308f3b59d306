"""English words without their endings: Porter's algorithm of 1980, which SQLite's own full text uses too.

Ours, so that both databases index the same words, and so that a query, a snippet and an explanation agree with
the index about which words are one.
"""

from __future__ import annotations

from functools import lru_cache

_VOWELS = frozenset("aeiou")


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """`deploys`, `deployed` and `deploying` are one word. What is not plain English letters stays as it is."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _longest(word, _STEP_2, 0)
    word = _longest(word, _STEP_3, 0)
    word = _step_4(word)
    if word.endswith("e"):
        root = word[:-1]
        measure = _measure(root)
        if measure > 1 or (measure == 1 and not _short(root)):
            word = root
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _consonant(word: str, at: int) -> bool:
    letter = word[at]
    if letter in _VOWELS:
        return False
    return letter != "y" or at == 0 or not _consonant(word, at - 1)


def _measure(root: str) -> int:
    """How often a vowel is followed by a consonant."""
    count, vowel_before = 0, False
    for at in range(len(root)):
        consonant = _consonant(root, at)
        count += consonant and vowel_before
        vowel_before = not consonant
    return count


def _has_vowel(root: str) -> bool:
    return any(not _consonant(root, at) for at in range(len(root)))


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _short(root: str) -> bool:
    """Whether it ends consonant, vowel, consonant, as `hop` does, and the last is none of w, x, y."""
    if len(root) < 3 or root[-1] in "wxy":
        return False
    last = len(root) - 1
    return _consonant(root, last) and not _consonant(root, last - 1) and _consonant(root, last - 2)


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        root = word[: -len(ending)]
        if word.endswith(ending) and _has_vowel(root):
            if root.endswith(("at", "bl", "iz")):
                return root + "e"
            if _doubled(root) and root[-1] not in "lsz":
                return root[:-1]
            return root + "e" if _measure(root) == 1 and _short(root) else root
    return word


#: By their last letters, longest first; the first that fits is the only one that is tried.
_STEP_2 = (
    ("ational", "ate"), ("ization", "ize"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("tional", "tion"), ("biliti", "ble"), ("entli", "ent"), ("ousli", "ous"), ("ation", "ate"),
    ("alism", "al"), ("aliti", "al"), ("iviti", "ive"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("abli", "able"), ("alli", "al"), ("ator", "ate"), ("logi", "log"), ("eli", "e"), ("bli", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def _longest(word: str, endings: tuple[tuple[str, str], ...], least: int) -> str:
    for ending, instead in endings:
        if word.endswith(ending):
            root = word[: -len(ending)]
            return root + instead if _measure(root) > least else word
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            root = word[: -len(ending)]
            fits = _measure(root) > 1 and (ending != "ion" or root.endswith(("s", "t")))
            return root if fits else word
    return word
