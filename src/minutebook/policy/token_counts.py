"""How many tokens a text is for a model, estimated without one: by classes of characters, and never too few.

Every model cuts text in its own way, and a budget that is overdrawn helps nobody. So the weights are those of
the worst of seven vocabularies that the tests compare with, plus a little; plain English comes out a fifth too
high. The same text gives the same number in every process, because what a bundle holds depends on it.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Weights are tenths of a token: whole numbers add up to the same everywhere.
_TENTHS = 10

# Models cut where the case changes, so a name in camel case is several words here too.
_WORDS = re.compile("[A-Z]?[a-z]{1,63}")
_CAPITALS = re.compile("[A-Z]{1,64}(?![a-z])")
_SIGNS = re.compile(r"[0-9!-/:-@\[-`{-~]")
# One space goes with the word behind it; every other gap is a token of its own.
_GAPS = re.compile(r"[^\S ]\s*|  +| (?=[0-9])")
# Ids, hashes and encoded bytes: long, unbroken, and of no language.
_UNBROKEN = re.compile("[A-Za-z0-9+/=]{16,}")
_DIGIT = re.compile("[0-9]")

#: By length: common words are one token however long, rare ones one for every three or four letters.
_WORD = (0, 10, 10, 10, 11, 12, 13, 14, 16, 18, 20, *(20 + 3 * more for more in range(1, 55)))
_CAPITAL = (0, 10, 12, 18, 20, *(5 * length for length in range(5, 65)))

#: Characters beyond ASCII, by what one of them costs.
_BEYOND = (
    (re.compile("[\u0080-\u07ff]"), 10),
    (re.compile("[\u0800-\u1fff]"), 15),
    (re.compile("[\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]"), 12),
    (re.compile("[\u2000-\u2e7f\ud800-\uf8ff\ufb00-\ufeff\ufff0-\uffff]"), 30),
    (re.compile("[\U00010000-\U0010ffff]"), 40),
)


@lru_cache(maxsize=2048)
def _short(text: str) -> int:
    return _count(text)


#: Longer texts are counted anew each time: a cache of them would hold the ledger twice.
_REMEMBERED = 4_000


def estimate(text: str) -> int:
    """The number of tokens of a text, rather too high than too low."""
    return _short(text) if len(text) <= _REMEMBERED else _count(text)


def _count(text: str) -> int:
    tenths = 0
    opaque = [run for run in _UNBROKEN.findall(text) if _DIGIT.search(run)]
    if opaque:
        tenths = sum(map(len, opaque)) * _TENTHS
        text = _UNBROKEN.sub(lambda run: " " if _DIGIT.search(run[0]) else run[0], text)
    tenths += sum([_WORD[len(word)] for word in _WORDS.findall(text)])
    tenths += sum([_CAPITAL[len(word)] for word in _CAPITALS.findall(text)])
    tenths += _TENTHS * (len(_SIGNS.findall(text)) + len(_GAPS.findall(text)))
    if not text.isascii():
        tenths += sum(weight * len(kind.findall(text)) for kind, weight in _BEYOND)
    return -(-tenths // _TENTHS)
