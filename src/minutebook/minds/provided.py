"""What the rest of the house sees of a provider: an embedder and a language model like any other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minutebook.minds.models_http import count_of
from minutebook.minds.providing import Hosted
from minutebook.model.asking import Answer, Question
from minutebook.model.errors import missing_extra
from minutebook.model.meaning import Purpose, Space
from minutebook.model.providers import Declared
from minutebook.policy.passages import VERSION

if TYPE_CHECKING:
    import numpy as np

#: Texts that are sent at once.
_AT_ONCE = 32
#: Seconds that a person who searches waits at most; then text alone answers.
_QUESTION_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """An embedder that an operator enabled; only it can say how wide its vectors are."""

    one: Declared
    hosted: Hosted = field(compare=False)

    @property
    def space(self) -> None:
        return None

    def open(self) -> ProvidedEmbedder:
        try:
            import numpy  # noqa: F401  (asked for here, so that what is missing is said)
        except ImportError as error:
            raise missing_extra("Search by meaning needs numpy", "semantic") from error
        return ProvidedEmbedder(self.one, self.hosted)


class ProvidedEmbedder:
    """Vectors of another package. They are believed only as far as their form goes."""

    def __init__(self, one: Declared, hosted: Hosted) -> None:
        self._one, self._hosted = one, hosted
        said = hosted.describe(one)
        name, dimensions = f"{one.package}:{one.name}", int(said["dimensions"])
        if not 1 <= dimensions <= 65_536:
            raise hosted.blame(one, "it says a width that no vector has")
        # Another version may give other vectors, unless the provider itself says that it does not.
        made_of = [VERSION, name, one.target, said["name"], said["version"] or one.version, dimensions]
        self.space = Space(name, hashlib.sha256(json.dumps(made_of).encode()).hexdigest(), dimensions)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        import numpy as np

        rows: list[list[float]] = []
        seconds = _QUESTION_SECONDS if purpose is Purpose.QUERY else None
        for start in range(0, len(texts), _AT_ONCE):
            some = list(texts[start : start + _AT_ONCE])
            rows += self._hosted.ask(self._one, seconds, texts=some, purpose=purpose.value)
        try:
            found = np.array(rows, np.float32)
        except (ValueError, TypeError, OverflowError):
            raise self._hosted.blame(self._one, "its vectors are no vectors") from None
        if found.shape != (len(texts), self.space.dimensions) or not np.isfinite(found).all():
            raise self._hosted.blame(self._one, "it gives other vectors than one of its width for each text")
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


@dataclass(frozen=True, slots=True)
class ProvidedModel:
    """A language model of another package. What it says is judged as any model's is."""

    one: Declared
    hosted: Hosted = field(compare=False)
    tokens: int

    @property
    def name(self) -> str:
        return f"{self.one.package}:{self.one.name}"

    def ask(self, question: Question) -> Answer:
        said = self.hosted.ask(
            self.one,
            task=question.task,
            material=question.material,
            schema=question.schema,
            tokens=self.tokens,
        )
        text = said.get("text")
        if not isinstance(text, str):
            raise self.hosted.blame(self.one, "it gives no text")
        return Answer(
            text,
            count_of(said.get("tokens_in"), f"{question.task}\n{question.material}"),
            count_of(said.get("tokens_out"), text),
            said.get("cut") is True,
        )


@dataclass(frozen=True, slots=True)
class ProvidedExtractor:
    """An extractor of another package, as a model that costs no tokens: it is shown the same, and believed as little."""

    one: Declared
    hosted: Hosted = field(compare=False)

    @property
    def name(self) -> str:
        return f"{self.one.package}:{self.one.name}"

    def ask(self, question: Question) -> Answer:
        found = self.hosted.ask(self.one, text=question.material)
        return Answer(json.dumps({"findings": found}), 0, 0)
