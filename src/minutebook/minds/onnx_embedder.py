"""A local model on the CPU: a folder with `model.onnx` and `tokenizer.json`, and no network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from minutebook.minds.cards import Card
from minutebook.minds.onnx_runtime import quiet_runtime
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Purpose, Space

#: Texts, and tokens with what fills them up, that the model is given at once: bounds its memory.
_TEXTS_AT_ONCE = 32
_TOKENS_AT_ONCE = 4_096


class OnnxEmbedder:
    """The mean of a model's token vectors, of length one."""

    def __init__(self, folder: Path, card: Card, *, threads: int) -> None:
        onnxruntime = quiet_runtime()
        from tokenizers import Tokenizer

        self.card = card
        self.space = Space(card.name, card.digest, card.dimensions)
        model = _checked(folder / "model.onnx", card.model)
        tokens = _checked(folder / "tokenizer.json", card.tokenizer)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Threads that wait do not turn in circles: on a busy machine that is most of what they would do.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Without the arena the memory of the longest batch is given back after it.
        options.enable_cpu_mem_arena = False
        try:
            self._tokenizer = Tokenizer.from_str(tokens.decode("utf-8"))
            # The file may bring its own: one of the models that we know fills every text up to 128 and cuts there.
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(card.max_tokens)
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise what they like
            raise MinutebookError("bad_model", f"The model in {folder} cannot be loaded.") from error
        self._inputs = {given.name for given in self._session.get_inputs()}

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        before = self.card.query if purpose is Purpose.QUERY else self.card.passage
        encoded = self._tokenizer.encode_batch([before + text for text in texts])
        found = np.zeros((len(texts), self.card.dimensions), np.float32)
        for some in _batches([len(one.ids) for one in encoded]):
            found[some] = self._pooled([encoded[index].ids for index in some])
        return found

    def _pooled(self, ids: list[list[int]]) -> np.ndarray:
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        state = self._state(given)
        if state.ndim == 3:
            weighed = state * mask[:, :, None].astype(np.float32)
            state = weighed.sum(axis=1) / np.maximum(1, mask.sum(axis=1, keepdims=True)).astype(np.float32)
        if state.shape != (len(ids), self.card.dimensions):
            raise MinutebookError("bad_model", f"The model {self.card.name} gives vectors of another width.")
        length = np.linalg.norm(state, axis=1, keepdims=True)
        return (state / np.maximum(length, 1e-12)).astype(np.float32)

    def _state(self, given: dict[str, np.ndarray]) -> np.ndarray:
        try:
            found = self._session.run(
                None, {key: value for key, value in given.items() if key in self._inputs}
            )
        except Exception as error:  # whatever the runtime raises, the model is not one for this
            raise MinutebookError("bad_model", f"The model {self.card.name} cannot be run.") from error
        return np.asarray(found[0])


def width_of(folder: Path, card: Card) -> int:
    """How wide the vectors of a model are: it is asked for one."""
    asked = OnnxEmbedder(folder, card, threads=1)
    one = np.ones((1, 4), np.int64)
    return int(asked._state({"input_ids": one, "attention_mask": one, "token_type_ids": one * 0}).shape[-1])


def _checked(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MinutebookError("bad_model", f"{path} cannot be read.", hint="minutebook models add") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise MinutebookError(
            "bad_model", f"{path} is not what it was when it was added.", hint="minutebook models add"
        )
    return data


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Texts of like length together, so that little is filled up."""
    some: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if some and (len(some) == _TEXTS_AT_ONCE or lengths[index] * (len(some) + 1) > _TOKENS_AT_ONCE):
            yield some
            some = []
        some.append(index)
    if some:
        yield some
