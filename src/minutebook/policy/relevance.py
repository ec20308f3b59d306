"""What of the memory is about a task: words that both hold, rarer ones counting more.

Everything here is whole numbers over folded words, so that two databases, two processes and two years give the
same answer: no rank of a search engine, no logarithm, no order of chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase, digits
from zlib import crc32

from minutebook.model.text import PerWord, words

#: Distinct words of a task that are looked for.
TASK_WORDS = 24
#: Memories looked at for each of them, newest first.
REACH = 72
#: A word that so many hold says little.
COMMON = 48
#: Words of a task that a memory of a linked project must hold.
WORDS_FROM_AFAR = 2
#: Distinct words of one memory by which it is found: of its name first, then of its text.
NAME_WORDS = 32
MEMORY_WORDS = 96

_COMMON = """
    a about after again all also always am an and any are as at be because been before being both but by can
    could did do does doing done down each else even ever every few for from get gets got had has have having he
    her here hers him his how i if in into is it its itself just let like made make makes many may me might more
    most much must my need needs no nor not now of off on once one only or other our ours out over own per please
    same shall she should since so some such than that the their theirs them then there these they this those
    through to too under until up upon us use used uses using very want wants was we well were what when where
    whether which while who whom whose why will with within without would yes yet you your yours"""
#: Words that are in every text and say nothing of what it is about. Fixed: a list that grew with the ledger
#: would make yesterday's answer another one.
STOP_WORDS = frozenset([*_COMMON.split(), *ascii_lowercase, *digits])


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without the endings that English puts on it, so that `deploys`, `deployed` and `deploy` are one.

    Coarse, and only for finding: what it gets wrong, it gets wrong on both sides.
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) >= 3 and any(vowel in root for vowel in "aeiouy"):
            double = root[-1] == root[-2] and root[-1] not in "lsz"
            word = root[:-1] if double else root
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def telling(text: str, most: int) -> list[str]:
    """The distinct words of a text that say what it is about, in their order."""
    found = dict.fromkeys(map(_TELLING.__getitem__, words(text)))
    found.pop("", None)
    return list(found)[:most]


#: What a word tells; nothing where it stands in every text.
_TELLING = PerWord(lambda word: "" if word in STOP_WORDS else stem(word))


def task_words(task: str) -> list[str]:
    """The words of a task that memory is looked for by."""
    return telling(task, TASK_WORDS)


def word_key(project: str, reader: str) -> int:
    """What the checksums of one shelf begin with: the same word on another shelf is another number."""
    return crc32(f"{project}\x1f{reader}\x1f".encode())


def checksums(key: int, found: Iterable[str]) -> list[str]:
    """The words of a shelf, each as eight characters, which every tokenizer leaves alone."""
    return list(map(_checksums(key).__getitem__, found))


@lru_cache(maxsize=4)
def _checksums(key: int) -> PerWord[str]:
    """What was worked out for one shelf: a project's words are the same from write to write."""
    return PerWord(lambda word: f"{crc32(word.encode('utf-8', 'replace'), key):08x}")


@dataclass(frozen=True, slots=True)
class Sought:
    """One word of the task: its checksum on each shelf that the reader sees, and what sharing it is worth."""

    checksums: frozenset[str]
    weight: int


def weight_of(found: int) -> int:
    """What a shared word is worth, by how many memories hold it: 1 for a common one, 6 for one that few hold."""
    return (COMMON // min(max(found, 1), COMMON)).bit_length()


def is_titled(title: str, content: str) -> bool:
    """Whether somebody gave a memory its title: one that is only the beginning of the text says nothing more."""
    return not content.lstrip("# \n").startswith(title.removesuffix("…"))


def score(shelf_words: str, sought: Sequence[Sought], *, titled: bool = True) -> int:
    """Points of a memory for a task: each shared word counts its weight, and twice in a name that was given."""
    name, _, text = shelf_words.partition("|")
    named, said = set(name.split()), set(text.split())
    times = 2 if titled else 1
    points = 0
    for word in sought:
        if not word.checksums.isdisjoint(named):
            points += times * word.weight
        elif not word.checksums.isdisjoint(said):
            points += word.weight
    return points


def shared(shelf_words: str, sought: Sequence[Sought]) -> int:
    """How many words of the task a memory holds."""
    held = set(shelf_words.split())
    return sum(not word.checksums.isdisjoint(held) for word in sought)


def enough_from_afar(shelf_words: str, sought: Sequence[Sought]) -> bool:
    """Whether a memory of another project holds enough of a task: one word alone is chance.

    There is too little of a linked project to tell by rarity, as at home, what a single word is worth.
    """
    return shared(shelf_words, sought) >= min(WORDS_FROM_AFAR, len(sought))


def likeliest(found: Mapping[int, Sequence[int]], weights: Sequence[int], most: int) -> list[int]:
    """Those worth reading whole, of all that hold a word: most weight first, then the newest.

    `found` gives for each word the places of the memories that hold it.
    """
    points: dict[int, int] = {}
    for word, places in found.items():
        for place in places:
            points[place] = points.get(place, 0) + weights[word]
    return sorted(points, key=lambda place: (-points[place], -place))[:most]
