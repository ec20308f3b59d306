"""Models, from outside: without one search says so; with one it finds by meaning; getting one never half-succeeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.minds import models
from tests.minds import tiny
from tests.surfaces.services import Served, until


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "work").mkdir()
    made = Served(tmp_path / "home", tmp_path / "work", MINUTEBOOK_PORT="0")
    yield made
    made.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model as somebody brings it: two files."""
    place = tmp_path / "brought"
    place.mkdir()
    (place / "model.onnx").write_bytes(tiny.model())
    (place / "tokenizer.json").write_bytes(tiny.tokenizer())
    return place


def test_without_a_model_search_finds_by_words_and_says_what_is_missing(served: Served) -> None:
    served.ok("memories", "write", "project", "We chose no redis.")
    assert served("models", "list").out.startswith("No model is installed")
    assert served.ok("models", "list") == []
    found = served.ok("search", "redis")
    assert [hit["title"] for hit in found["hits"]] == ["We chose no redis."]
    assert "minutebook models add" in str(found)
    assert "minutebook models add" in served.ok("health")["meaning"]["absent"]


def test_a_model_that_is_added_to_a_running_service_finds_by_meaning(served: Served, folder: Path) -> None:
    served.ok("memories", "write", "project", "We chose no redis.")
    served.ok("memories", "write", "project", "The gateway drops large bodies.")
    added = served.ok("models", "add", "--folder", str(folder), "--name", "tiny")
    assert [model["name"] for model in added] == ["tiny"]
    until(lambda: served.ok("health")["meaning"]["missing"] == 0, "everything is embedded")
    assert served.ok("health")["meaning"]["space"].startswith("tiny@")
    found = served.ok("search", "memcached")
    assert found["hits"][0]["title"] == "We chose no redis."
    assert served.ok("search", "router")["hits"][0]["title"] == "The gateway drops large bodies."
    served.ok("models", "remove", "tiny")
    assert served.ok("search", "memcached")["hits"] == []


def test_without_a_service_vectors_are_built_when_that_is_asked_for(served: Served, folder: Path) -> None:
    never = {"MINUTEBOOK_SERVICE": "never"}
    served.ok("memories", "write", "project", "We chose no redis.", **never)
    refused = served("reindex", "--vectors", "-o", "json", **never)
    assert refused.error()["code"] == "no_model"
    served.ok("models", "add", "--folder", str(folder))
    early = served.ok("search", "memcached", **never)
    assert "reindex --vectors" in str(early)
    health = served.ok("health", **never)
    assert any("reindex --vectors" in finding["advice"] for finding in health["findings"])
    assert served.ok("reindex", "--vectors", **never)["vectors_made"] == 1
    assert served.ok("search", "memcached", **never)["hits"][0]["title"] == "We chose no redis."


def test_a_model_that_pip_cannot_fetch_is_an_error_that_leaves_everything_as_it_was(
    served: Served, folder: Path
) -> None:
    served.ok("models", "add", "--folder", str(folder), "--name", "tiny")
    done = served("models", "add", "-o", "json", PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.error()["code"] == "no_model"
    assert done.code == 8
    assert models.names_in_use(served.home) == ("tiny",)
    assert sorted(path.name for path in models.place(served.home).iterdir()) == ["in-use.json", "tiny"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "gpt"), "not_found"),
        (("remove", "tiny"), "not_found"),
        (("add", "--folder", "{empty}"), "bad_model"),
        (("add", "--folder", "{broken}"), "bad_model"),
        (("add", "--folder", "{broken}", "--name", "../up"), "bad_name"),
    ],
)
def test_what_is_no_model_is_refused(
    served: Served, folder: Path, tmp_path: Path, words: tuple[str, ...], code: str
) -> None:
    (tmp_path / "empty").mkdir()
    (folder / "model.onnx").write_bytes(b"nothing")
    named = {"empty": str(tmp_path / "empty"), "broken": str(folder)}
    assert served("models", *(word.format(**named) for word in words), "-o", "json").error()["code"] == code
    assert models.names_in_use(served.home) == ()
