"""Conversion: the graph that we write computes what the weights mean, and quantising it loses next to nothing."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from minutebook.minds.conversion import Shape, convert, from_export
from minutebook.minds.onnx_format import Graph, initializers, products, safetensors
from minutebook.model.errors import MinutebookError

SHAPE = Shape(layers=2, heads=4, width=64)
WORDS, PLACES, INNER = 100, 32, 128


def weights(seed: int = 3) -> dict[str, np.ndarray]:
    """A BERT of a few kilobytes, with weights by chance."""
    chance = np.random.default_rng(seed)

    def made(*shape: int, spread: float = 0.3) -> np.ndarray:
        return (chance.normal(size=shape) * spread).astype(np.float32)

    width = SHAPE.width
    found = {
        "embeddings.word_embeddings.weight": made(WORDS, width),
        "embeddings.position_embeddings.weight": made(PLACES, width),
        "embeddings.token_type_embeddings.weight": made(2, width),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(SHAPE.layers):
        name = f"encoder.layer.{layer}"
        for part, (rows, columns) in {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (INNER, width),
            "output.dense": (width, INNER),
        }.items():
            found[f"{name}.{part}.weight"] = made(rows, columns)
            found[f"{name}.{part}.bias"] = made(rows)
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    for norm in norms:
        found[f"{norm}.weight"] = 1 + made(width, spread=0.1)
        found[f"{norm}.bias"] = made(width, spread=0.1)
    return found


def forward(held: dict[str, np.ndarray], ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The same in plain numpy: what the graph must compute."""

    def norm(state: np.ndarray, name: str) -> np.ndarray:
        middle = state - state.mean(-1, keepdims=True)
        scaled = middle / np.sqrt((middle**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * held[f"{name}.weight"] + held[f"{name}.bias"]

    def dense(state: np.ndarray, name: str) -> np.ndarray:
        return state @ held[f"{name}.weight"].T + held[f"{name}.bias"]

    erf = np.vectorize(math.erf)
    batch, tokens = ids.shape
    state = held["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    state = state + held["embeddings.position_embeddings.weight"][:tokens]
    state = norm(state + held["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(SHAPE.layers):
        name = f"encoder.layer.{layer}"

        def heads(what: str, state: np.ndarray = state, name: str = name) -> np.ndarray:
            split = dense(state, f"{name}.attention.self.{what}").reshape(batch, tokens, SHAPE.heads, -1)
            return split.transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / math.sqrt(SHAPE.width / SHAPE.heads)
        scores = np.where(mask[:, None, None, :] == 1, scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        seen = (shares @ heads("value")).transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
        state = norm(
            state + dense(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
        )
        inner = dense(state, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        state = norm(state + dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return state


def run(model: bytes, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])


def texts() -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(5)
    ids = chance.integers(0, WORDS, size=(3, 12))
    mask = np.ones_like(ids)
    mask[1, 7:] = 0
    return ids, mask


def pooled(state: np.ndarray, mask: np.ndarray) -> np.ndarray:
    mean = (state * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def test_the_graph_computes_what_the_weights_mean() -> None:
    held, (ids, mask) = weights(), texts()
    exact = forward(held, ids, mask)
    made = run(convert(held, SHAPE, name="test", quantised=False), ids, mask)
    shown = mask[:, :, None] == 1
    assert np.allclose(np.where(shown, made, 0), np.where(shown, exact, 0), atol=1e-3)


def test_quantised_by_channel_its_vectors_point_the_same_way() -> None:
    held, (ids, mask) = weights(), texts()
    model = convert(held, SHAPE, name="test")
    near = (pooled(run(model, ids, mask), mask) * pooled(forward(held, ids, mask), mask)).sum(axis=1)
    assert near.min() > 0.99
    assert len(model) < len(convert(held, SHAPE, name="test", quantised=False)) / 2.5


def test_what_is_written_depends_on_the_weights_alone() -> None:
    first = convert(weights(), SHAPE, name="test")
    assert convert(dict(reversed(weights().items())), SHAPE, name="test") == first
    assert convert(weights(4), SHAPE, name="test") != first


def test_a_missing_weight_is_named() -> None:
    held = weights()
    del held["encoder.layer.1.output.dense.bias"]
    with pytest.raises(MinutebookError, match=r"layer\.1\.output\.dense\.bias"):
        convert(held, SHAPE, name="test")


# --- reading what others wrote -------------------------------------------------------------------------------


def exported(held: dict[str, np.ndarray]) -> bytes:
    """A graph such as exporters write: matrices turned round, nameless, in the order of their use."""
    whole = (np.float32, ("n", SHAPE.width))
    graph = Graph(inputs=[("x", *whole)], outputs=[("y", *whole)])
    number = 0
    for layer in range(SHAPE.layers):
        for part in ("attention.self.query", "attention.self.key", "attention.self.value",
                     "attention.output.dense", "intermediate.dense", "output.dense"):  # fmt: skip
            number += 1
            matrix = held[f"encoder.layer.{layer}.{part}.weight"].T
            graph.add("MatMul", ["x", graph.weight(f"val_{number}", matrix)], f"m{number}")
    graph.add("MatMul", ["m1", "m2"], "between")
    for name, array in held.items():
        if not name.startswith("encoder") or not name.endswith("dense.weight"):
            graph.weight(name, array)
    return graph.serialise("exported")


def test_the_matrices_of_an_export_are_found_by_their_order() -> None:
    held = weights()
    found = from_export(exported(held), {}, SHAPE)
    assert convert(found, SHAPE, name="test") == convert(held, SHAPE, name="test")


def test_what_is_written_can_be_read_again() -> None:
    graph = exported(weights())
    held = initializers(graph, {})
    assert np.array_equal(held["embeddings.LayerNorm.bias"], weights()["embeddings.LayerNorm.bias"])
    assert products(graph)[:2] == ["val_1", "val_2"]


def test_weights_may_lie_in_a_file_beside() -> None:
    from minutebook.minds.onnx_format import _bytes, _int

    data = np.arange(12, dtype=np.float32)
    places = [("location", "w.data"), ("offset", "16"), ("length", "24")]
    tensor = _int(1, 2) + _int(1, 3) + _int(2, 1) + _bytes(8, b"w")
    tensor += b"".join(
        _bytes(13, _bytes(1, key.encode()) + _bytes(2, value.encode())) for key, value in places
    )
    model = _bytes(7, _bytes(5, tensor))
    found = initializers(model, {"w.data": data.tobytes()})
    assert np.array_equal(found["w"], np.arange(4, 10, dtype=np.float32).reshape(2, 3))
    with pytest.raises(MinutebookError):
        initializers(model, {})


@pytest.mark.parametrize("size", [1, 7, 100, 5_000])
def test_a_file_that_was_cut_off_is_refused_and_never_half_read(size: int) -> None:
    whole = exported(weights())
    with pytest.raises(MinutebookError) as caught:
        initializers(whole[: len(whole) - size], {})
    assert caught.value.code == "bad_model"


def test_safetensors_are_read_and_broken_ones_refused() -> None:
    import json
    import struct

    data = np.arange(6, dtype=np.float32)
    header = json.dumps(
        {"__metadata__": {}, "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    ).encode()
    whole = struct.pack("<Q", len(header)) + header + data.tobytes()
    assert np.array_equal(safetensors(whole)["w"], data.reshape(2, 3))
    for broken in (b"", whole[:5], struct.pack("<Q", 10**12) + header, whole[:-4], whole[:20]):
        with pytest.raises(MinutebookError):
            safetensors(broken)


def test_the_hash_of_a_converted_model_is_pinned() -> None:
    """As those of the real ones are: another hash here means other vectors, and other hashes, everywhere."""
    counted = {
        name: ((np.arange(array.size) * 7919 % 1009 - 504) / np.float32(1009))
        .astype(np.float32)
        .reshape(array.shape)
        for name, array in weights().items()
    }
    made = hashlib.sha256(convert(counted, SHAPE, name="test")).hexdigest()
    assert made == "f393f89bd9011f2062a8f96dee77e278e6699139645e5b9e9625601b9c4cc32b"
