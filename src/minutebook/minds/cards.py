"""What a model's folder says of the model. Read without its runtime: to know the space, nothing is loaded."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from minutebook.model.errors import MinutebookError
from minutebook.policy.passages import VERSION


@dataclass(frozen=True, slots=True)
class Card:
    """What a model's folder says of it (`model.json`)."""

    name: str
    dimensions: int
    max_tokens: int
    #: sha256 of model.onnx and of tokenizer.json
    model: str
    tokenizer: str
    licence: str = ""
    #: what the model was taught to find before a question, and before a passage
    query: str = ""
    passage: str = ""
    #: its share where it stands beside others
    weight: float = 1.0

    @property
    def digest(self) -> str:
        """Of all that shapes a vector; how the folder is called or licensed does not."""
        shaping = {
            key: value for key, value in asdict(self).items() if key not in ("name", "licence", "weight")
        }
        said = json.dumps([VERSION, shaping], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


def read_card(folder: Path) -> Card:
    """What the folder of a model says of it."""
    try:
        return Card(**json.loads((folder / "model.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise MinutebookError(
            "bad_model", f"{folder / 'model.json'} cannot be read.", hint="minutebook models add"
        ) from error
