"""What a recall is worth at the gates of consolidation; the gates themselves are with what a consolidation notices."""

from __future__ import annotations

import pytest

from minutebook.policy.gates import recall_score
from minutebook.policy.limits import Limits

NOW = "2026-06-30T12:00:00.000000Z"
LIMITS = Limits()


@pytest.mark.parametrize(
    ("recalls", "recalled", "written", "enough"),
    [
        (2, "2026-06-30", "2026-06-28", True),
        (1, "2026-06-30", "2026-06-28", False),
        (1, "2026-06-30", "2026-05-01", False),
        (2, "2026-06-30", "2025-01-01", True),
        (2, "2026-06-16", "2025-01-01", False),
        (90, "2026-01-01", "2025-01-01", False),
    ],
)
def test_a_recall_counts_by_how_often_how_lately_and_how_fresh(
    recalls: int, recalled: str, written: str, enough: bool
) -> None:
    at = "T12:00:00.000000Z"
    score = recall_score(recalls, recalled + at, written + at, NOW, LIMITS)
    assert 0 <= score <= 1
    assert (score >= LIMITS.consolidation_score) is enough
