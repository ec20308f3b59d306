"""The door to a language model: its form, its limits, and every way in which it can fail."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import pytest

from minutebook.minds.embedders import Endpoint
from minutebook.minds.http_door import Breaker
from minutebook.minds.models_http import ChatModel
from minutebook.model.asking import Question
from minutebook.model.errors import MinutebookError
from tests.minds.scripted import Scripted, said, serving

QUESTION = Question("Do it.", "With this.", "findings", {"type": "object"})


class Ticks:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def model(script: Scripted, ticks: Ticks | None = None, **more: Any) -> ChatModel:
    endpoint = Endpoint(script.url, "reader", **{"key": "sesame", "seconds": 5.0, **more})
    return ChatModel(endpoint, Breaker(ticks or Ticks()), tokens=300)


def test_a_question_goes_out_with_its_form_and_comes_back_with_its_cost() -> None:
    with serving(Scripted(said({"findings": []}))) as script:
        answer = model(script).ask(QUESTION)
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.cut) == (
        '{"findings": []}',
        100,
        20,
        False,
    )
    [asked] = script.asked
    assert asked["path"] == "/v1/chat/completions"
    assert (asked["model"], asked["max_tokens"], asked["temperature"]) == ("reader", 300, 0)
    assert asked["messages"][1] == {"role": "user", "content": "With this."}
    assert asked["response_format"]["json_schema"] == {
        "name": "findings", "strict": True, "schema": {"type": "object"},
    }  # fmt: skip
    assert script.headers[0]["Authorization"] == "Bearer sesame"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((500, b"oh no"), "no_model"),
        ((429, b"slow down"), "no_model"),
        ((302, b""), "no_model"),
        ((401, b"who?"), "no_model"),
        ((400, b"what?"), "invalid_input"),
        (b"<html>not json</html>", "bad_model"),
        (b"[" * 100_000, "bad_model"),
        ({}, "bad_model"),
        ({"choices": []}, "bad_model"),
        ({"choices": [{"message": {"content": None}}]}, "bad_model"),
        ({"choices": [{"message": None}]}, "bad_model"),
        ([1, 2], "bad_model"),
        (b"x" * (5 * 1024**2), "no_model"),
    ],
)
def test_every_bad_answer_is_an_error_that_says_so_and_holds_no_key(answer: Any, code: str) -> None:
    with serving(Scripted(answer)) as script, pytest.raises(MinutebookError) as raised:
        model(script).ask(QUESTION)
    assert raised.value.code == code
    assert "sesame" not in str(raised.value.as_dict())


def test_one_that_counts_no_tokens_or_counts_nonsense_is_counted_by_estimate() -> None:
    with serving(Scripted(said("x y z", usage={"prompt_tokens": "many", "completion_tokens": -1}))) as script:
        answer = model(script).ask(QUESTION)
    assert answer.tokens_in > 0
    assert answer.tokens_out > 0


def test_an_answer_that_takes_too_long_is_none() -> None:
    script = Scripted(said("late"))
    script.wait = threading.Event()
    with serving(script):
        with pytest.raises(MinutebookError) as raised:
            model(script, seconds=0.2).ask(QUESTION)
        script.wait.set()
    assert raised.value.code == "no_model"


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"]
)
def test_one_that_says_a_letter_now_and_then_is_late_too(head: bytes) -> None:
    """Not even a line that is never silent for long keeps anybody longer than the time it has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        over = threading.Event()

        def drip() -> None:
            line, _ = listening.accept()
            with line, contextlib.suppress(OSError):
                line.sendall(head)
                while not over.wait(0.02):
                    line.sendall(b" ")

        dripping = threading.Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        door = ChatModel(Endpoint(url, "reader", seconds=0.3), Breaker(Ticks()), tokens=10)
        try:
            with pytest.raises(MinutebookError, match="took too long"):
                door.ask(QUESTION)
        finally:
            over.set()
            dripping.join()


def test_where_nobody_listens_it_is_left_alone_after_some_failures_and_tried_again_later() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ticks = Ticks()
    door = ChatModel(Endpoint(f"http://127.0.0.1:{port}/v1", "reader"), Breaker(ticks), tokens=10)
    for _ in range(3):
        with pytest.raises(MinutebookError, match="does not answer: Connection"):
            door.ask(QUESTION)
    with pytest.raises(MinutebookError, match="left alone"):
        door.ask(QUESTION)
    ticks.now = 61
    with pytest.raises(MinutebookError, match="Connection"):
        door.ask(QUESTION)


def test_an_answer_in_between_sets_the_count_back() -> None:
    bad, good = (500, b""), said("{}")
    with serving(Scripted(bad, bad, good, bad, bad, good)) as script:
        door = model(script)
        for right in (False, False, True, False, False, True):
            if right:
                assert door.ask(QUESTION).text == "{}"
            else:
                with pytest.raises(MinutebookError, match="answered 500"):
                    door.ask(QUESTION)


@pytest.mark.parametrize("url", ["ftp://x/v1", "nonsense", "http://"])
def test_an_address_that_is_none_is_a_bad_setting(url: str) -> None:
    with pytest.raises(MinutebookError) as raised:
        ChatModel(Endpoint(url, "reader"), Breaker(Ticks()), tokens=10).ask(QUESTION)
    assert raised.value.code == "bad_setting"
