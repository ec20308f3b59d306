"""Retrieval of others over the same corpora, each in a Python of its own in which it is installed.

`PEERS=basic-memory=/venvs/bm/bin/python,mem0=/venvs/mem0/bin/python python bench/search.py` runs this file with each of
them: texts and questions go in as JSON, the names of what was found come out. What they need beside that is given: mem0
gets the vectors of our model, since it has none of its own; its language model is never asked (`infer=False`).
basic-memory's full-text index is asked through its own repository, one entity for each text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DEPTH = 100


def named() -> dict[str, str]:
    """Which peers are here, each with its Python."""
    given = os.environ.get("PEERS", "")
    return dict(one.split("=", 1) for one in given.split(",") if "=" in one)


def ranked(
    peer: str,
    python: str,
    groups: Sequence[Mapping[str, Any]],
    vectors: Mapping[str, Sequence[float]] | None = None,
) -> list[list[list[str]]]:
    """For each group of texts (id, title, text) and each of its questions, the ids in the peer's order."""
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder:
        given, found = Path(folder) / "given.json", Path(folder) / "found.json"
        given.write_text(json.dumps({"groups": list(groups), "vectors": vectors or {}}), "utf-8")
        done = subprocess.run(
            [python, __file__, peer, str(given), str(found)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{peer} failed: {done.stderr[-2_000:]}")
        return json.loads(found.read_text("utf-8"))


def vectors_of(home: Path, groups: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Every text and every question as our model has them."""
    from minutebook.minds.models import Shelf
    from minutebook.model.meaning import Purpose

    embedder = Shelf(home, 2).choose().open()
    found: dict[str, list[float]] = {}
    texts = {text for group in groups for _, _, text in group["texts"]}
    questions = {question for group in groups for question in group["questions"]}
    for some, purpose in ((texts, Purpose.PASSAGE), (questions, Purpose.QUERY)):
        ordered = sorted(some, key=lambda text: (len(text), text))
        for start in range(0, len(ordered), 16):
            few = ordered[start : start + 16]
            made = embedder.embed(few, purpose)
            found |= {text: [float(value) for value in row] for text, row in zip(few, made, strict=True)}
    return found


# --- in the other Python ---------------------------------------------------------------------------------------


def _basic_memory(given: dict[str, Any], folder: Path) -> list[list[list[str]]]:
    import asyncio
    from datetime import datetime, timezone

    from basic_memory.repository.search_index_row import SearchIndexRow
    from basic_memory.repository.sqlite_search_repository import SQLiteSearchRepository
    from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

    async def run() -> list[list[list[str]]]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{folder}/search.db")
        maker = async_sessionmaker(engine)
        answers = []
        for number, group in enumerate(given["groups"], start=1):
            repository = SQLiteSearchRepository(maker, number)
            await repository.init_search_index()
            now = datetime.now(timezone.utc)  # noqa: UP017 -- a Python of the peer's choosing
            rows = [
                SearchIndexRow(
                    project_id=number, id=place, type="entity", file_path=f"{id}.md", permalink=id, title=title,
                    content_stems=text, content_snippet=text[:250], entity_id=place, created_at=now, updated_at=now,
                )
                for place, (id, title, text) in enumerate(group["texts"], start=1)
            ]  # fmt: skip
            await repository.bulk_index_items(rows)
            answers.append(
                [
                    [str(row.permalink) for row in await repository.search(search_text=question, limit=DEPTH)]
                    for question in group["questions"]
                ]
            )
        await engine.dispose()
        return answers

    return asyncio.run(run())


def _mem0(given: dict[str, Any], folder: Path) -> list[list[list[str]]]:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "none"}
    from mem0 import Memory

    vectors = {text.strip(): vector for text, vector in given["vectors"].items()}
    width = len(next(iter(vectors.values())))

    class Known:
        config = type("Config", (), {"embedding_dims": width})()

        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            del memory_action
            return vectors[text.strip()]

        def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
            return [self.embed(text, memory_action) for text in texts]

    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(folder / "qdrant"), "embedding_model_dims": width},
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = Known()
    answers = []
    for number, group in enumerate(given["groups"]):
        who = f"group-{number}"
        for id, _title, text in group["texts"]:
            memory.add(text, user_id=who, metadata={"name": id}, infer=False)
        answers.append(
            [
                [
                    one["metadata"]["name"]
                    for one in memory.search(question, top_k=DEPTH, filters={"user_id": who}, threshold=0.0)[
                        "results"
                    ]
                ]
                for question in group["questions"]
            ]
        )
    return answers


def main(peer: str, given: str, found: str) -> None:
    said = json.loads(Path(given).read_text("utf-8"))
    run = {"basic-memory": _basic_memory, "mem0": _mem0}[peer]
    Path(found).write_text(json.dumps(run(said, Path(given).parent)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
