"""When the ledger is well, by a table: what was seen, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from minutebook.model.system import Coverage, Finding, Jobs, Mirror, Queue
from minutebook.policy import health
from minutebook.policy.health import Sight, findings, state

NOW = "2026-06-01T12:00:00.000000Z"
CALM = Queue(0, 0.0, 0.0, 0.002, None)
IDLE = Jobs(0, 0, 5, 0, 0)
WHOLE = Coverage(10, 1.0, 0, 0, 0)


def seen(**otherwise: Any) -> tuple[Finding, ...]:
    well: dict[str, Any] = {
        "now": NOW,
        "queue": CALM,
        "free_bytes": 10 * 1024**3,
        "jobs": IDLE,
        "index": WHOLE,
        "mirror": Mirror(),
        "safe_since": "2026-05-30T00:00:00.000000Z",
        "newest_at": "2026-06-01T11:59:00.000000Z",
    }
    return findings(Sight(**{**well, **otherwise}))


def test_a_house_in_which_nothing_is_wrong_is_ok() -> None:
    assert seen() == ()
    assert state(seen()) == "ok"


@pytest.mark.parametrize(
    ("otherwise", "expected", "said"),
    [
        ({"damage": "row 3 missing"}, "failing", "row 3 missing"),
        ({"failed": "There is no room."}, "failing", "There is no room."),
        ({"read_only": True}, "failing", "cannot be written"),
        ({"free_bytes": health.NO_ROOM - 1}, "failing", "bytes are free"),
        ({"free_bytes": health.LITTLE_ROOM - 1}, "degraded", "511 MB are free"),
        ({"log_bytes": health.LONG_LOG + 1}, "degraded", "log beside the database"),
        ({"queue": Queue(0, 0.0, 0.0, 0.0, "The files are gone.")}, "failing", "The files are gone."),
        ({"queue": Queue(9, 6.0, 6.0, 0.0, None)}, "degraded", "9 writes wait"),
        ({"queue": Queue(9, 61.0, 61.0, 0.0, None)}, "failing", "61 seconds"),
        ({"queue": Queue(0, 0.0, 30.0, 0.0, None)}, "ok", ""),
        ({"queue": Queue(0, 0.0, 0.0, 0.6, None)}, "degraded", "0.6 seconds to make"),
        ({"index": Coverage(10, 0.7, 3, 0, 0)}, "degraded", "3 texts cannot be searched"),
        ({"index": Coverage(10, 0.9, 0, 1, 0)}, "degraded", "1 texts are not compared"),
        ({"index": Coverage(10, 0.8, 0, 0, 2)}, "degraded", "2 memories cannot be found by their tags"),
        ({"jobs": Jobs(0, 0, 0, 2, 0)}, "degraded", "2 jobs gave up"),
        ({"jobs": Jobs(1, 0, 0, 0, 901)}, "degraded", "15 minutes late"),
        ({"mirror": Mirror("behind", 1001)}, "degraded", "1,001 events behind"),
        ({"mirror": Mirror("behind", 3)}, "ok", ""),
        ({"safe_since": "2026-05-01T00:00:00.000000Z"}, "degraded", "no backup since 2026-05-01"),
        ({"safe_since": None}, "ok", ""),
        ({"newest_at": "2026-06-01T12:04:59.000000Z"}, "ok", ""),
        ({"newest_at": "2026-06-01T12:30:00.000000Z"}, "degraded", "30m behind"),
        ({"newest_at": "2026-06-05T12:00:00.000000Z"}, "failing", "4d behind"),
        ({"newest_at": None, "jobs": None, "index": None}, "ok", ""),
    ],
)
def test_each_thing_that_is_wrong_is_said_with_what_to_do(
    otherwise: dict[str, Any], expected: str, said: str
) -> None:
    found = seen(**otherwise)
    assert state(found) == expected
    assert len(found) == (expected != "ok")
    assert all(said in finding.what and finding.advice for finding in found)


def test_the_worst_is_said_first() -> None:
    found = seen(jobs=Jobs(0, 0, 0, 1, 0), read_only=True, log_bytes=health.LONG_LOG + 1)
    assert [finding.state for finding in found] == ["error", "warning", "warning"]
