"""Times as text that sorts as it reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.errors import MinutebookError
from minutebook.model.times import age, moment_of, parse_time, seconds_before, text_of

NOW = "2026-11-16T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2026-11-16", "2026-11-16T00:00:00.000000Z"),
        ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00.000000Z"),
        ("2026-11-16T09:30:00+02:00", "2026-11-16T07:30:00.000000Z"),
        ("2026-11-16 09:30", "2026-11-16T09:30:00.000000Z"),
        ("  90m ", "2026-11-16T10:30:00.000000Z"),
        ("24h", "2026-11-15T12:00:00.000000Z"),
        ("7d", "2026-11-09T12:00:00.000000Z"),
        ("2w", "2026-11-02T12:00:00.000000Z"),
        ("30s", "2026-11-16T11:59:30.000000Z"),
        ("0500-01-02", "0500-01-02T00:00:00.000000Z"),
    ],
)
def test_a_time_is_a_moment_a_date_or_an_age(given: str, expected: str) -> None:
    assert parse_time(given, NOW) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "yesterday",
        "7",
        "d7",
        "-7d",
        "2026-13-01",
        "7 fortnights",
        "999999w",
        "0001-01-01T00:00+10:00",
        "1e3d",
    ],
)
def test_what_is_no_time_is_told_what_one_looks_like(given: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        parse_time(given, NOW)
    assert refused.value.code == "invalid_input"
    assert "24h" in refused.value.details["hint"]


@given(
    st.lists(
        st.datetimes(
            min_value=datetime(2, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5))])
        ),
        min_size=2,
        max_size=6,
    )
)
def test_the_text_of_times_sorts_as_the_times_do_and_reads_back(moments: list[datetime]) -> None:
    assert sorted(map(text_of, moments)) == [text_of(moment) for moment in sorted(moments)]
    assert [moment_of(text_of(moment)) for moment in moments] == moments


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "now"),
        (59, "now"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h"),
        (86400, "1d"),
        (900000, "10d"),
        (-5, "now"),
    ],
)
def test_an_age_is_one_short_word(seconds: int, said: str) -> None:
    assert age(seconds_before(NOW, seconds), NOW) == said
