"""Server-sent events: who follows the log hears everything that they may hear, once and in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.actors import Role
from minutebook.operations import actors, memories
from minutebook.operations import tokens as passes
from minutebook.surfaces.http import following
from tests.houses import House
from tests.surfaces.serving import Served, exchange


@pytest.fixture
def served(house: House, tmp_path: Path) -> Iterator[Served]:
    with Served(house, tmp_path) as running:
        yield running


class Stream:
    """One follower, read from outside."""

    def __init__(self, served: Served, query: str = "", token: str | None = None, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            named["Authorization"] = f"Bearer {token}"
        named.setdefault("Minutebook-Project", served.house.project)
        self.connection = served.connect(tcp=token is not None)
        self.connection.request("GET", f"/api/events/follow{query}", headers=named)
        self.answer = self.connection.getresponse()
        self.comments = 0

    def next(self) -> dict[str, Any] | None:
        """The next event with its id and type; None at the end."""
        found: dict[str, Any] = {}
        while line := self.answer.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if not name and not value:
                if "data" in found:
                    return {**found, "data": json.loads(found["data"])}
                found = {}
            elif line.startswith(b":"):
                self.comments += 1
            else:
                found[name] = value
        return None

    def take(self, count: int) -> list[dict[str, Any]]:
        found = [self.next() for _ in range(count)]
        assert None not in found
        return [event for event in found if event is not None]

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self.connection.close()


def _last(served: Served) -> int:
    return served.ask("GET", "/api/events?limit=1").json["items"][0]["seq"]


def test_a_follower_hears_what_is_written_in_the_order_of_the_log(served: Served) -> None:
    with Stream(served) as stream:
        assert stream.answer.status == 200
        assert stream.answer.getheader("content-type") == "text/event-stream; charset=utf-8"
        for number in range(5):
            served.house.ripley(memories.write, type="learning", content=f"Something new, number {number}.")
        heard = stream.take(5)
    assert [event["event"] for event in heard] == ["memory.added"] * 5
    numbers = [int(event["id"]) for event in heard]
    assert numbers == sorted(numbers)
    assert [event["data"]["seq"] for event in heard] == numbers
    listed = served.ask("GET", f"/api/events?follow=true&after={numbers[0] - 1}").json["items"]
    assert [event["data"] for event in heard] == listed


def test_a_follower_begins_where_it_says(served: Served) -> None:
    served.house.ripley(memories.write, type="learning", content="Before anybody followed.")
    last = _last(served)
    with Stream(served, "?after=0") as stream:
        everything = served.ask("GET", "/api/events?follow=true&limit=500").json["items"]
        assert [event["data"] for event in stream.take(len(everything))] == everything
    with Stream(served, f"?after={last - 1}") as stream:
        assert stream.take(1)[0]["id"] == str(last)


def test_a_client_that_was_cut_off_goes_on_from_the_last_it_saw(served: Served) -> None:
    for number in range(3):
        served.house.ripley(memories.write, type="learning", content=f"Fact {number}, and no other.")
    last = _last(served)
    with Stream(served, "?after=0", Last_Event_ID=str(last - 2)) as stream:
        assert [event["id"] for event in stream.take(2)] == [str(last - 1), str(last)]


def test_a_follower_hears_only_of_what_it_asked_for_and_may_see(served: Served) -> None:
    elsewhere = served.house.new_project("Sulaco")
    token = served.token("agent", "Bishop")
    with Stream(served, "?kind=memory", token=token) as stream:
        served.house.as_("Mother", project=elsewhere)(memories.write, type="learning", content="Not for you.")
        served.house.mother(actors.add, name="Hicks")
        served.house.ripley(memories.write, type="learning", content="My own secret garden.", slug="garden")
        served.house.mother(memories.write, type="project", content="For everybody.", slug="all")
        heard = stream.take(2)
    assert [event["data"]["project"] for event in heard] == [served.house.project] * 2
    assert "slug" not in heard[0]["data"]["detail"]
    assert heard[1]["data"]["detail"]["slug"] == "all"
    assert "garden" not in json.dumps(heard)


def test_followers_miss_nothing_that_many_write_at_once(served: Served) -> None:
    with Stream(served) as first, Stream(served) as second:
        began = _last(served)

        def write(number: int) -> None:
            for turn in range(10):
                content = f"Fact number {turn} that writer {number} found out."
                served.ask("POST", "/api/memories", {"type": "learning", "content": content})

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        heard = [[int(event["id"]) for event in stream.take(60)] for stream in (first, second)]
        for thread in threads:
            thread.join()
    assert heard[0] == heard[1] == sorted(set(heard[0]))
    assert heard[0][0] > began


def test_silence_is_broken_now_and_then(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    door = served.app._app  # type: ignore[attr-defined]
    monkeypatch.setattr(door._following, "_heartbeat", 0.05)
    with Stream(served) as stream:
        while b"still here" not in stream.answer.readline():
            pass


def test_a_stream_ends_when_its_token_is_revoked(served: Served) -> None:
    token = served.token("viewer", "Jones")
    with Stream(served, token=token) as stream:
        (line,) = served.house.mother(passes.list_).items
        served.house.mother(passes.revoke, id=line.id, reason="no more")
        said: list[Any] = []
        while (event := stream.next()) is not None:
            said.append(event)
    assert said[-1]["event"] == "error"
    assert said[-1]["data"]["code"] == "bad_token"


def test_a_stream_ends_when_its_actor_is_retired(served: Served) -> None:
    with Stream(served, Minutebook_Actor="Jones") as stream:
        served.house.mother(actors.edit, name="jones", role=Role.AGENT)
        assert stream.take(1)[0]["event"] == "actor.edited"
        served.house.mother(actors.retire, name="jones")
        last = list(iter(stream.next, None))[-1]
    assert (last["event"], last["data"]["code"]) == ("error", "not_allowed")


def test_streams_end_cleanly_with_the_service(served: Served) -> None:
    streams = [Stream(served) for _ in range(5)]
    ended = threading.Thread(target=served.end)
    ended.start()
    for stream in streams:
        assert stream.next() is None  # the end of the last chunk, and no broken connection
        stream.connection.close()
    ended.join(20)
    assert not ended.is_alive()


def test_a_follower_that_hangs_up_leaves_its_place(served: Served) -> None:
    assert served.reach.observer.gauge("followers") == 0
    with Stream(served), Stream(served):
        assert served.reach.observer.gauge("followers") == 2
    pause = threading.Event()
    for _ in range(1000):
        if served.reach.observer.gauge("followers") == 0:
            break
        pause.wait(0.01)
    assert served.reach.observer.gauge("followers") == 0


def test_there_are_so_many_followers_and_no_more(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_FOLLOWERS", 3)
    streams = [Stream(served) for _ in range(3)]
    late = served.ask("GET", "/api/events/follow")
    assert (late.status, late.code) == (503, "overloaded")
    assert late.headers["retry-after"] == "10"
    for stream in streams:
        stream.answer.close()
        stream.connection.close()


def test_what_a_follower_may_not_ask_is_refused_before_the_stream(served: Served) -> None:
    for query, code in (
        ("?after=x", "invalid_input"),
        ("?limit=5", "invalid_input"),
        ("?after=1&after=2", "invalid_input"),
        ("?after=-1", "invalid_input"),
    ):
        assert served.ask("GET", f"/api/events/follow{query}").code == code, query
    assert served.ask("GET", "/api/events/follow", headers={"Last-Event-ID": "x"}).code == "invalid_input"
    assert served.ask("GET", "/api/events/follow", project=None).code == "no_project"
    assert served.ask("POST", "/api/events/follow", {}).code == "wrong_method"
    assert served.ask("HEAD", "/api/events/follow").status == 200


def test_a_connection_that_followed_nothing_serves_the_next_request(served: Served) -> None:
    connection = served.connect()
    headers = {"Minutebook-Project": served.house.project}
    assert exchange(connection, "GET", "/api/events/follow?after=x", headers=headers).status == 400
    assert exchange(connection, "GET", "/api/inbox", headers=headers).status == 200
    connection.close()
