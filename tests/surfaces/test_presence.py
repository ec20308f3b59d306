"""Who has been at the doors of a service, as its health tells it."""

from __future__ import annotations

import os

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.observing.presence import MOST_VISITORS, Attendance
from tests.surfaces.accounting import ask, asker

SINCE = "2026-01-01T00:00:00.000000Z"


def attendance() -> tuple[Attendance, Observer]:
    found = Attendance(version="9.9", since=SINCE, gauges={"connections": lambda: 4})
    return found, Observer(found)


def test_each_client_is_told_by_who_it_is_where_it_came_in_and_what_it_runs() -> None:
    found, observer = attendance()
    ask(observer, by=asker(project="nostromo"), client="claude-code 2.1")
    ask(observer, by=asker(), client="claude-code 2.1")
    ask(observer, by=asker(), surface="mcp", client="claude-code 2.1")
    ask(observer, by=asker("bishop"))
    now = found.now()
    assert [(seen.actor, seen.surface, seen.client, seen.requests) for seen in now.visitors] == [
        ("bishop", "http", "", 1),
        ("ripley", "mcp", "claude-code 2.1", 1),
        ("ripley", "http", "claude-code 2.1", 2),
    ]
    assert now.visitors[2].project == "nostromo"
    assert now.visitors[0].last_seen_at >= now.visitors[2].last_seen_at > SINCE
    assert (now.pid, now.version, now.since) == (os.getpid(), "9.9", SINCE)
    assert (now.connections, now.followers, now.requests) == (4, 0, 4)


def test_somebody_who_proved_nothing_is_counted_and_not_named() -> None:
    found, observer = attendance()
    ask(observer, error=MinutebookError("no_token"))
    assert (found.now().requests, found.now().visitors) == (1, ())


def test_a_project_that_was_refused_is_not_taken_for_the_clients_own() -> None:
    found, observer = attendance()
    ask(observer, by=asker(project="somebody-elses"), error=MinutebookError("other_project"))
    assert [seen.project for seen in found.now().visitors] == [None]


def test_the_list_is_bounded_and_forgets_who_was_not_seen_for_longest() -> None:
    found, observer = attendance()
    ask(observer, by=asker("first"))
    ask(observer, by=asker("second"))
    ask(observer, by=asker("first"))
    for number in range(MOST_VISITORS - 1):
        ask(observer, by=asker(f"agent-{number}"))
    names = [seen.actor for seen in found.now().visitors]
    assert (len(names), names[-1]) == (MOST_VISITORS, "first")
    assert "second" not in names


def test_what_a_program_calls_itself_is_short_and_cannot_deceive() -> None:
    found, observer = attendance()
    ask(observer, by=asker(), client="evil\x1b[2J\u202e" + "x" * 500)
    (seen,) = found.now().visitors
    assert "\x1b" not in seen.client
    assert "\u202e" not in seen.client
    assert len(seen.client) < 200
