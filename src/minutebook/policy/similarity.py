"""Whether two texts say the same: cheap enough to ask inside a write.

A sketch finds the few that may be near duplicates by equality of small numbers, which any index can do; the
similarity then measures; and a look at the substance keeps "always X" and "never X" apart, which no measure
of shared words does.
"""

from __future__ import annotations

import functools
import re
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from minutebook.model.text import PerWord, fold_claim, words

BANDS = 4
FEWEST_WORDS = 4  # with fewer, two texts share most of their words by chance

# Each band is a row of an index that a write dirties, so there are few. Two rows to a band: where the words of
# two texts agree to 0.8, four bands all miss with probability 0.36^4 < 0.02; at 0.1 they meet with 0.04, so that
# a write looks at few strangers.
_ROWS = 2
_BINS = BANDS * _ROWS
_BIN_SHIFT = 32 - (_BINS - 1).bit_length()  # the upper bits of a hash tell its bin
_MASK = (1 << 64) - 1


@functools.lru_cache(maxsize=256)
def sketch(text: str) -> tuple[int, ...]:
    """Four numbers of a text; near duplicates share at least one of them, almost always.

    One-permutation MinHash over the distinct words: each is hashed once, the bin is told by the hash, and each bin keeps
    its smallest. A bin that stays empty borrows, turning round, from the next that is filled. The numbers are
    the same in every process and on every machine, because they are stored.
    """
    found = words(text)
    if len(found) < FEWEST_WORDS:
        return ()
    bins = _filled(_smallest(_hashes(found)))
    return tuple(_band(index, bins[index * _ROWS : index * _ROWS + _ROWS]) for index in range(BANDS))


def _hashes(found: Sequence[str]) -> list[int]:
    """A number for each distinct word, in order. Pairs of words are for the measure, which tells order apart."""
    return sorted(map(_HASHES.__getitem__, set(found)))


def _hash(word: str) -> int:
    # A checksum is linear; the multiplication makes its order as good as drawn by lot.
    crc = zlib.crc32(word.encode())
    return (crc ^ crc >> 15) * 0x9E3779B1 & 0xFFFFFFFF


_HASHES = PerWord(_hash)


def _smallest(hashes: list[int]) -> list[int | None]:
    """The smallest of each bin. The upper bits tell the bin, so each bin is a stretch of the ordered numbers."""
    bins: list[int | None] = []
    for place in range(_BINS):
        at = bisect_left(hashes, place << _BIN_SHIFT)
        inside = at < len(hashes) and hashes[at] >> _BIN_SHIFT == place
        bins.append(hashes[at] if inside else None)
    return bins


def _filled(bins: list[int | None]) -> list[int]:
    filled: list[int] = []
    for place in range(_BINS):
        distance = 0
        while (value := bins[(place + distance) % _BINS]) is None:
            distance += 1
        # The distance goes into the value, so that a borrowed one never equals one that was drawn there.
        filled.append(value + (distance << 32))
    return filled


def _band(index: int, rows: list[int]) -> int:
    """Two rows and the band's place as one number of 63 bits; equal only where all three are, nearly always."""
    first, second = rows
    mixed = (first * 0x9E3779B97F4A7C15 + second * 0xC2B2AE3D27D4EB4F + index * 0x165667B19E3779F9) & _MASK
    return (mixed ^ mixed >> 29) & _MASK >> 1


def outline(text: str) -> int:
    """The words of a text as bits. Of two texts that share few bits it is known at a glance that they share few words."""
    bits = 0
    for number in map(_HASHES.__getitem__, set(words(text))):
        bits |= 1 << (number >> 8 & 255)
    return bits


def bits_shared(a: int, b: int) -> float:
    """How much two outlines share, from 0 to 1."""
    either = (a | b).bit_count()
    return (a & b).bit_count() / either if either else 1.0


def _features(text: str) -> set[str | tuple[str, str]]:
    found = words(text)
    return {*found, *pairwise(found)}


def similarity(a: str, b: str) -> float:
    """How much two texts share, from 0 to 1: Jaccard over their words and pairs of neighbouring words."""
    ours, theirs = _features(a), _features(b)
    if not ours or not theirs:
        return 1.0 if ours == theirs else 0.0
    shared = len(ours & theirs)
    return shared / (len(ours) + len(theirs) - shared)


def containment(a: str, b: str) -> float:
    """How much of the first text is in the second, from 0 to 1."""
    ours = _features(a)
    return len(ours & _features(b)) / len(ours) if ours else 1.0


