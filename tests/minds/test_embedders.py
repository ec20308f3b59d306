"""Embedders: texts in, vectors of one space out, whatever the model's files say of padding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minutebook.minds.cards import read_card
from minutebook.minds.embedders import Joined
from minutebook.minds.models import LocalChoice, Shelf, list_, names_in_use, place, remove, use
from minutebook.minds.onnx_embedder import OnnxEmbedder
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Purpose
from tests.minds import tiny


@pytest.fixture
def embedder(tmp_path: Path) -> OnnxEmbedder:
    card = tiny.folder(tmp_path / "tiny")
    return OnnxEmbedder(tmp_path / "tiny", card, threads=1)


def test_a_text_becomes_a_vector_of_length_one_near_those_that_mean_the_same(embedder: OnnxEmbedder) -> None:
    cache, redis, login = embedder.embed(["the cache", "redis!", "a login"], Purpose.PASSAGE)
    assert np.linalg.norm(cache) == pytest.approx(1, abs=1e-5)
    assert cache @ redis > 0.9
    assert cache @ login < 0.6


def test_a_text_has_the_same_vector_alone_and_among_longer_ones(embedder: OnnxEmbedder) -> None:
    alone = embedder.embed(["redis"], Purpose.PASSAGE)[0]
    texts = ["redis", *(f"deploy the {'database ' * size}" for size in range(1, 90))]
    assert np.allclose(embedder.embed(texts, Purpose.PASSAGE)[0], alone, atol=1e-6)


def test_texts_come_back_in_the_order_in_which_they_were_given(embedder: OnnxEmbedder) -> None:
    words = [word for line in tiny.MEANINGS for word in line.split()]
    texts = [f"{word} " * (1 + index * 7 % 40) for index, word in enumerate(words)]
    singly = np.stack([embedder.embed([text], Purpose.PASSAGE)[0] for text in texts])
    assert np.allclose(embedder.embed(texts, Purpose.PASSAGE), singly, atol=1e-5)


def test_an_empty_text_and_one_of_unknown_words_have_a_vector_too(embedder: OnnxEmbedder) -> None:
    rows = embedder.embed(["", "zzz qqq", "漢字"], Purpose.QUERY)
    assert rows.shape == (3, tiny.WIDTH)
    assert np.isfinite(rows).all()


def test_a_text_beyond_what_the_model_takes_is_cut_off(embedder: OnnxEmbedder) -> None:
    whole, cut = embedder.embed(["redis " * 128 + "login " * 5_000, "redis " * 128], Purpose.PASSAGE)
    assert np.allclose(whole, cut, atol=1e-5)


def test_a_model_whose_bytes_changed_is_refused(tmp_path: Path) -> None:
    card = tiny.folder(tmp_path / "tiny")
    damaged = bytearray((tmp_path / "tiny" / "model.onnx").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "tiny" / "model.onnx").write_bytes(damaged)
    with pytest.raises(MinutebookError, match="not what it was") as caught:
        OnnxEmbedder(tmp_path / "tiny", card, threads=1)
    assert caught.value.code == "bad_model"


def test_a_model_of_another_kind_is_refused_in_our_words(tmp_path: Path) -> None:
    card = tiny.folder(tmp_path / "tiny")
    from dataclasses import replace
    from hashlib import sha256

    (tmp_path / "tiny" / "model.onnx").write_bytes(b"no model")
    wrong = replace(card, model=sha256(b"no model").hexdigest())
    with pytest.raises(MinutebookError, match="cannot be loaded"):
        OnnxEmbedder(tmp_path / "tiny", wrong, threads=1)


# --- several as one ----------------------------------------------------------------------------------


def test_the_likeness_of_joined_vectors_is_the_weighted_mean_of_the_likenesses_of_their_parts(
    tmp_path: Path,
) -> None:
    parts = []
    for name, seed, weight in (("one", 1, 3.0), ("two", 2, 1.0)):
        card = tiny.folder(tmp_path / name, seed=seed, name=name, weight=weight, width=16 * seed)
        parts.append((OnnxEmbedder(tmp_path / name, card, threads=1), weight))
    joined = Joined(parts)
    assert joined.space.name == "one+two"
    assert joined.space.dimensions == 48
    texts = ["redis cache", "slow login", "deploy the database"]
    whole = joined.embed(texts, Purpose.PASSAGE)
    first, second = (embedder.embed(texts, Purpose.PASSAGE) for embedder, _ in parts)
    assert np.allclose(whole @ whole.T, 0.75 * first @ first.T + 0.25 * second @ second.T, atol=1e-5)


# --- spaces --------------------------------------------------------------------------------------------


def test_a_space_is_another_for_other_weights_another_tokenizer_or_other_words_before_a_text(
    tmp_path: Path,
) -> None:
    from dataclasses import replace

    card = tiny.folder(tmp_path / "tiny")
    others = [
        replace(card, model="0" * 64),
        replace(card, tokenizer="0" * 64),
        replace(card, passage="passage: "),
        replace(card, max_tokens=64),
    ]
    assert len({one.digest for one in (card, *others)}) == 5
    assert replace(card, licence="MIT", name="other").digest == card.digest


def test_the_space_of_a_home_is_known_without_loading_its_model(tmp_path: Path) -> None:
    tiny.install(tmp_path)
    code = (
        "import sys; from pathlib import Path; from minutebook.minds.models import Shelf\n"
        f"print(Shelf(Path({str(tmp_path)!r}), 1).choose().space.id)\n"
        "assert not {'numpy', 'onnxruntime', 'tokenizers'} & sys.modules.keys()"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == Shelf(tmp_path, 1).choose().open().space.id


def test_embedding_never_imports_the_hub_that_the_tokenizers_bring(tmp_path: Path) -> None:
    tiny.install(tmp_path)
    code = (
        "import sys; from pathlib import Path; from minutebook.minds.models import Shelf\n"
        "from minutebook.model.meaning import Purpose\n"
        f"Shelf(Path({str(tmp_path)!r}), 1).choose().open().embed(['redis'], Purpose.QUERY)\n"
        "assert not {'huggingface_hub', 'torch', 'transformers'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_local_model_reports_to_nobody(tmp_path: Path) -> None:
    """ONNX Runtime does by default, and leaves an identifier in the home; not where it believes to be tested."""
    tiny.install(tmp_path / "models")
    home = tmp_path / "somebody"
    home.mkdir()
    code = (
        "from pathlib import Path; from minutebook.minds.models import Shelf\n"
        "from minutebook.model.meaning import Purpose\n"
        f"Shelf(Path({str(tmp_path / 'models')!r}), 1).choose().open().embed(['redis'], Purpose.QUERY)\n"
    )
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(home.rglob("*")) == []


# --- the models of a home --------------------------------------------------------------------------------


def test_a_home_without_a_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MinutebookError) as caught:
        Shelf(tmp_path, 1).choose()
    assert caught.value.code == "no_model"
    assert caught.value.details["hint"] == "minutebook models add"
    assert list_(tmp_path) == []


def test_a_model_that_is_added_removed_or_exchanged_counts_from_the_next_look_on(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, 1)
    tiny.install(tmp_path)
    first = shelf.choose()
    assert shelf.choose() is first
    tiny.install(tmp_path, seed=2, name="other")
    second = shelf.choose()
    assert isinstance(second, LocalChoice)
    assert second.space.id != first.space.id
    remove(tmp_path, "other")
    with pytest.raises(MinutebookError):
        shelf.choose()
    use(tmp_path, ["tiny"])
    assert shelf.choose().space == first.space


def test_removing_a_model_that_is_not_there_removes_nothing(tmp_path: Path) -> None:
    tiny.install(tmp_path)
    for name in ("other", "../tiny", "."):
        with pytest.raises(MinutebookError):
            remove(tmp_path, name)
    assert names_in_use(tmp_path) == ("tiny",)
    assert read_card(place(tmp_path) / "tiny").name == "tiny"


def test_a_list_of_models_that_cannot_be_read_is_said_and_not_taken_for_none(tmp_path: Path) -> None:
    tiny.install(tmp_path)
    (place(tmp_path) / "in-use.json").write_text("{", "utf-8")
    with pytest.raises(MinutebookError, match="cannot be read"):
        Shelf(tmp_path, 1).choose()
