"""The little of the ONNX file format that a model of ours needs, read and written without its library.

An ONNX file is protobuf: numbered fields, each a number or a run of bytes. What is written here depends on its
input alone, so that a converted model is the same bytes on every machine and can be checked by its hash.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minutebook.model.errors import MinutebookError

#: Types of elements, by the number that the format has for them.
_DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}
_NUMBERS = {np.dtype(kind): number for number, kind in _DTYPES.items()}
#: The newest version of the format that every runtime which we accept reads.
_IR_VERSION = 8
_OPSETS = (("", 17), ("com.microsoft", 1))

Field = tuple[int, int | bytes]


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


def initializers(model: bytes, beside: Mapping[str, bytes]) -> dict[str, np.ndarray]:
    """The weights of a model by name; `beside` are the files that it may keep them in."""
    found: dict[str, np.ndarray] = {}
    for number, graph in _fields(model):
        if number == 7 and isinstance(graph, bytes):
            for inner, tensor in _fields(graph):
                if inner == 5 and isinstance(tensor, bytes):
                    name, array = _tensor(tensor, beside)
                    found[name] = array
    return found


def products(model: bytes) -> list[str]:
    """What is multiplied with, in the order of the steps: exporters keep the order and lose the names."""
    found = []
    for number, graph in _fields(model):
        if number == 7 and isinstance(graph, bytes):
            for inner, node in _fields(graph):
                if inner == 1 and isinstance(node, bytes):
                    parts = list(_fields(node))
                    if (4, b"MatMul") in parts:
                        found.append([v.decode() for n, v in parts if n == 1 and isinstance(v, bytes)][1])
    return found


def _fields(data: bytes) -> Iterator[Field]:
    at = 0
    view = memoryview(data)
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise _broken()
            yield number, bytes(view[at : at + size])
            at += size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            yield number, bytes(view[at : at + size])
            at += size
        else:
            raise _broken()


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _broken()
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _tensor(data: bytes, beside: Mapping[str, bytes]) -> tuple[str, np.ndarray]:
    dims: list[int] = []
    kind, name, raw, place = 0, "", None, {}
    for number, value in _fields(data):
        if number == 1:
            dims += [value] if isinstance(value, int) else _packed(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8 and isinstance(value, bytes):
            name = value.decode()
        elif number == 9 and isinstance(value, bytes):
            raw = value
        elif number == 13 and isinstance(value, bytes):
            pair = {n: bytes(v).decode() for n, v in _fields(value) if isinstance(v, bytes)}
            place[pair.get(1, "")] = pair.get(2, "")
    if place:
        start = int(place.get("offset", 0))
        whole = beside.get(place.get("location", ""))
        if whole is None:
            raise _broken()
        raw = whole[start : start + int(place["length"])] if "length" in place else whole[start:]
    if raw is None or kind not in _DTYPES:
        return name, np.zeros(0, np.float32)  # small constants of the graph, of no use to us
    try:
        return name, np.frombuffer(raw, _DTYPES[kind]).reshape(dims)
    except ValueError as error:
        raise _broken() from error


def _packed(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def safetensors(data: bytes) -> dict[str, np.ndarray]:
    """The weights of a safetensors file: a length, a header of JSON, and the numbers."""
    try:
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        found = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                raw = data[8 + size + start : 8 + size + end]
                found[name] = np.frombuffer(raw, np.float32).reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise _broken() from error
    return found


def _broken() -> MinutebookError:
    return MinutebookError("bad_model", "The model's file is not one that can be read.")


# ── writing ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Graph:
    """A model in the making: steps in order, weights by name."""

    inputs: Sequence[tuple[str, type, Sequence[str | int]]]
    outputs: Sequence[tuple[str, type, Sequence[str | int]]]
    _nodes: list[bytes] = field(default_factory=list)
    _weights: list[bytes] = field(default_factory=list)

    def weight(self, name: str, array: np.ndarray) -> str:
        array = np.ascontiguousarray(array)
        self._weights.append(
            b"".join(_int(1, size) for size in array.shape)
            + _int(2, _NUMBERS[array.dtype])
            + _bytes(8, name.encode())
            + _bytes(9, array.tobytes())
        )
        return name

    def add(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str] | str, domain: str = "", **given: Any
    ) -> str:
        """One step; the name of its first output."""
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self._nodes.append(
            b"".join(_bytes(1, name.encode()) for name in inputs)
            + b"".join(_bytes(2, name.encode()) for name in outputs)
            + _bytes(3, f"{kind}:{outputs[0]}".encode())
            + _bytes(4, kind.encode())
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in given.items())
            + (_bytes(7, domain.encode()) if domain else b"")
        )
        return outputs[0]

    def serialise(self, name: str) -> bytes:
        graph = (
            b"".join(_bytes(1, node) for node in self._nodes)
            + _bytes(2, name.encode())
            + b"".join(_bytes(5, weight) for weight in self._weights)
            + b"".join(_bytes(11, _value(*given)) for given in self.inputs)
            + b"".join(_bytes(12, _value(*given)) for given in self.outputs)
        )
        opsets = b"".join(
            _bytes(8, (_bytes(1, domain.encode()) if domain else b"") + _int(2, version))
            for domain, version in _OPSETS
        )
        return _int(1, _IR_VERSION) + _bytes(2, b"minutebook") + _bytes(7, graph) + opsets


def _value(name: str, kind: type, shape: Sequence[str | int]) -> bytes:
    dims = b"".join(
        _bytes(1, _int(1, size) if isinstance(size, int) else _bytes(2, size.encode())) for size in shape
    )
    tensor = _int(1, _NUMBERS[np.dtype(kind)]) + _bytes(2, dims)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))


def _attribute(name: str, value: Any) -> bytes:
    head = _bytes(1, name.encode())
    if isinstance(value, float):
        return head + _key(2, 5) + struct.pack("<f", value) + _int(20, 1)
    if isinstance(value, int):
        return head + _int(3, value) + _int(20, 2)
    return head + b"".join(_int(8, number) for number in value) + _int(20, 7)


def _key(number: int, wire: int) -> bytes:
    return _number(number << 3 | wire)


def _int(number: int, value: int) -> bytes:
    return _key(number, 0) + _number(value & (1 << 64) - 1)


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, 2) + _number(len(value)) + value


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