# --- substance ------------------------------------------------------------------------------------------


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS = _listed("""
    not never no none nobody nothing neither nor without cannot cant dont doesnt isnt wont shouldnt mustnt
    avoid avoids avoided avoiding forbid forbids forbidden prohibit prohibits prohibited ban bans banned
    nicht kein keine keinen keinem keiner keines nie niemals ohne
    nunca jamas sin ningun ninguna ninguno tampoco
    ne pas jamais sans aucun aucune non nao sem niet geen nooit zonder
    ❌
""")
# Punctuation is folded to a space, so that "don't" is two words.
_CONTRACTED = _listed("""
    don doesn didn isn aren wasn weren won wouldn shouldn couldn can mustn hasn haven hadn needn ain
""")
_SKIPPED = _listed("""
    a an the any all to be do does is are of on in it this that ever than
    ein eine der die das den le la les un une el los de d l
""")
# In scripts without spaces, negation is a character or two within the run.
_UNSPACED_NEGATION = re.compile(
    "[不没沒無无别勿禁未非]|ない|ません|않|없|못|안 |\\bне\\b|\\bнет\\b|\\bникогда\\b|\\bнельзя\\b"
)
_UNSPACED_NUMBER = re.compile("[一二三四五六七八九十百千万億亿两]")

_OPPOSED = (
    ("always", "never"),
    ("allow permit", "forbid prohibit disallow deny ban block"),
    ("enable", "disable"),
    ("use prefer adopt", "avoid"),
    ("before", "after"),
    ("increase raise grow", "decrease reduce lower shrink"),
    ("above over", "below under"),
    ("more greater higher", "less fewer lower"),
    ("most maximum max", "least minimum min"),
    ("with", "without"),
    ("add include insert", "remove exclude delete drop"),
    ("accept approve", "reject refuse"),
    ("start open begin", "stop close end"),
    ("first", "last"),
    ("true", "false"),
    ("on", "off"),
    ("yes", "no"),
    ("public", "private"),
    ("sync synchronous synchronously", "async asynchronous asynchronously"),
    ("required mandatory must shall", "optional may can"),
    ("must shall", "should"),
    ("should recommended", "may can could"),
    ("success succeed pass", "failure fail"),
    ("safe", "unsafe"),
    ("valid", "invalid"),
    ("mutable", "immutable"),
    ("encrypted", "unencrypted plaintext"),
    ("local locally", "remote remotely"),
    ("manual manually", "automatic automatically"),
    ("everyone everybody all", "nobody none"),
    ("immer", "nie niemals"),
    ("erlaubt erlauben", "verboten verbieten"),
    ("vor", "nach"),
    ("siempre", "nunca jamas"),
    ("antes", "despues"),
    ("toujours", "jamais"),
    ("avant", "apres"),
    ("启用", "禁用 停用"),
    ("允许", "禁止"),
    ("总是", "从不"),
    ("之前", "之后"),
    ("增加", "减少"),
    ("必须", "可以"),
)
#: What is said after these is the other side of a choice: "use A instead of B".
_TURNS = _listed("instead rather over before after than except unless until from versus vs")

_NAMED_NUMBERS = _listed("""
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand
    million once twice half double triple daily weekly monthly yearly hourly nightly
    monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april june july august september october november december
""")
_UNITS = {
    form: unit
    for unit, forms in {
        "ms": "ms millisecond milliseconds",
        "µs": "μs us microseconds",
        "s": "s sec secs second seconds",
        "min": "m min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "d day days",
        "w": "week weeks",
        "mo": "month months",
        "y": "year years",
        "b": "b byte bytes",
        "kb": "k kb kib kilobytes",
        "mb": "mb mib megabytes",
        "gb": "gb gib gigabytes",
        "tb": "tb tib terabytes",
        "%": "% percent",
    }.items()
    for form in forms.split(" ")
}
_NUMBER = re.compile(r"([-~^$€£¥]?\d[\d.]*)([^\d.].*)?")
_ENDING = re.compile("(?:ing|ed|es|s|e)$")
_DENIALS = ("un", "in", "im", "ir", "non", "dis", "de")
_COMPARISONS = frozenset(["<", ">", "<=", ">=", "!="])


