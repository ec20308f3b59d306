"""What the benchmarks write: the same texts for everybody, drawn by lot from a seed."""

from __future__ import annotations

import random

_LETTERS = "eeeeaaaiioouutttnnnsssrrrllldddmmmcccpppgghhbbffvvkwyz"
_ENDINGS = ("", "", "", "", ".", ",")


class Texts:
    """About 500 characters each, of 20,000 words that nobody ever wrote, common ones often."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._words = [
            "".join(self._random.choice(_LETTERS) for _ in range(self._random.randint(2, 9)))
            for _ in range(20_000)
        ]

    def one(self, words: int = 75) -> str:
        pick, size = self._random, len(self._words)
        return " ".join(
            self._words[int(size * pick.random() ** 2)] + pick.choice(_ENDINGS) for _ in range(words)
        )

    def many(self, count: int) -> list[str]:
        return [self.one() for _ in range(count)]
