"""Which of the two moved, the note or its memory, and what follows; and what a missing note means."""

from __future__ import annotations

import pytest

from minutebook.files.note_deciding import (
    Absence,
    Held,
    Known,
    Loss,
    LossRules,
    Step,
    base_of,
    decide,
    loss,
)

#: In step at revision 3; the file names the revision that it showed when it was last written by us.
KNOWN = Known("now", 3, 2)
SAME, EDITED = Held("now", 2), Held("edited", 2)


@pytest.mark.parametrize(
    ("known", "held", "more", "step"),
    [
        # nothing moved
        (KNOWN, SAME, {}, Step.NOTHING),
        # only the ledger moved
        (KNOWN, SAME, {"revision": 4}, Step.FOLLOW),
        (KNOWN, SAME, {"revision": 4, "unchanged": True}, Step.AGREE),
        # only the file moved
        (KNOWN, EDITED, {}, Step.EDIT),
        (KNOWN, EDITED, {"agrees": True}, Step.AGREE),
        (KNOWN, Held("edited", None), {}, Step.EDIT),
        # both moved
        (KNOWN, EDITED, {"revision": 4}, Step.RIVAL),
        (KNOWN, EDITED, {"revision": 4, "agrees": True}, Step.AGREE),
        (KNOWN, EDITED, {"revision": 4, "unchanged": True}, Step.EDIT),
        # the file names another revision than it did: what it stands on is that one
        (KNOWN, Held("edited", 3), {}, Step.EDIT),
        (KNOWN, Held("edited", 1), {}, Step.RIVAL),
        (KNOWN, Held("edited", 9), {}, Step.RIVAL),
        (KNOWN, Held("edited", 3, same_id=False), {}, Step.RIVAL),
        # what was once in step is back
        (KNOWN, Held("old", 1), {"once": True}, Step.FOLLOW),
        (KNOWN, Held("old", 2), {"once": True, "moved": True}, Step.FOLLOW),
        (KNOWN, Held("old", 2), {"once": True}, Step.EDIT),
        # git brought what nobody here wrote
        (KNOWN, EDITED, {"moved": True}, Step.EDIT),
        # nothing is known of the path
        (None, Held("x", None), {}, Step.RIVAL),
        (None, Held("x", None), {"agrees": True}, Step.AGREE),
        (None, Held("x", 3), {}, Step.EDIT),
        (None, Held("x", 3, same_id=False), {}, Step.RIVAL),
        (None, Held("x", 1), {"once": True}, Step.FOLLOW),
        # the memory stands no more
        (KNOWN, SAME, {"stands": False}, Step.REMOVE),
        (KNOWN, None, {"stands": False}, Step.REMOVE),
        (KNOWN, Held("old", 1), {"stands": False, "once": True}, Step.REMOVE),
        (KNOWN, EDITED, {"stands": False}, Step.ORPHAN),
        # the file is not there
        (KNOWN, None, {}, Step.MISSING),
    ],
)
def test_what_follows_when_a_note_or_its_memory_moves(
    known: Known | None, held: Held | None, more: dict[str, bool], step: Step
) -> None:
    given = {
        "stands": True,
        "revision": 3,
        "agrees": False,
        "unchanged": False,
        "once": False,
        "moved": False,
        **more,
    }
    assert decide(known, held, **given) is step  # type: ignore[arg-type]


def test_a_file_that_names_its_revision_stands_on_that_one_unless_it_never_named_another() -> None:
    assert base_of(KNOWN, Held("x", 2)) == 3
    assert base_of(KNOWN, Held("x", 1)) == 1
    assert base_of(KNOWN, Held("x", 1, same_id=False)) is None
    assert base_of(None, Held("x", None)) is None


RULES = LossRules(wait=3.0, many=5)


@pytest.mark.parametrize(
    ("absent", "more", "meaning"),
    [
        (Absence(None), {}, Loss.LOOK_AGAIN),
        (Absence(1.0), {}, Loss.LOOK_AGAIN),
        (Absence(3.0), {}, Loss.RETIRE),
        (Absence(99.0), {"folder": False}, Loss.ASK),
        (Absence(99.0), {"moved": True}, Loss.ASK),
        (Absence(99.0), {"missing": 6}, Loss.ASK),
        (Absence(99.0), {"missing": 5}, Loss.RETIRE),
        (Absence(99.0), {"missing": 2, "all_notes": 2}, Loss.ASK),
        (Absence(99.0), {"missing": 1, "all_notes": 1}, Loss.RETIRE),
        (Absence(99.0, changed=True), {}, Loss.ASK),
        (Absence(99.0, asked=True), {}, Loss.ASK),
        (Absence(None), {"confirmed": True, "missing": 50, "moved": True, "folder": False}, Loss.RETIRE),
        (Absence(99.0, asked=True), {"confirmed": True}, Loss.RETIRE),
    ],
)
def test_what_a_missing_note_means(absent: Absence, more: dict[str, int], meaning: Loss) -> None:
    given = {
        "missing": 1,
        "all_notes": 20,
        "folder": True,
        "moved": False,
        "confirmed": False,
        **more,
    }
    assert loss(absent, rules=RULES, **given)[0] is meaning  # type: ignore[arg-type]
