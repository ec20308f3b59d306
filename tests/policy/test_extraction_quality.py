"""How well the rules find what is worth keeping: measured on turns that were labelled before the rules were written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from minutebook.model.memories import Type
from minutebook.policy.extraction.extract import extract
from minutebook.policy.extraction.worth import Worth

LABELLED = Path(__file__).parent / "labelled" / "turns.tsv"
#: Turns that hold a phrase of the rules and mean something else.
NEAR = Path(__file__).parent / "labelled" / "near_misses.tsv"
KINDS = {worth.type: worth.value for worth in Worth} | {Type.SCOPE: "decision"}
NAMES = {"user": "Sebas", "assistant": "Assistant", "tool": "Tool"}
NOTHING = "-"


@dataclass(frozen=True)
class Labelled:
    kind: str
    role: str
    words: str


def labelled(file: Path = LABELLED) -> list[Labelled]:
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [Labelled(kind, role, words.replace("\\n", "\n")) for kind, role, words in rows]


def found(turn: Labelled) -> list[str]:
    """What is found in a turn, as in a chat of several."""
    chat = f"Someone: hello there\n{NAMES[turn.role]}: {turn.words}\nSomeone: bye then"
    return [KINDS[finding.type] for finding in extract(chat).findings]


def test_the_labelled_turns_are_many_and_most_of_them_say_nothing_worth_keeping() -> None:
    turns = labelled()
    assert len(turns) >= 300
    assert len({turn.words for turn in turns}) == len(turns)
    assert sum(turn.kind == NOTHING for turn in turns) > len(turns) / 2
    assert {turn.kind for turn in turns} == {NOTHING, *Worth}


@pytest.mark.parametrize(("half", "part"), [("tuned", 0), ("held out", 1)])
def test_what_is_proposed_is_right_in_four_of_five_cases_and_more_than_half_is_found(
    half: str, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = labelled()[part::2]
    proposed = [(turn, kind) for turn in turns for kind in found(turn)]
    right = sum(turn.kind == kind for turn, kind in proposed)
    worth = [turn for turn in turns if turn.kind != NOTHING]
    noticed = sum(bool(found(turn)) for turn in worth)
    precision, recall = right / len(proposed), noticed / len(worth)
    with capsys.disabled():
        print(
            f"\n  {half}: {len(turns)} turns, {len(proposed)} proposed, precision {precision:.2f}, recall {recall:.2f}"
        )
    assert precision >= 0.8
    assert recall >= 0.5


def test_no_kind_is_found_by_chance_alone() -> None:
    turns = labelled()
    for worth in Worth:
        of_kind = [turn for turn in turns if turn.kind == worth]
        assert sum(worth in found(turn) for turn in of_kind) >= len(of_kind) / 2, worth


def test_near_misses_are_mostly_let_pass_and_what_stands_between_them_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    turns = labelled(NEAR)
    proposed = [(turn, kind) for turn in turns for kind in found(turn)]
    precision = sum(turn.kind == kind for turn, kind in proposed) / len(proposed)
    worth = [turn for turn in turns if turn.kind != NOTHING]
    missed = [turn for turn in turns if turn.kind == NOTHING]
    recall = sum(bool(found(turn)) for turn in worth) / len(worth)
    taken_in = sum(bool(found(turn)) for turn in missed) / len(missed)
    with capsys.disabled():
        print(
            f"\n  near misses: {len(turns)} turns, {len(proposed)} proposed, precision {precision:.2f}, "
            f"recall {recall:.2f}, taken in by {taken_in:.1%} of {len(missed)}"
        )
    assert len(missed) > 2 * len(worth)
    assert precision >= 0.8
    assert recall >= 0.5