def _forms(stem: str) -> set[str]:
    """A word with its regular endings."""
    stem = fold_claim(stem)
    cut = stem[:-1] if stem.endswith("e") else stem
    return {
        stem,
        stem + "s",
        cut + "ed",
        cut + "es",
        cut + "ing",
        stem + stem[-1] + "ed",
        stem + stem[-1] + "ing",
    }


_SIDES = tuple(
    tuple(frozenset(form for stem in side.split(" ") for form in _forms(stem)) for side in pair)
    for pair in _OPPOSED
)


def differs_in_substance(a: str, b: str) -> bool:
    """Whether two texts, however alike, disagree: in a number, a negation, a choice, or an opposed word.

    It errs towards a difference: a duplicate that is kept costs a line, a contradiction that is skipped
    costs a decision.
    """
    return difference_of(a, b) is not None


def difference_of(a: str, b: str) -> str | None:
    """In what two texts disagree, in a word or two; None where they do not."""
    ours, theirs = words(a), words(b)
    if _numbers(ours) != _numbers(theirs) or _counted(_UNSPACED_NUMBER, a) != _counted(_UNSPACED_NUMBER, b):
        return "another value"
    if _negated(ours) != _negated(theirs) or _counted(_UNSPACED_NEGATION, a) != _counted(
        _UNSPACED_NEGATION, b
    ):
        return "a negation"
    if _opposed(ours, theirs):
        return "opposed words"
    return "a choice turned round" if _turned(ours, theirs) else None


def _counted(pattern: re.Pattern[str], text: str) -> Counter[str]:
    return Counter() if text.isascii() else Counter(pattern.findall(text.casefold()))


def _numbers(found: Sequence[str]) -> set[str]:
    """Numbers with their units and comparisons, versions, days, months, and numbers that are spelled out."""
    numbers: set[str] = set()
    for place, word in enumerate(found):
        if word in _NAMED_NUMBERS:
            numbers.add(word.removesuffix("s") if word.endswith("days") else word)
        elif match := _NUMBER.fullmatch(word):
            after = found[place + 1] if place + 1 < len(found) else ""
            unit = match[2] or (after if after in _UNITS else "")
            before = found[place - 1] if place and found[place - 1] in _COMPARISONS else ""
            numbers.add(before + match[1] + _UNITS.get(unit, unit))
        elif any(char.isdigit() for char in word):
            numbers.add(word)
    return numbers


def _negated(found: Sequence[str]) -> Counter[str]:
    """What each negation is about: the next word that says something."""
    about: Counter[str] = Counter()
    for place, word in enumerate(found):
        contracted = word == "t" and place and found[place - 1] in _CONTRACTED
        if word in _NEGATIONS or contracted:
            about[_next_said(found, place)] += 1
    return about


def _next_said(found: Sequence[str], place: int) -> str:
    for word in found[place + 1 : place + 5]:
        if word not in _SKIPPED and word not in _NEGATIONS:
            return _stem(word)
    return ""


def _stem(word: str) -> str:
    """A word without its ending: "never deploying" and "never deploy" are about the same."""
    return _ENDING.sub("", word) or word


def _opposed(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    we, they = set(ours), set(theirs)
    for one, other in _SIDES:
        if not (we | they) & one or not (we | they) & other:
            continue
        if (_only(we, one, other) and _only(they, other, one)) or (
            _only(we, other, one) and _only(they, one, other)
        ):
            return True
        # Both words in both texts: then it matters what each is said of.
        if _said_of(ours, one) & _said_of(theirs, other) or _said_of(ours, other) & _said_of(theirs, one):
            return True
    return _denied(we - they, they) or _denied(they - we, we)


def _only(found: set[str], wanted: frozenset[str], unwanted: frozenset[str]) -> bool:
    return bool(found & wanted) and not found & unwanted


def _said_of(found: Sequence[str], side: frozenset[str]) -> set[str]:
    return {_next_said(found, place) for place, word in enumerate(found) if word in side} - {""}


def _denied(found: set[str], others: set[str]) -> bool:
    """Whether a word meets its own denial: supported and unsupported."""
    return any(len(word) > 3 and prefix + word in others for word in found for prefix in _DENIALS)


def _turned(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether the sides of a choice changed places: "A instead of B" against "B instead of A"."""

    we, they = _said_of(ours, _TURNS), _said_of(theirs, _TURNS)
    swapped_in, swapped_out = we - they, they - we
    return (
        bool(swapped_in and swapped_out)
        and swapped_in <= {_stem(word) for word in theirs}
        and swapped_out <= {_stem(word) for word in ours}
    )
