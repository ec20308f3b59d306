"""A read that was just answered: the same answer again, until anything changes for whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.operations import actors, memories, projects, tokens
from minutebook.service import Service
from tests.conftest import Clock
from tests.houses import House
from tests.surfaces.services import until
from tests.surfaces.serving import Reply, Served


@pytest.fixture
def served(house: House, tmp_path: Path) -> Iterator[Served]:
    with Served(house, tmp_path) as running:
        yield running


@pytest.fixture
def memory(house: House) -> str:
    made = house.mother(memories.write, type="learning", content="The airlock sticks.", slug="airlock")
    return f"/api/memories/{made.memory}"


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often the ledger was asked to show something."""
    count = 0
    invoke = Service.invoke

    def counting(self: Service, operation: Any, *given: Any, **named: Any) -> Any:
        nonlocal count
        count += operation.name == "memories.show"
        return invoke(self, operation, *given, **named)

    monkeypatch.setattr(Service, "invoke", counting)
    return lambda: count


def said(reply: Reply) -> tuple[int, bytes, str | None]:
    return reply.status, reply.body, reply.headers.get("etag")


def test_the_same_read_is_carried_out_once_between_two_writes(
    served: Served, memory: str, engine: str, carried_out: Callable[[], int]
) -> None:
    first = served.ask("GET", memory)
    assert said(served.ask("GET", memory)) == said(first)
    assert carried_out() == (1 if engine == "sqlite" else 2)  # PostgreSQL: others may have written
    served.house.mother(memories.edit, ref="airlock", content="It was greased.")
    changed = served.ask("GET", memory)
    assert changed.json["memory"]["content"] == "It was greased."
    assert changed.headers["etag"] != first.headers["etag"]


def test_two_requests_have_two_names(served: Served, memory: str) -> None:
    first, second = served.ask("GET", memory), served.ask("GET", memory)
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_a_reader_who_has_the_answer_and_one_who_has_not_are_told_apart(served: Served, memory: str) -> None:
    tag = served.ask("GET", memory).headers["etag"]
    known = {"If-None-Match": tag}
    assert [served.ask("GET", memory, headers=known).status for _ in range(2)] == [304, 304]
    assert served.ask("GET", memory).status == 200
    assert served.ask("HEAD", memory).body == b""
    assert served.ask("GET", memory).json["memory"]["slug"] == "airlock"


def test_what_was_told_one_is_not_told_another(served: Served, house: House) -> None:
    made = house.ripley(memories.write, type="learning", content="Trust nobody.", scope="agent")
    path = f"/api/memories/{made.memory}"
    ripley, ash = (served.token("agent", name) for name in ("ripley", "ash"))
    assert [served.ask("GET", path, token=ripley).status for _ in range(2)] == [200, 200]
    assert served.ask("GET", path, token=ash).code == "not_found"
    assert served.ask("GET", path, headers={"Minutebook-Agent": "ash"}).code == "not_found"
    assert served.ask("GET", path, headers={"Minutebook-Agent": "ripley"}).status == 200
    assert served.ask("GET", path, tcp=True).code == "no_token"
    other = house.mother(projects.create, name="Sulaco").id
    assert served.ask("GET", path, token=ripley).status == 200
    assert served.ask("GET", path, token=ripley, project=other).code == "other_project"


def test_a_token_that_ends_or_is_taken_away_ends_at_once(
    served: Served, house: House, memory: str, clock: Clock
) -> None:
    short = house.mother(tokens.create, role="agent", agent="ripley", expires="1h")
    assert [served.ask("GET", memory, token=short.secret).status for _ in range(2)] == [200, 200]
    clock.advance(hours=2)
    assert served.ask("GET", memory, token=short.secret).code == "bad_token"
    longer = house.mother(tokens.create, role="agent", agent="ripley", expires="30d")
    assert [served.ask("GET", memory, token=longer.secret).status for _ in range(2)] == [200, 200]
    house.mother(tokens.revoke, id=longer.token.id)
    assert served.ask("GET", memory, token=longer.secret).code == "bad_token"


def test_who_was_retired_is_told_nothing_more(served: Served, house: House, memory: str) -> None:
    asks = {"headers": {"Minutebook-Agent": "ash"}}
    assert [served.ask("GET", memory, **asks).status for _ in range(2)] == [200, 200]
    house.mother(actors.retire, name="Ash")
    assert served.ask("GET", memory, **asks).code == "not_allowed"


def test_every_request_is_accounted_for(served: Served, house: House, memory: str) -> None:
    token = house.mother(tokens.create, role="agent", agent="ripley")
    for _ in range(3):
        served.ask("GET", memory, token=token.secret)
    # The use is noted behind the requests, which never wait for it.
    until(lambda: house.mother(tokens.show, id=token.token.id).last_used_at, "the token's use was noted")
