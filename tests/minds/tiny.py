"""A real model of a few kilobytes: words that mean the same lie near each other, and all others far apart."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from minutebook.minds import models
from minutebook.minds.cards import Card
from minutebook.minds.onnx_format import Graph

WIDTH = 32
#: Each line is one meaning.
MEANINGS = (
    "redis cache caching memcached",
    "database postgres postgresql storage",
    "proxy gateway router",
    "login authentication password signin",
    "deploy release rollout ship",
    "colour color paint hue",
    "bug defect fault failure",
    "fast quick speed latency",
)


def tokenizer() -> bytes:
    vocabulary = {"[UNK]": 0, "[PAD]": 1}
    for line in MEANINGS:
        for word in line.split():
            vocabulary[word] = len(vocabulary)
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            # As a model that we know has it: whoever believes it fills every text up.
            "padding": {
                "strategy": {"Fixed": 64},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 1,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
            "added_tokens": [],
            "normalizer": {"type": "Lowercase"},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        }
    ).encode()


def model(seed: int = 1, width: int = WIDTH) -> bytes:
    chance = np.random.default_rng(seed)
    rows = [np.zeros(width), np.ones(width)]
    for line in MEANINGS:
        middle = chance.normal(size=width)
        rows += [middle + 0.1 * chance.normal(size=width) for _ in line.split()]
    whole = (np.int64, ("batch", "tokens"))
    graph = Graph(
        inputs=[("input_ids", *whole), ("attention_mask", *whole)],
        outputs=[("last_hidden_state", np.float32, ("batch", "tokens", width))],
    )
    table = graph.weight("words", np.array(rows, np.float32))
    mask = graph.add("Cast", ["attention_mask"], "mask", to=1)
    axis = graph.weight("axis", np.array([2], np.int64))
    wide = graph.add("Unsqueeze", [mask, axis], "wide")
    found = graph.add("Gather", [table, "input_ids"], "found", axis=0)
    graph.add("Mul", [found, wide], "last_hidden_state")
    return graph.serialise("tiny")


def folder(path: Path, *, seed: int = 1, name: str = "tiny", weight: float = 1.0, width: int = WIDTH) -> Card:
    """A model's folder as `models add` leaves it."""
    path.mkdir(parents=True)
    content = {"model.onnx": model(seed, width), "tokenizer.json": tokenizer()}
    for file, data in content.items():
        (path / file).write_bytes(data)
    card = Card(
        name=name,
        dimensions=width,
        max_tokens=128,
        model=hashlib.sha256(content["model.onnx"]).hexdigest(),
        tokenizer=hashlib.sha256(content["tokenizer.json"]).hexdigest(),
        weight=weight,
    )
    (path / "model.json").write_text(json.dumps(asdict(card)), "utf-8")
    return card


def install(home: Path, *, seed: int = 1, name: str = "tiny", width: int = WIDTH) -> Card:
    """Have a model in use in a home."""
    card = folder(models.place(home) / name, seed=seed, name=name, width=width)
    models.use(home, [name])
    return card
