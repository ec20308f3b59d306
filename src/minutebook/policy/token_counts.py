"""How many tokens a text is for a model, estimated without one: by classes of characters, and never too few.

Every model cuts text in its own way, and a budget that is overdrawn helps nobody. So the weights are those of
the worst of the vocabularies that the tests compare with, plus a little; plain English comes out a third too
high. The same text gives the same number in every process, because what a bundle holds depends on it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

#: Weights are tenths of a token: whole numbers add up to the same everywhere.
_TENTHS = 10

# Models cut where the case changes, so a name in camel case is several words here too.
_WORDS = re.compile("[A-Z]?[a-z]{1,63}")
# Names of people and places, and what they call themselves: cut more often than other words of their length.
_NAMES = re.compile("[A-Z][a-z]{3}")
_HANDLES = re.compile("@[A-Za-z]")
_CAPITALS = re.compile("[A-Z]{1,64}(?![a-z])")
_SIGNS = re.compile(r"[0-9!-/:-@\[-`{-~]")
# One space goes with the word behind it, and with no digit; every other gap is a token of its own, and so is the
# indentation after a line's end.
_GAPS = re.compile(r"[^\S ]+| +(?= )| (?=[0-9])")
# Ids, hashes and encoded bytes: long, unbroken, and of no language.
_UNBROKEN = re.compile("[A-Za-z0-9+/=]{16,}")
_DIGIT = re.compile("[0-9]")

#: By length: common words are one token however long, rare ones one for every three or four letters.
_WORD = (0, 10, 10, 10, 11, 12, 13, 14, 16, 18, 20, *(20 + 3 * more for more in range(1, 55)))
_CAPITAL = (0, 10, 12, 18, 20, *(5 * length for length in range(5, 65)))

#: What these cost besides.
_NAME, _HANDLE = 5, 10

#: Characters beyond ASCII, by what one of them costs.
_BEYOND = (
    (re.compile("[\u0080-\u07ff]"), 10),
    (re.compile("[\u0800-\u1fff]"), 15),
    (re.compile("[\u3000-\u30ff\u4e00-\ud7ff\uff00-\uffef]"), 12),
    (re.compile("[\u2000-\u2fff\u3100-\u4dff\ud800-\ufeff\ufff0-\uffff]"), 30),
    (re.compile("[\U00010000-\U0010ffff]"), 40),
)
_HAN_OR_HANGUL = re.compile("[\u4e00-\u9fff\uac00-\ud7a3]")
#: What one of these costs besides, if it is none of the common ones.
_RARE = 18


@cache
def _common() -> frozenset[str]:
    """The characters that make up words which vocabularies know: the first level of GB 2312, and KS X 1001.

    Traditional forms and all that is rarer are cut into bytes by many.
    """
    cells = range(0xA1, 0xFF)
    han = b"".join(bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in cells)
    hangul = b"".join(bytes((row, cell)) for row in range(0xB0, 0xC9) for cell in cells)
    return frozenset(han.decode("gb2312", "ignore") + hangul.decode("euc_kr"))


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
    tenths += _NAME * len(_NAMES.findall(text)) + _HANDLE * len(_HANDLES.findall(text))
    tenths += _TENTHS * (len(_SIGNS.findall(text)) + len(_GAPS.findall(text)))
    if not text.isascii():
        tenths += sum(weight * len(kind.findall(text)) for kind, weight in _BEYOND)
        tenths += sum(_RARE for char in _HAN_OR_HANGUL.findall(text) if char not in _common())
    # The first word has no space before it, and is cut oddly for that; in a short text nothing makes up for a rare one.
    return -(-tenths // _TENTHS) + (2 if text else 0)
