"""Any endpoint that speaks OpenAI's form of embeddings: for who has one; nothing is sent anywhere without it."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from minutebook.minds.embedders import Endpoint
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Purpose, Space
from minutebook.policy.passages import VERSION

#: Texts that are sent at once, and the largest answer that is read.
_AT_ONCE = 32
_ANSWER_BYTES = 64 * 1024**2
#: Seconds that a person who searches waits at most; then text alone answers.
_QUESTION_SECONDS = 3.0
#: Failures in a row after which the endpoint is left alone, and for how many seconds.
_FAILURES, _PAUSE = 3, 30.0
#: What an endpoint says of a text that it will not take; every other failure is its own.
_REFUSALS = (400, 413, 422)


class Breaker:
    """Counts failures, and says when an endpoint is to be left alone."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._failures, self._until = 0, 0.0

    def check(self) -> None:
        if self._monotonic() < self._until:
            raise _silent("it failed several times and is left alone for a while")

    def failed(self) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            self._until = self._monotonic() + _PAUSE

    def answered(self) -> None:
        self._failures = 0


class EndpointEmbedder:
    """Asks an endpoint for vectors. After some failures it is not asked again for a while."""

    def __init__(self, endpoint: Endpoint, breaker: Breaker) -> None:
        self._endpoint, self._breaker = endpoint, breaker
        # How wide its vectors are, only it can say; and that is part of what they are.
        width = len(self._ask(["."], _QUESTION_SECONDS)[0])
        said = json.dumps([VERSION, endpoint.url, endpoint.model, width])
        self.space = Space(endpoint.model, hashlib.sha256(said.encode()).hexdigest(), width)

    def embed(self, texts: Sequence[str], purpose: Purpose) -> np.ndarray:
        rows = []
        seconds = _QUESTION_SECONDS if purpose is Purpose.QUERY else self._endpoint.seconds
        for start in range(0, len(texts), _AT_ONCE):
            rows += self._ask(list(texts[start : start + _AT_ONCE]), seconds)
        try:
            found = np.array(rows, np.float32)
        except (ValueError, TypeError, OverflowError):
            raise _wrong() from None
        if found.shape != (len(texts), self.space.dimensions) or not np.isfinite(found).all():
            raise _wrong()
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)

    def _ask(self, texts: list[str], seconds: float) -> list[Any]:
        self._breaker.check()
        try:
            rows = _rows(_post(self._endpoint, texts, min(seconds, self._endpoint.seconds)), len(texts))
        except MinutebookError as error:
            if error.code == "no_model":
                self._breaker.failed()
            raise
        self._breaker.answered()
        return rows


def _post(endpoint: Endpoint, texts: list[str], seconds: float) -> bytes:
    parts = urlsplit(endpoint.url)
    if not endpoint.model:
        raise MinutebookError(
            "bad_setting", "MINUTEBOOK_EMBEDDER_URL needs MINUTEBOOK_EMBEDDER_MODEL beside it."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MinutebookError("bad_setting", "MINUTEBOOK_EMBEDDER_URL must be http://… or https://….")
    kind: Any = http.client.HTTPConnection
    more: dict[str, Any] = {}
    if parts.scheme == "https":
        kind, more = http.client.HTTPSConnection, {"context": ssl.create_default_context()}
    connection = kind(parts.hostname, parts.port, timeout=seconds, **more)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    body = json.dumps({"model": endpoint.model, "input": texts, "encoding_format": "float"})
    try:
        connection.request("POST", parts.path.rstrip("/") + "/embeddings", body, headers)
        answer = connection.getresponse()
        said = answer.read(_ANSWER_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise _silent(type(error).__name__) from error
    finally:
        connection.close()
    if answer.status in _REFUSALS:
        raise MinutebookError(
            "invalid_input", f"The embedding endpoint does not take the text ({answer.status})."
        )
    # Also when it sends us elsewhere: a key goes to nobody but whom it was given for.
    if answer.status != 200 or len(said) > _ANSWER_BYTES:
        raise _silent(f"it answered {answer.status}")
    return said


def _rows(said: bytes, wanted: int) -> list[Any]:
    try:
        data = json.loads(said)["data"]
        rows = [one["embedding"] for one in sorted(data, key=lambda one: one["index"])]
    except (ValueError, KeyError, TypeError) as error:
        raise _wrong() from error
    if len(rows) != wanted or not all(isinstance(row, list) and row for row in rows):
        raise _wrong()
    return rows


def _silent(why: str) -> MinutebookError:
    return MinutebookError("no_model", f"The embedding endpoint does not answer: {why}.")


def _wrong() -> MinutebookError:
    return MinutebookError(
        "bad_model", "The embedding endpoint answered something else than one vector for each text."
    )
