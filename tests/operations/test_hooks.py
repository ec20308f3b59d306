"""Hosts that call: what they may say, and what they are told."""

from __future__ import annotations

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.model.hooks import HookAnswer, HookEvent
from minutebook.operations import context, decisions, events, hooks, inbox, memories, projects
from minutebook.operations.registry import REGISTRY
from tests.houses import House
from tests.operations.asking import code


def test_a_host_is_heard_in_its_project_and_told_nothing_where_there_is_nothing_to_say(house: House) -> None:
    before = len(house.mother(events.list_, limit=1000).items)
    for event in HookEvent:
        answer = house.ripley(hooks.receive, event=event, host="claude-code", session="5f3a", cwd="/src")
        assert answer == HookAnswer(event=event, host="claude-code", project="nostromo", context=None)
    # It is no change of anything, so the log of changes knows nothing of it.
    assert len(house.mother(events.list_, limit=1000).items) == before


def test_an_agent_that_begins_is_told_its_context_and_a_subagent_the_boundaries(house: House) -> None:
    house.mother(
        decisions.write, type="scope", title="No page", content="There is no web page.", slug="no-page"
    )
    house.ripley(memories.write, type="core_context", content="I look after the importer.", slug="mine")
    house.bishop(inbox.submit, type="process", title="Tea", content="Tea at four.", slug="tea")

    def told(event: HookEvent, who: str = "Ripley") -> str:
        return house.as_(who)(hooks.receive, event=event, host="codex").context or ""

    begins = told(HookEvent.SESSION_START)
    assert begins == house.ripley(context.context).text
    assert "There is no web page." in begins
    assert "I look after the importer." in begins
    child = told(HookEvent.SUBAGENT_START)
    assert "There is no web page." in child
    assert "importer" not in child
    assert told(HookEvent.STOP) == told(HookEvent.SESSION_END) == ""
    # Only who may review hears what waits.
    assert told(HookEvent.SESSION_START, "Dallas") == house.dallas(context.context, inbox=True).text
    assert told(HookEvent.SESSION_START, "Dallas") != house.dallas(context.context).text


def test_a_host_outside_of_any_project_is_heard_too(house: House) -> None:
    outside = house.as_("Ripley")
    outside.project = None
    assert outside(hooks.receive, event=HookEvent.STOP, host="codex").project is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"event": "tool-use", "host": "codex"}, "invalid_input"),
        ({"event": "stop"}, "invalid_input"),
        ({"event": "stop", "host": "a\nb"}, "bad_name"),
        ({"event": "stop", "host": " "}, "bad_name"),
        ({"event": "stop", "host": "x" * 101}, "too_large"),
        ({"event": "stop", "host": "codex", "session": "x" * 301}, "too_large"),
        ({"event": "stop", "host": "codex", "prompt": "x"}, "invalid_input"),
    ],
)
def test_what_is_not_understood_is_refused(house: House, arguments: dict[str, str], expected: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        house.ripley.invoke(REGISTRY.get("hooks.receive"), arguments)
    assert refused.value.code == expected


def test_a_viewer_is_no_host_and_an_archived_project_hears_nothing(house: House) -> None:
    assert code(house.jones, hooks.receive, event=HookEvent.STOP, host="codex") == "not_allowed"
    house.mother(projects.archive, ref="nostromo")
    assert code(house.ripley, hooks.receive, event=HookEvent.STOP, host="codex") == "bad_transition"
