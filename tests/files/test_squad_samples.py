"""Real repositories, where they are at hand: what is found in them, and how fast.

They are not ours to ship. MINUTEBOOK_SQUAD_SAMPLES names the folder; `../shared/data/squad_samples` is the default.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from pathlib import Path

import pytest

from minutebook.files.entries import Dialect, Parsed
from minutebook.files.reading import parse
from tests.files.parsing import check_spans

DEFAULT = Path(__file__).parents[2] / ".." / "shared" / "data" / "squad_samples"
SAMPLES = Path(os.environ.get("MINUTEBOOK_SQUAD_SAMPLES", DEFAULT))
pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"no samples of real repositories at {SAMPLES.name}"
)

#: Entries, with an author, with a date, that the best rule known before found in the ledgers of each repository:
#: a heading with a date, or with a field that names an author or a date within eight lines, is an entry.
KNOWN = {
    "Cshion__vigilante-electoral": (5, 5, 5),
    "DrDonoso__Finlytics": (101, 78, 97),
    "bradygaster__squad": (219, 208, 190),
    "cirvine-MSFT__editless": (303, 262, 294),
    "csharpfritz__SquadUI": (59, 59, 59),
    "sabbour__agentweaver": (167, 110, 142),
    "spboyer__sensei": (25, 25, 25),
}
LEDGERS = re.compile(r"/(decisions|decisions-archive)\.md$|/decisions/archive[/-]")


Samples = list[tuple[str, str, Parsed, int, float]]


@pytest.fixture(scope="module")
def samples() -> Samples:
    """Repository, path, what was found, bytes, seconds."""
    found = []
    for file in sorted(SAMPLES.rglob("*.md")):
        repository, _, path = file.relative_to(SAMPLES).as_posix().partition("/")
        data = file.read_bytes()
        spent = []
        for _ in range(2):
            began = time.process_time()
            parsed = parse(path.removeprefix("_history_inbox/"), data)
            spent.append(time.process_time() - began)
        check_spans(parsed, data)
        found.append((repository, path, parsed, len(data), min(spent)))
    return found


def test_real_repositories_are_read_at_least_as_well_as_by_the_best_rule_known(
    samples: Samples,
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for repository, path, parsed, _, _ in samples:
        if LEDGERS.search(f"/{path}"):
            counts[repository][0] += len(parsed.entries)
            counts[repository][1] += sum(entry.author is not None for entry in parsed.entries)
            counts[repository][2] += sum(entry.date is not None for entry in parsed.entries)
    with capsys.disabled():
        print(f"\n{'ledgers of':30} known: entries author date   found: entries author date")
        for repository, found in sorted(counts.items()):
            known = KNOWN.get(repository, (0, 0, 0))
            print(
                f"{repository:30} {known[0]:14} {known[1]:6} {known[2]:4} {found[0]:16} {found[1]:6} {found[2]:4}"
            )
    for repository, known in KNOWN.items():
        if repository in counts:
            assert counts[repository][1] >= known[1], repository
            assert counts[repository][2] >= known[2], repository
    assert counts


def test_real_files_of_the_drop_box_are_proposals_each(samples: Samples) -> None:
    inbox = [parsed for _, _, parsed, _, _ in samples if parsed.dialect is Dialect.DROP_BOX]
    assert len(inbox) > 40
    assert [len(parsed.entries) for parsed in inbox] == [1] * len(inbox)
    named = sum(parsed.entries[0].author is not None for parsed in inbox)
    assert named >= 0.9 * len(inbox)


def test_real_files_are_read_within_fifty_milliseconds_for_a_hundred_kilobytes(samples: Samples) -> None:
    slow = {path: spent for _, path, _, size, spent in samples if spent > 0.05 * max(1, size / 100_000)}
    assert slow == {}
