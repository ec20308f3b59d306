"""Traces of searches: queued by the search, written behind it, kept for a while."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from minutebook.engine import recording
from minutebook.engine.recording import Recording
from minutebook.ledger import searches, signals
from minutebook.model.search import State, Trace
from minutebook.operations import memories, runs, search
from minutebook.operations import searches as past
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code


def recorded(house: House, days: int = 30) -> Recording:
    kept = Recording(house.clock, days=days)
    house.service.world = replace(house.service.world, traces=kept)
    kept.serve(house.service.database, lambda: None)
    return kept


def trace(number: int, project: str) -> Trace:
    return Trace(
        f"01KDVDNA{number:018}", project, "ripley", None, "q", {}, State.EMPTY, "", (), (), (), 1,
        "2026-01-01T00:00:00.000000Z",
    )  # fmt: skip


def test_a_search_leaves_a_trace_that_can_be_looked_at_before_and_after_it_is_written(house: House) -> None:
    kept = recorded(house)
    house.mother(memories.write, type="project", content="The proxy drops large bodies.", slug="proxy")
    house.mother(memories.write, type="project", content="The proxy was retired.", slug="old")
    house.mother(memories.retire, ref="old", reason="gone")
    found = house.ripley(search.search, query="Proxy bodies", tag=[], limit=3)
    assert found.search is not None
    before = house.ripley(past.show, search=found.search)
    assert house.rows("SELECT id FROM searches") == []
    kept.flush(house.service.database)
    after = house.ripley(past.show, search=found.search)
    assert after == before
    assert [(hit.slug, hit.score) for hit in after.hits] == [(hit.slug, hit.score) for hit in found.hits]
    assert [(one.slug, one.reason) for one in after.dropped] == [("old", "filter")]
    assert (after.search.query, after.search.state, after.search.hits) == ("Proxy bodies", "degraded", 1)
    assert after.seq > 0
    (line,) = house.jones(past.list_).items
    assert line.id == found.search
    assert house.jones(past.list_, state="empty").items == ()


def test_an_agent_sees_its_own_searches_and_people_see_all(house: House) -> None:
    kept = recorded(house)
    mine = house.ripley(search.search, query="mine").search
    theirs = house.bishop(search.search, query="canary").search
    assert mine is not None
    assert theirs is not None
    for _ in range(2):
        assert [line.id for line in house.ripley(past.list_).items] == [mine]
        assert {line.id for line in house.dallas(past.list_).items} == {mine, theirs}
        assert [line.id for line in house.dallas(past.list_, agent="bishop").items] == [theirs]
        assert code(house.ripley, past.show, search=theirs) == "not_found"
        assert code(house.ripley, past.list_, agent="bishop") == "other_agent"
        other = house.as_("Mother", project=house.service.world.ids.new() and house.new_project(f"P{_}"))
        assert other(past.list_).items == ()
        assert code(other, past.show, search=mine) == "not_found"
        kept.flush(house.service.database)


def test_a_trace_holds_no_words_but_those_of_the_asker(house: House) -> None:
    kept = recorded(house)
    house.ripley(
        memories.write, type="learning", content="The zanzibar canary sings.", title="Canary", slug="bird"
    )
    house.ripley(search.search, query="zanzibar")
    kept.flush(house.service.database)
    (row,) = house.rows("SELECT trace, query FROM searches")
    assert "sings" not in row["trace"]
    assert "canary" not in row["trace"].casefold()
    view = house.dallas(past.show, search=house.dallas(past.list_).items[0].id)
    assert view.hits[0].title == "Canary"
    house.bishop(memories.write, type="learning", content="Another.", slug="x")
    assert house.rows("SELECT count(*) AS n FROM searches") == [{"n": 1}]


def test_a_query_that_holds_a_credential_is_not_kept(house: House) -> None:
    kept = recorded(house)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    house.ripley(search.search, query=f"token {secret[:40]}")
    kept.flush(house.service.database)
    (row,) = house.rows("SELECT query FROM searches")
    assert secret[:12] not in row["query"]


def test_the_searches_of_a_run_are_numbered(house: House) -> None:
    kept = recorded(house)
    run = house.ripley(runs.start).run.id
    in_run = house.as_("Ripley", run=run)
    for query in ("first", "second", "third"):
        in_run(search.search, query=query)
    house.as_("Bishop", run=run)(search.search, query="in no run of Bishop's")
    kept.flush(house.service.database)
    lines = house.ripley(past.list_, run=run).items
    assert [(line.turn, line.query) for line in lines] == [(3, "third"), (2, "second"), (1, "first")]
    again = house.ripley(past.show, search=run, turn=2)
    assert again.search.query == "second"
    assert code(house.bishop, past.show, search=run, turn=2) == "not_found"
    assert code(house.ripley, past.show, search=run, turn=9) == "not_found"


def test_recalls_are_counted_per_memory_and_survive_edits_and_a_reindex(house: House) -> None:
    kept = recorded(house)
    written = house.mother(memories.write, type="project", content="The proxy is slow.", slug="proxy")
    ref = str(written.memory)
    for _ in range(3):
        house.ripley(search.search, query="proxy")
    kept.flush(house.service.database)
    house.mother(memories.edit, ref="proxy", content="The proxy is very slow.")
    from minutebook.operations import system

    house.mother(system.reindex)
    with house.service.database.read() as tx:
        assert signals.get(tx, ref).recalls == 3
    assert "3 times" in house.jones(past.explain, ref="proxy").reasons[-1].detail
    house.mother(memories.erase, ref="proxy", reason="private")
    assert house.rows("SELECT * FROM signals") == []
    assert house.rows("SELECT * FROM searches") == []


def test_what_came_back_often_gains_little_and_never_passes_what_fits_better(house: House) -> None:
    kept = recorded(house)
    house.mother(memories.write, type="project", title="One", content="The tide and the moon.", slug="often")
    house.mother(
        memories.write, type="project", title="Two", content="The tide table of the harbour.", slug="fits"
    )
    for _ in range(200):
        house.ripley(search.search, query="moon", limit=1)
    kept.flush(house.service.database)
    found = house.ripley(search.search, query="tide harbour", explain=True)
    assert [hit.slug for hit in found.hits] == ["fits", "often"]
    (signal,) = [part.points for part in found.hits[1].parts if part.part == "signal"]
    assert 0 < signal <= house.service.world.limits.search.signal


def test_traces_go_when_their_time_is_over(house: House, clock: Clock) -> None:
    kept = recorded(house, days=2)
    house.ripley(search.search, query="old")
    kept.flush(house.service.database)
    clock.advance(days=3)
    house.ripley(search.search, query="new")
    kept.step(threading.Event())  # it waits a moment for more
    kept.flush(house.service.database)
    kept.step(threading.Event())
    assert [row["query"] for row in house.rows("SELECT query FROM searches")] == ["new"]


def test_where_no_traces_are_kept_a_search_leaves_none(house: House) -> None:
    kept = recorded(house, days=0)
    assert house.ripley(search.search, query="nothing").search is None
    assert kept.pending() == ()


def test_when_too_many_wait_the_oldest_are_dropped_and_counted(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_WAITING", 5)
    kept = recorded(house)
    for number in range(8):
        kept.note(trace(number, house.project))
    assert kept.dropped == 3
    assert [one.id for one in kept.pending()] == [trace(number, house.project).id for number in range(3, 8)]
    kept.flush(house.service.database)
    assert kept.pending() == ()
    kept.flush(house.service.database)
    assert house.rows("SELECT count(*) AS n FROM searches") == [{"n": 5}]


def test_searches_from_many_threads_all_leave_their_trace(house: House) -> None:
    kept = recorded(house)
    threads = [
        threading.Thread(target=lambda n=n: [house.ripley(search.search, query=f"word{n}") for _ in range(5)])
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept.flush(house.service.database)
    assert house.rows("SELECT count(*) AS n FROM searches") == [{"n": 20}]


def test_what_waits_is_written_when_the_ledger_is_closed(house: House) -> None:
    recorded(house)
    house.ripley(search.search, query="the last word")
    house.restart()
    assert [row["query"] for row in house.rows("SELECT query FROM searches")] == ["the last word"]
    with house.service.database.read() as tx:
        assert searches.list_(tx, searches.Wanted(house.project), after=None, limit=5)[0].turn is None
