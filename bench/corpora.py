"""The corpora of the search benchmark, read from where they lie: they are never copied into the project."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

DATA = Path(os.environ.get("MINUTEBOOK_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
#: LoCoMo's categories; questions of the fifth are made so that nothing answers them.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said in a talk."""

    id: str
    session: int
    at: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what answers it."""

    text: str
    gold: frozenset[str]
    kind: str


@dataclass(frozen=True, slots=True)
class Talk:
    """One long conversation of two people over many sessions."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    title: str
    body: str


def talks() -> list[Talk]:
    """The conversations of LoCoMo that are here."""
    found = []
    for number, raw in enumerate(json.loads((DATA / "locomo" / "locomo_first5.json").read_text("utf-8"))):
        said = raw["conversation"]
        turns = []
        session = 1
        while f"session_{session}" in said:
            at = _time(said[f"session_{session}_date_time"])
            for turn in said[f"session_{session}"]:
                caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                turns.append(Turn(turn["dia_id"], session, at, turn["speaker"], turn["text"] + caption))
            session += 1
        known = {turn.id for turn in turns}
        questions = []
        for asked in raw["qa"]:
            gold = frozenset(asked["evidence"]) & known
            if asked["category"] in CATEGORIES and gold:
                questions.append(Question(asked["question"], gold, CATEGORIES[asked["category"]]))
        found.append(Talk(f"talk-{number}", tuple(turns), tuple(questions)))
    return found


def decisions() -> tuple[list[Document], list[Question]]:
    """Real decision documents, and queries that one of them answers."""
    documents = json.loads((DATA / "decisions" / "decisions.json").read_text("utf-8"))
    queries = json.loads((DATA / "decisions" / "queries.json").read_text("utf-8"))
    return (
        [Document(one["id"], one["title"], one["body"]) for one in documents],
        [Question(one["q"], frozenset(one["gold"]), one["kind"]) for one in queries],
    )


def _time(text: str) -> str:
    """`1:56 pm on 8 May, 2023`, as we write times."""
    read = datetime.strptime(re.sub(r"\s+", " ", text.replace(",", "")).strip(), "%I:%M %p on %d %B %Y")
    return read.strftime("%Y-%m-%dT%H:%M:%SZ")
