"""An endpoint for embeddings: asked when it is named, left alone when it fails, believed only what fits."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from minutebook.minds.embedders import Endpoint
from minutebook.minds.endpoint_embedder import Breaker, EndpointEmbedder
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Purpose

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


def good(asked: dict[str, Any]) -> tuple[int, bytes]:
    rows = [[float(len(text)), 3.0, 4.0] for text in asked["input"]]
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return 200, json.dumps({"data": data[::-1]}).encode()


class Endpoints:
    """A server of this test that answers as it is told."""

    def __init__(self) -> None:
        self.answer: Answer = good
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        outer = self

        class Door(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((self.path, dict(self.headers), body))
                status, said = outer.answer(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/v1/embeddings")
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoints]:
    running = Endpoints()
    yield running
    running.close()


class Seconds:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def embedder(endpoint: Endpoints, clock: Seconds | None = None, **given: Any) -> EndpointEmbedder:
    return EndpointEmbedder(Endpoint(endpoint.url, "small", **given), Breaker(clock or Seconds()))


def test_texts_are_sent_with_model_and_key_and_come_back_as_unit_vectors_in_order(
    endpoint: Endpoints,
) -> None:
    asking = embedder(endpoint, key="k-1")
    rows = asking.embed(["one", "three"], Purpose.PASSAGE)
    assert np.allclose(rows[1], np.array([5, 3, 4]) / np.linalg.norm([5, 3, 4]))
    path, headers, body = endpoint.asked[-1]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer k-1"
    assert body["model"] == "small"
    assert asking.space.dimensions == 3


def test_many_texts_are_sent_in_several_requests(endpoint: Endpoints) -> None:
    rows = embedder(endpoint).embed([f"{'x' * number}." for number in range(100)], Purpose.PASSAGE)
    assert rows.shape == (100, 3)
    assert max(len(body["input"]) for _, _, body in endpoint.asked) <= 32


def test_a_model_of_another_width_is_another_space(endpoint: Endpoints) -> None:
    first = embedder(endpoint).space
    endpoint.answer = lambda asked: (
        200,
        json.dumps(
            {"data": [{"index": i, "embedding": [1.0, 2.0]} for i in range(len(asked["input"]))]}
        ).encode(),
    )
    assert embedder(endpoint).space.id != first.id


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0, null, 2.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0, NaN, 2.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 1.0, 2.0]}]}',
    ],
)
def test_an_answer_that_is_no_vector_for_each_text_is_refused(endpoint: Endpoints, said: bytes) -> None:
    asking = embedder(endpoint)
    endpoint.answer = lambda _: (200, said)
    with pytest.raises(MinutebookError) as caught:
        asking.embed(["one"], Purpose.PASSAGE)
    assert caught.value.code == "bad_model"


@pytest.mark.parametrize(
    ("status", "code"), [(400, "invalid_input"), (413, "invalid_input"), (500, "no_model")]
)
def test_a_text_that_is_refused_is_told_from_an_endpoint_that_fails(
    endpoint: Endpoints, status: int, code: str
) -> None:
    asking = embedder(endpoint)
    endpoint.answer = lambda _: (status, b"{}")
    with pytest.raises(MinutebookError) as caught:
        asking.embed(["one"], Purpose.PASSAGE)
    assert caught.value.code == code


def test_a_key_is_not_carried_to_where_the_endpoint_points(endpoint: Endpoints) -> None:
    asking = embedder(endpoint, key="k-1")
    endpoint.answer = lambda _: (302, b"")
    with pytest.raises(MinutebookError, match="answered 302"):
        asking.embed(["one"], Purpose.PASSAGE)


def test_an_endpoint_that_fails_again_and_again_is_left_alone_for_a_while(endpoint: Endpoints) -> None:
    seconds = Seconds()
    asking = embedder(endpoint, seconds)
    endpoint.answer = lambda _: (503, b"")
    for _ in range(10):
        with pytest.raises(MinutebookError, match="does not answer"):
            asking.embed(["one"], Purpose.QUERY)
    assert len(endpoint.asked) == 1 + 3
    endpoint.answer = good
    seconds.now += 31
    assert len(asking.embed(["one"], Purpose.QUERY)) == 1


def test_an_endpoint_that_says_nothing_is_not_waited_for_without_end(endpoint: Endpoints) -> None:
    asking = embedder(endpoint, seconds=0.2)
    hold = threading.Event()
    endpoint.answer = lambda asked: (hold.wait(20), good(asked))[1]
    try:
        with pytest.raises(MinutebookError, match="does not answer"):
            asking.embed(["one"], Purpose.QUERY)
    finally:
        hold.set()


def test_nothing_of_the_text_or_the_key_is_in_an_error(endpoint: Endpoints) -> None:
    asking = embedder(endpoint, key="k-secret")
    endpoint.answer = lambda asked: (500, json.dumps(asked).encode())
    with pytest.raises(MinutebookError) as caught:
        asking.embed(["private words"], Purpose.PASSAGE)
    told = str(caught.value.as_dict())
    assert "private" not in told
    assert "secret" not in told
