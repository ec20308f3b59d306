"""Providers in processes of their own: asked, timed, left alone when they fail, and gone when they are disabled."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minutebook.ledger import providers as kept
from minutebook.minds.provided import ProvidedEmbedder
from minutebook.minds.providing import Hosted, Terms
from minutebook.model.asking import Question
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Purpose
from minutebook.model.providers import Declared, Enabled, Kind
from tests.houses import House
from tests.packages import unpacked, wheel

CODE = """
import os, sys, time
print("loaded", flush=True)                      # what it prints is no answer
LOADED = os.environ.get("ACME_LOADED")
if LOADED:
    open(LOADED, "a").write("x")

class Embedder:
    name, dimensions = "hashing", 3
    def embed(self, texts, purpose):
        print("noise")
        rows = []
        for text in texts:
            if text == "hang":
                time.sleep(600)
            if text == "die":
                os._exit(9)
            if text == "raise":
                raise RuntimeError("a secret of " + text)
            if text == "refuse":
                raise ValueError("too strange")
            if text == "short":
                return []
            if text == "nan":
                return [[float("nan")] * 3]
            if text == "wide":
                return [[1.0] * 4]
            if text == "words":
                return [["a", "b", "c"]]
            rows.append([float(len(text)), 3.0, 4.0])
        return rows

class Model:
    name = "parrot"
    def ask(self, task, material, schema, tokens):
        return {"text": material.upper(), "tokens_in": 7, "tokens_out": 2}

class Broken:
    def __init__(self):
        raise RuntimeError("no licence found")
