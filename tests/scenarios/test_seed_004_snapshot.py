"""Seed 004 (AGH, "Frozen Snapshot And Recall"): what a session is told is frozen when it starts. Over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import context, decisions, memories, runs
from tests.houses import House
from tests.scenarios.over_http import OverHttp, over_http

TASK = "review the deployment script"


@pytest.fixture
def house(house: House) -> Iterator[OverHttp]:
    with over_http(house) as asked:
        yield asked


def started(house: OverHttp, who: str = "ripley", **more: str) -> tuple[str, str]:
    """A run that starts: its id, and what its agent is told."""
    view = getattr(house, who)(runs.start, task=TASK, **more)
    return view.run.id, view.snapshot.bundle.text if view.snapshot.bundle else ""


def told(house: OverHttp, run: str, **more: int) -> str:
    return house.mother(runs.show, ref=run, **more).snapshot.bundle.text


def learn(house: OverHttp, text: str) -> None:
    house.ripley(memories.write, type="learning", content=text, importance="high")


def test_a_snapshot_holds_every_scope_of_the_agent_and_what_a_query_recalls(house: OverHttp) -> None:
    """Global, the project, both tiers of the agent; and, where there is a task, what is found by it."""
    house.mother(memories.write, type="profile", content="Kim reads findings first.", scope="global")
    house.mother(memories.write, type="project", content="The deployment script lives in ops.")
    learn(house, "Of the project: the proxy drops bodies.")
    house.mother(memories.write, type="learning", content="Everywhere: sandboxes have no network.",
                 importance="high", agent="ripley", tier="global")  # fmt: skip
    house.bishop(memories.write, type="learning", content="Of Bishop alone.", importance="high")
    _, text = started(house)
    for words in ("Kim reads", "lives in ops", "the proxy drops", "sandboxes have no network"):
        assert words in text
    assert "Of Bishop alone" not in text


def test_what_a_session_writes_is_durable_at_once_and_told_to_the_next_one(house: OverHttp) -> None:
    learn(house, "Known before.")
    run, before = started(house)
    learn(house, "Found out meanwhile.")
    assert "Found out meanwhile." in house.ripley(context.context).text
    assert told(house, run) == before
    assert "Found out meanwhile." not in before
    house.ripley(runs.finish, ref=run)
    assert told(house, run) == before
    assert "Found out meanwhile." in started(house)[1]


def test_a_reload_is_asked_for_and_what_was_told_before_is_kept(house: OverHttp) -> None:
    """There, a reload answered with a time and changed nothing; ours is a further generation of the run."""
    learn(house, "Known before.")
    run, before = started(house)
    learn(house, "Found out meanwhile.")
    again = house.ripley(runs.reload, ref=run)
    assert again.snapshot.generation == 2
    assert "Found out meanwhile." in again.snapshot.bundle.text
    assert told(house, run) == again.snapshot.bundle.text
    assert told(house, run, generation=1) == before


def test_a_sub_agent_inherits_its_parents_snapshot_and_cannot_change_it(house: OverHttp) -> None:
    """There, a parent's snapshot was never passed on. Ours passes on the boundaries (seed 001), byte for byte."""
    house.dallas(decisions.write, type="scope", title="Range", content="Stay in orbit.")
    parent, above = started(house, "dallas")
    house.dallas(decisions.write, type="scope", title="Later", content="Only for the next one.")
    child, inherited = started(house, "dallas", agent="ripley", parent=parent)
    assert "Stay in orbit." in inherited
    assert above.startswith(inherited)
    shown = house.ripley(runs.show, ref=child).snapshot
    assert (shown.inherited_from, shown.inherited, shown.bundle.text) == (parent, 1, inherited)
    with pytest.raises(MinutebookError) as refused:
        house.ripley(runs.reload, ref=parent)
    assert refused.value.code == "other_agent"
    assert house.ripley(runs.reload, ref=child).snapshot.bundle.text == inherited
    assert told(house, parent) == above
