"""Weights of a BERT encoder, made into one small ONNX model: fused, and quantised channel by channel.

Per channel, because that is what keeps e5 whole: with one scale for each matrix its vectors lie at a cosine of
0.96 to the originals and find a tenth less; with one for each column, 0.995 and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minutebook.minds.onnx_format import Graph, initializers, products
from minutebook.model.errors import MinutebookError

_MS = "com.microsoft"
_EPSILON = 1e-12

Weights = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Shape:
    """How large an encoder is."""

    layers: int
    heads: int
    width: int


def from_export(model: bytes, beside: Mapping[str, bytes], shape: Shape) -> dict[str, np.ndarray]:
    """The weights of an exported graph under the names that they had before, as [out, in] matrices.

    Exporters keep the names of biases and lose those of the matrices, but not their order: six for each layer.
    """
    found = initializers(model, beside)
    matrices = [name for name in products(model) if name in found and found[name].ndim == 2]
    if len(matrices) != 6 * shape.layers:
        raise MinutebookError("bad_model", "The model's graph is not that of a BERT encoder.")
    places = (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "intermediate.dense",
        "output.dense",
    )
    named = dict(found)
    for index, name in enumerate(matrices):
        named[f"encoder.layer.{index // 6}.{places[index % 6]}.weight"] = found[name].T
    return named


def convert(weights: Weights, shape: Shape, *, name: str, quantised: bool = True) -> bytes:
    """A model that takes ids and a mask, and gives a vector for each token."""
    whole = (np.int64, ("batch", "tokens"))
    graph = Graph(
        inputs=[("input_ids", *whole), ("attention_mask", *whole)],
        outputs=[("last_hidden_state", np.float32, ("batch", "tokens", shape.width))],
    )
    builder = _Builder(graph, weights, shape, quantised)
    try:
        builder.build()
    except KeyError as error:
        raise MinutebookError("bad_model", f"The model lacks the weight {error.args[0]!r}.") from error
    return graph.serialise(name)


class _Builder:
    """Adds an encoder to a graph, layer by layer."""

    def __init__(self, graph: Graph, weights: Weights, shape: Shape, quantised: bool) -> None:
        self.graph, self.weights, self.shape, self.quantised = graph, weights, shape, quantised

    def build(self) -> None:
        mask = self.graph.add("Cast", ["attention_mask"], "mask", to=6)
        state = self._embeddings()
        for layer in range(self.shape.layers):
            last = layer == self.shape.layers - 1
            state = self._layer(f"encoder.layer.{layer}", state, mask, "last_hidden_state" if last else None)

    def _embeddings(self) -> str:
        add, weight = self.graph.add, self.graph.weight
        words = self.weights["embeddings.word_embeddings.weight"]
        if self.quantised:
            rows, scales = _quantise(words.T)
            table = weight("words", np.ascontiguousarray(rows.T))
            found = add(
                "Cast", [add("Gather", [table, "input_ids"], "words.rows", axis=0)], "words.wide", to=1
            )
            scale = add(
                "Gather", [weight("words.scales", scales[:, None]), "input_ids"], "words.scale", axis=0
            )
            found = add("Mul", [found, scale], "words.found")
        else:
            found = add("Gather", [weight("words", words), "input_ids"], "words.found", axis=0)
        # Every token is of the first segment: its vector can be part of that of the place.
        places = self.weights["embeddings.position_embeddings.weight"]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        length = add("Shape", ["input_ids"], "tokens", start=1, end=2)
        zero, one = weight("zero", np.array([0], np.int64)), weight("first", np.array([0], np.int64))
        placed = add("Slice", [weight("places", places), zero, length, one], "places.found")
        summed = add("Add", [found, placed], "embedded")
        return add(
            "LayerNormalization",
            [summed, *self._norm("embeddings.LayerNorm")],
            "embedded.norm",
            axis=-1,
            epsilon=_EPSILON,
        )

    def _layer(self, name: str, state: str, mask: str, last: str | None) -> str:
        seen = self._attention(f"{name}.attention", state, mask)
        seen = self._product(f"{name}.attention.output.dense", seen)
        state = self._joined(f"{name}.attention.output", seen, state, f"{name}.seen.norm")
        inner = self._product(f"{name}.intermediate.dense", state, bias=False)
        bias = self.graph.weight(f"{name}.intermediate.bias", self.weights[f"{name}.intermediate.dense.bias"])
        inner = self.graph.add("BiasGelu", [inner, bias], f"{name}.gelu", _MS)
        inner = self._product(f"{name}.output.dense", inner)
        return self._joined(f"{name}.output", inner, state, last or f"{name}.norm")

    def _attention(self, name: str, state: str, mask: str) -> str:
        parts = [f"{name}.self.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self.weights[f"{part}.weight"] for part in parts]).T
        bias = self.graph.weight(
            f"{name}.bias", np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        )
        heads = self.shape.heads
        if not self.quantised:
            held = self.graph.weight(f"{name}.matrix", matrix)
            return self.graph.add("Attention", [state, held, bias, mask], name, _MS, num_heads=heads)
        columns, scales = _quantise(matrix)
        small = [f"{name}.small", f"{name}.scale", f"{name}.zero"]
        self.graph.add("DynamicQuantizeLinear", [state], small)
        inputs = [
            small[0],
            self.graph.weight(f"{name}.matrix", columns),
            bias,
            small[1],
            self.graph.weight(f"{name}.scales", scales),
            mask,
            small[2],
            self.graph.weight(f"{name}.zeros", np.zeros(len(scales), np.int8)),
        ]
        return self.graph.add("QAttention", inputs, name, _MS, num_heads=heads)

    def _product(self, name: str, state: str, *, bias: bool = True) -> str:
        matrix = self.weights[f"{name}.weight"].T
        added = [self.graph.weight(f"{name}.bias", self.weights[f"{name}.bias"])] if bias else []
        if self.quantised:
            columns, scales = _quantise(matrix)
            inputs = [
                state,
                self.graph.weight(f"{name}.matrix", columns),
                self.graph.weight(f"{name}.scales", scales),
                self.graph.weight(f"{name}.zeros", np.zeros(len(scales), np.int8)),
            ]
            return self.graph.add("DynamicQuantizeMatMul", [*inputs, *added], name, _MS)
        out = name + ".product" if bias else name
        done = self.graph.add("MatMul", [state, self.graph.weight(f"{name}.matrix", matrix)], out)
        return self.graph.add("Add", [done, *added], name) if bias else done

    def _joined(self, name: str, new: str, old: str, out: str) -> str:
        norm = self._norm(f"{name}.LayerNorm")
        return self.graph.add("SkipLayerNormalization", [new, old, *norm], out, _MS, epsilon=_EPSILON)

    def _norm(self, name: str) -> tuple[str, str]:
        return (
            self.graph.weight(f"{name}.weight", self.weights[f"{name}.weight"]),
            self.graph.weight(f"{name}.bias", self.weights[f"{name}.bias"]),
        )


def _quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix in eight bits and a scale for each column, symmetric around zero."""
    most = np.abs(matrix).max(axis=0)
    scales = np.where(most > 0, most / np.float32(127), np.float32(1)).astype(np.float32)
    return np.clip(np.rint(matrix / scales), -127, 127).astype(np.int8), scales