"""


@pytest.fixture
def engine() -> str:
    """What is enabled is read from a ledger of either engine (tests/operations); the processes know of none."""
    return "sqlite"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    made = wheel(
        folder, "acme-memory", "1.2", CODE,
        {
            "minutebook.embedders": {"Hashing": "Embedder"},
            "minutebook.models": {"parrot": "Model", "broken": "Broken"},
        },
    )  # fmt: skip
    return unpacked(made, folder / "site")


class Ticks:
    """Seconds that pass by themselves, and as many more as a test says."""

    def __init__(self) -> None:
        import time

        self._real, self.more = time.monotonic, 0.0

    def __call__(self) -> float:
        return self._real() + self.more


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def hosted(
    house: House, installed: Path, tmp_path: Path, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hosted]:
    monkeypatch.syspath_prepend(str(installed))
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(installed),
        "ACME_LOADED": str(tmp_path / "loaded"),
    }
    made = Hosted(Terms(sys.executable, environment, "/", seconds=20.0, failures=3, pause=30.0), ticks)
    made.follow(house.service.database)
    yield made
    made.close()


def one(hosted: Hosted, name: str) -> Declared:
    return next(each for each in hosted.declared() if each.name == name)


def enable(house: House, hosted: Hosted, name: str) -> Declared:
    found = one(hosted, name)
    on = Enabled(found.kind, found.name, found.package, found.target, "kim", "2026-01-01")
    house.service.database.write("global", lambda tx: kept.enable(tx, on))
    hosted.refresh()
    return found


def disable(house: House, hosted: Hosted, found: Declared) -> None:
    house.service.database.write("global", lambda tx: kept.disable(tx, found.kind, found.name))
    hosted.refresh()


def embed(hosted: Hosted, found: Declared, *texts: str, purpose: Purpose = Purpose.PASSAGE) -> np.ndarray:
    return ProvidedEmbedder(found, hosted).embed(texts, purpose)


def failure(hosted: Hosted, found: Declared, text: str) -> str:
    with pytest.raises(MinutebookError) as raised:
        embed(hosted, found, text)
    assert raised.value.code == "no_provider", raised.value
    assert "secret" not in raised.value.message
    return raised.value.message


def test_what_is_installed_is_known_and_nothing_of_it_is_loaded(hosted: Hosted, tmp_path: Path) -> None:
    found = {(each.kind, each.name, each.package, each.version) for each in hosted.declared()}
    assert {
        (Kind.EMBEDDER, "hashing", "acme-memory", "1.2"),
        (Kind.MODEL, "parrot", "acme-memory", "1.2"),
    } <= found
    assert hosted.usable(Kind.EMBEDDER) == ()
    assert (hosted.embedder(), hosted.model()) == (None, None)
    with pytest.raises(MinutebookError, match="not enabled"):
        hosted.describe(one(hosted, "hashing"))
    assert not (tmp_path / "loaded").exists()


def test_an_embedder_gives_vectors_of_length_one_and_stays_for_the_next(house: House, hosted: Hosted) -> None:
    found = enable(house, hosted, "hashing")
    rows = embed(hosted, found, "four", "fourteen words")
    assert rows.shape == (2, 3)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    first = hosted.pulse(found).pid
    embed(hosted, found, "again")
    assert (hosted.pulse(found).pid, first is not None) == (first, True)


def test_a_provider_that_hangs_is_killed_when_its_time_is_over(house: House, hosted: Hosted) -> None:
    found = enable(house, hosted, "hashing")
    embed(hosted, found, "well")
    before = hosted.pulse(found).pid
    assert before is not None
    with pytest.raises(MinutebookError, match="did not answer in its time") as raised:
        hosted.ask(found, 0.2, texts=["hang"], purpose="passage")
    assert raised.value.code == "no_provider"
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    assert embed(hosted, found, "well").shape == (1, 3)
    assert hosted.pulse(found).failures == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("die", "it ended in the middle of it"),
        ("raise", "it raised RuntimeError"),
        ("short", "other vectors"),
        ("wide", "other vectors"),
        ("nan", "it raised TypeError"),
        ("words", "it raised ValueError"),
    ],
)
def test_what_is_no_answer_is_a_failure_and_costs_only_itself(
    house: House, hosted: Hosted, text: str, fault: str
) -> None:
    found = enable(house, hosted, "hashing")
    if text == "words":
        # What cannot be made a number raises what refusing a text raises, and is taken for that.
        with pytest.raises(MinutebookError) as raised:
            embed(hosted, found, text)
        assert raised.value.code == "invalid_input"
    else:
        assert fault in failure(hosted, found, text)
        assert hosted.pulse(found).failures == 1
    assert embed(hosted, found, "well").shape == (1, 3)


def test_a_text_that_it_does_not_take_is_no_failure_of_its_own(house: House, hosted: Hosted) -> None:
    found = enable(house, hosted, "hashing")
    for _ in range(4):
        with pytest.raises(MinutebookError) as raised:
            embed(hosted, found, "refuse")
        assert raised.value.code == "invalid_input"
        assert "strange" not in raised.value.message
    assert hosted.pulse(found).failures == 0


def test_after_some_failures_it_is_left_alone_and_tried_again_after_a_while(
    house: House, hosted: Hosted, ticks: Ticks
) -> None:
    found = enable(house, hosted, "hashing")
    embedder = ProvidedEmbedder(found, hosted)
    for _ in range(3):
        with pytest.raises(MinutebookError):
            embedder.embed(["raise"], Purpose.PASSAGE)
    pulse = hosted.pulse(found)
    assert (pulse.failures, pulse.resting > 0, pulse.fault) == (3, True, "it raised RuntimeError")
    with pytest.raises(MinutebookError, match="left alone for a while; last, it raised RuntimeError"):
        embedder.embed(["well"], Purpose.PASSAGE)
    ticks.more += 31
    assert embedder.embed(["well"], Purpose.PASSAGE).shape == (1, 3)
    assert (hosted.pulse(found).failures, hosted.pulse(found).resting) == (0, 0.0)


def test_disabling_ends_what_is_being_asked_at_once(house: House, hosted: Hosted) -> None:
    found = enable(house, hosted, "hashing")
    embed(hosted, found, "well")
    said: list[str] = []

    def wait() -> None:
        try:
            hosted.ask(found, texts=["hang"], purpose="passage")
        except MinutebookError as error:
            said.append(error.message)

    waiting = threading.Thread(target=wait)
    waiting.start()
    disable(house, hosted, found)
    waiting.join(10)
    assert not waiting.is_alive()
    assert said == ["hashing was disabled meanwhile."] or "not enabled" in said[0]
    assert hosted.pulse(found).pid is None
    with pytest.raises(MinutebookError, match="not enabled"):
        hosted.describe(found)


def test_another_process_that_disables_it_is_noticed(house: House, hosted: Hosted, ticks: Ticks) -> None:
    found = enable(house, hosted, "hashing")
    assert hosted.usable(Kind.EMBEDDER) == (found,)
    house.service.database.write("global", lambda tx: kept.disable(tx, found.kind, found.name))
    assert hosted.keep_up() > 0
    ticks.more += 6
    hosted.keep_up()
    assert hosted.usable(Kind.EMBEDDER) == ()


def test_a_model_answers_and_tells_what_it_cost(house: House, hosted: Hosted) -> None:
    enable(house, hosted, "parrot")
    model = hosted.model()
    assert model is not None
    answer = model.ask(Question("repeat", "some words", "findings", {}))
    assert (model.name, answer.text, answer.tokens_in, answer.tokens_out) == (
        "acme-memory:parrot", "SOME WORDS", 7, 2,
    )  # fmt: skip


def test_what_cannot_even_start_says_why_when_it_is_tried_out(hosted: Hosted) -> None:
    with pytest.raises(MinutebookError, match="RuntimeError: no licence found"):
        hosted.try_out(one(hosted, "broken"))
    assert hosted.try_out(one(hosted, "hashing")) == "3 dimensions"
    assert hosted.try_out(one(hosted, "parrot")) == "it answers"
