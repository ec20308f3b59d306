"""Sessions: one open per project."""

from __future__ import annotations

import threading

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations import events, memories, sessions
from tests.houses import House
from tests.operations.asking import code


def test_starting_a_session_closes_the_open_one_in_the_same_transaction(house: House) -> None:
    assert code(house.jones, sessions.current) == "not_found"
    first = house.ripley(sessions.start, focus="Harden the importer", session="monday", issue=["#12", "#14"])
    house.clock.advance(hours=2)
    # The second start fails after the first was ended within it: nothing of it may stay.
    assert code(house.bishop, sessions.start, focus="  ", session="tuesday") == "blank_field"
    assert house.jones(sessions.current).id == first.id
    second = house.bishop(sessions.start, focus="Release", session="tuesday", summary="Nearly there.")
    current = house.jones(sessions.current)
    assert (current.id, current.focus, current.summary) == (second.id, "Release", "Nearly there.")
    closed = house.jones(sessions.show, session="monday")
    assert (closed.ended_by, closed.ended_at) == ("bishop", second.started_at)
    assert closed.issues == ("#12", "#14")
    kinds = [event.kind for event in house.jones(events.list_, kind="session").items]
    assert kinds == ["session.started", "session.ended", "session.started"]


def test_a_session_is_brought_up_to_date_and_closed(house: House) -> None:
    house.ripley(sessions.start, focus="One", state='{"tab": 1}')
    house.bishop(sessions.update, append="Parser done.", issue=["#1", " "])
    house.ripley(sessions.update, append="Fuzzer runs.", focus="Two")
    current = house.jones(sessions.current)
    assert (current.focus, current.summary, current.issues, current.state) == (
        "Two", "Parser done.\nFuzzer runs.", ("#1",), '{"tab": 1}',
    )  # fmt: skip
    house.ripley(sessions.update, summary="Only this.")
    assert code(house.ripley, sessions.update, summary="a", append="b") == "invalid_input"
    closed = house.ripley(sessions.close, append="Released.")
    assert (closed.summary, closed.open) == ("Only this.\nReleased.", False)
    for act in (sessions.close, sessions.current):
        assert code(house.ripley, act) == "not_found"
    assert code(house.ripley, sessions.update, append="x") == "not_found"


def test_a_summary_grows_no_further_than_its_limit(house: House) -> None:
    house.ripley(sessions.start, focus="One", summary="x" * 65_000)
    assert code(house.ripley, sessions.update, append="y" * 1_000) == "too_large"
    assert code(house.ripley, sessions.close, append="y" * 1_000) == "too_large"
    assert len(house.jones(sessions.current).summary) == 65_000


def test_no_secret_goes_into_a_session(house: House) -> None:
    key = "xox" + "b-829301745528-6630184925517-qz7m1xk4r9wt2pv8nh3jc5ly"
    assert code(house.ripley, sessions.start, focus=f"Use {key}") == "secret"
    house.ripley(sessions.start, focus="Use the vault")
    assert code(house.ripley, sessions.update, append=f"The key is {key}") == "secret"
    assert code(house.ripley, sessions.close, append=f"The key was {key}") == "secret"
    assert house.jones(sessions.current).summary == ""


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\U000e0041"])
def test_no_text_that_deceives_a_reader_goes_into_a_session(house: House, hidden: str) -> None:
    words = f"Pay{hidden}gnp.exe"
    assert code(house.ripley, sessions.start, focus=words) == "unsafe_text"
    house.ripley(sessions.start, focus="Payments", state=words)
    for field in ({"focus": words}, {"append": words}, {"summary": words}, {"issue": [words]}):
        assert code(house.ripley, sessions.update, **field) == "unsafe_text"
    current = house.jones(sessions.current)
    assert (current.focus, current.summary, current.issues) == ("Payments", "", ())


def test_names_of_sessions_are_unique_in_their_project_also_after_the_end(house: House) -> None:
    house.ripley(sessions.start, focus="One", session="monday")
    assert code(house.ripley, sessions.start, focus="Two", session="monday") == "exists"
    house.ripley(sessions.close)
    assert code(house.ripley, sessions.start, focus="Two", session=" monday ") == "exists"
    elsewhere = house.as_("Ripley", project=house.new_project("Sulaco"))
    assert elsewhere(sessions.start, focus="Two", session="monday").session == "monday"
    assert code(elsewhere, sessions.show, session="tuesday") == "not_found"


def test_sessions_are_listed_newest_first_and_paged(house: House) -> None:
    for number in range(3):
        house.ripley(sessions.start, focus=f"Focus {number}", session=f"s{number}")
    page = house.jones(sessions.list_, limit=2)
    assert [session.session for session in page.items] == ["s2", "s1"]
    assert [session.session for session in house.jones(sessions.list_, after=page.next).items] == ["s0"]


def test_a_session_scope_is_the_open_sessions_unless_one_is_named(house: House) -> None:
    first = house.ripley(sessions.start, focus="One", session="one")
    second = house.ripley(sessions.start, focus="Two", session="two")
    here = house.ripley(memories.write, type="update", content="Half of it is done.", scope="session")
    there = house.ripley(memories.write, type="update", content="All of it was done.", session="one")
    scopes = [
        house.ripley(memories.show, ref=done.memory or "").memory.scope.session for done in (here, there)
    ]
    assert scopes == [second.id, first.id]


def test_of_sessions_started_at_once_one_is_open_in_the_end(house: House) -> None:
    together = threading.Barrier(4)
    failed: list[MinutebookError] = []

    def start(number: int) -> None:
        together.wait(30)
        try:
            house.as_(f"Agent {number}")(sessions.start, focus=f"Focus {number}", session=f"s{number}")
        except MinutebookError as error:
            failed.append(error)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    found = house.jones(sessions.list_).items
    assert (len(found), sum(session.open for session in found)) == (4, 1)


def test_the_database_itself_allows_one_open_session(house: House) -> None:
    house.ripley(sessions.start, focus="One", session="one")
    house.ripley(sessions.start, focus="Two", session="two")
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        house.service.database.write(house.project, lambda tx: tx.run("UPDATE sessions SET ended_at = NULL"))
