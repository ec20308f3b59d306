"""Erasing that holds: no byte of the words is left, and no way leads them back in."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.call import World
from minutebook.controller import restore as restoring
from minutebook.ledger import erasure
from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import decisions, inbox, memories, search, system, tombstones, verdicts
from minutebook.operations.registry import REGISTRY
from tests import invariants
from tests.houses import House
from tests.lived_in import empty

#: A word that no stemmer shortens, and the pieces that an index may cut it into.
CANARY = "zqxjkvory"
PIECES = (CANARY, "qxjkvory", "xjkvor")

SECRET: dict[str, Any] = {
    "title": f"The {CANARY} affair",
    "content": f"The customer {CANARY} lives at 12 {CANARY.upper()} street and pays late.",
    "slug": f"{CANARY}-affair",
    "rationale": f"{CANARY} told us so.",
    "entity": f"customer {CANARY}",
    "attribute": "address",
    "tag": [CANARY, "customers"],
    "evidence": [f"url:https://example.com/{CANARY}"],
}


def everything(house: House) -> str:
    """All text of all tables, in lower case."""
    names = {
        "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table'",
        "postgres": """SELECT table_name AS name FROM information_schema.tables
                        WHERE table_schema = current_schema()""",
    }[house.service.database.dialect.name]
    parts = []
    for row in house.rows(names):
        parts += [str(list(found.values())) for found in house.rows(f"SELECT * FROM {row['name']}")]
    return "\n".join(parts).lower()


def bytes_on_disk(house: House) -> bytes:
    """All bytes of the database's files, log and index of the log among them."""
    house.service.close()  # our own process must not open them while SQLite does
    path = Path(house.url.removeprefix("sqlite://"))
    found = b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))
    house.open()
    return found.lower()


def live_bytes(house: House) -> bytes:
    """The same while the ledger is open, read by another process as a thief would."""
    path = Path(house.url.removeprefix("sqlite://"))
    files = sorted(str(file) for file in path.parent.glob(path.name + "*"))
    assert any(file.endswith("-wal") for file in files)
    return subprocess.run(["cat", *files], capture_output=True, check=True, timeout=30).stdout.lower()


def assert_gone(house: House, tmp_path: Path) -> None:
    text = everything(house)
    house.mother(system.export, file=tmp_path / "after.zip", force=True)
    with zipfile.ZipFile(tmp_path / "after.zip") as file:
        archive = b"".join(file.read(name) for name in file.namelist()).lower()
    for piece in PIECES:
        assert piece not in text
        assert piece.encode() not in archive
    if house.service.database.dialect.one_file:
        for data in (live_bytes(house), bytes_on_disk(house)):
            for piece in PIECES:
                assert piece.encode() not in data
    for file in house.home.rglob("*"):
        if file.is_file() and "backups" not in file.parts:
            assert CANARY.encode() not in file.read_bytes().lower()
    assert invariants.violations(invariants.state_of(house.service.database)) == []


def _remembered(house: House) -> str:
    """A memory that went every way a memory can go, with the canary at each step."""
    first = house.ripley(inbox.submit, type="project", **SECRET)
    house.ripley.invoke(
        REGISTRY.get("inbox.submit"),
        {**SECRET, "type": "project", "content": f"{SECRET['content']} Or so {CANARY} says."},
        key="first-key",
    )
    promoted = house.dallas(inbox.promote, ref=first.slug, reason=f"{CANARY} agreed", title=f"About {CANARY}")
    house.dallas.invoke(
        REGISTRY.get("memories.edit"),
        {"ref": promoted.memory, "content": f"The customer {CANARY} moved away."},
        key="second-key",
    )
    house.dallas(memories.tag, ref=promoted.memory, tags=[f"{CANARY}-two"])
    second = house.bishop(
        inbox.submit,
        type="project",
        title=f"More on {CANARY}",
        content=f"The customer {CANARY} came back to another street, says the post office.",
        supersedes=promoted.memory,
        slug=f"more-{CANARY}",
    )
    house.dallas(inbox.promote, ref=second.slug, accept_stale=True)
    other = house.dallas(memories.write, type="project", content="We have customers who move.", slug="movers")
    house.dallas(memories.link, ref=str(other.memory), relation="related_to", other=promoted.memory)
    house.dallas(search.search, query=CANARY)
    return promoted.memory


def test_no_byte_of_an_erased_memory_is_left(house: House, tmp_path: Path) -> None:
    memory = _remembered(house)
    standing = house.rows(
        "SELECT id FROM memories WHERE superseded_by IS NULL AND title LIKE :like", like=f"%{CANARY}%"
    )
    assert CANARY in everything(house)
    for id in {memory, *(row["id"] for row in standing)}:
        house.mother(memories.erase, ref=id, reason="the customer asked for it")
    assert_gone(house, tmp_path)
    view = house.mother(memories.show, ref=memory)
    assert (view.memory.status, view.memory.author) == ("erased", "bishop")
    assert len(house.mother(memories.history, ref=memory).items) >= 3


def test_no_byte_of_an_erased_proposal_is_left(house: House, tmp_path: Path) -> None:
    first = house.ripley(inbox.submit, type="process", **SECRET)
    house.ripley(inbox.submit, type="process", **{**SECRET, "content": f"Ask {CANARY} before each release."})
    done = house.mother(inbox.erase, ref=first.slug, reason="personal data")
    assert_gone(house, tmp_path)
    # nothing waits for a decision about nothing
    assert not house.dallas(inbox.list_).items
    assert house.rows("SELECT status, agent FROM proposals") == [{"status": "rejected", "agent": "ripley"}]
    with pytest.raises(MinutebookError) as refused:
        house.mother(inbox.erase, ref=str(done.proposal), reason="again")
    assert refused.value.code == "erased"


def test_a_refused_attempt_from_before_loses_its_words_too(house: House, tmp_path: Path) -> None:
    memory = house.dallas(memories.write, type="project", **SECRET)
    house.dallas(memories.retire, ref=str(memory.memory), reason="wrong")
    with pytest.raises(MinutebookError) as refused:
        house.ripley(memories.write, type="learning", title=SECRET["title"], content=SECRET["content"])
    assert refused.value.code == "tombstoned"
    house.mother(memories.erase, ref=str(memory.memory), reason="personal data")
    assert_gone(house, tmp_path)


def test_a_slug_that_is_a_common_word_takes_nothing_else_with_it(house: House) -> None:
    """The name `content` is a key of every verdict's material; taking it out blindly would break them all."""
    kept = house.ripley(
        inbox.submit, type="process", title="Kept", content="Words of another proposal.", slug="title"
    )
    mine = house.dallas(memories.write, type="project", content="Some private words here.", slug="content")
    house.mother(memories.erase, ref=str(mine.memory), reason="private")
    material = house.dallas(verdicts.show, id=kept.verdict, content=True).candidate
    assert material is not None
    assert (material["title"], material["content"]) == ("Kept", "Words of another proposal.")
    house.dallas(inbox.promote, ref="title")


def test_a_name_of_the_same_spelling_elsewhere_stays(house: House) -> None:
    other = house.as_("dallas", project=house.new_project("Sulaco"))
    theirs = other(memories.write, type="project", content="The Sulaco has a crew.", slug="crew")
    mine = house.dallas(memories.write, type="project", content="Names of the crew.", slug="crew")
    house.mother(memories.erase, ref=str(mine.memory), reason="private")
    assert other(memories.show, ref="crew").memory.id == theirs.memory
    assert (
        json.loads(
            house.rows("SELECT candidate FROM verdicts WHERE id = :id", id=theirs.verdict)[0]["candidate"]
        )["slug"]
        == "crew"
    )


# --- no way back -------------------------------------------------------------------------------------


def _erased(house: House) -> str:
    done = house.dallas(memories.write, type="project", **SECRET)
    house.mother(memories.erase, ref=str(done.memory), reason="personal data")
    return str(done.memory)


#: The words again, and dressed up.
VARIANTS = (
    SECRET["content"],
    SECRET["content"].upper(),
    "  ".join(SECRET["content"].split()),
    SECRET["content"].replace("o", "ο"),  # a Greek letter that looks the same
    SECRET["content"].replace(" ", "\u200b "),
)


@pytest.mark.parametrize("words", VARIANTS)
def test_erased_words_can_be_neither_written_nor_proposed_by_anybody(
    house: House, tmp_path: Path, words: str
) -> None:
    _erased(house)
    other = house.new_project("Sulaco")
    for asks in (house.ripley, house.dallas, house.mother, house.as_("ripley", project=other)):
        with pytest.raises(MinutebookError) as refused:
            asks(memories.write, type="learning", title="Another title", content=words, slug=CANARY)
        assert refused.value.code in ("tombstoned", "unsafe_text")
        with pytest.raises(MinutebookError) as refused:
            asks(inbox.submit, type="process", title="Another title", content=words)
        assert refused.value.code in ("tombstoned", "unsafe_text")
    # and the refusals themselves keep none of it
    house.service.database.checkpoint(*erasure.TABLES)
    assert_gone(house, tmp_path)


def test_a_pending_proposal_of_the_same_words_cannot_be_promoted(house: House) -> None:
    waiting = house.ripley(inbox.submit, type="project", title="Same", content=SECRET["content"])
    done = house.dallas(decisions.write, type="process", **SECRET)
    house.mother(memories.erase, ref=str(done.memory), reason="personal data")
    with pytest.raises(MinutebookError) as refused:
        house.dallas(inbox.promote, ref=waiting.slug)
    assert refused.value.code == "tombstoned"
    other = house.bishop(
        inbox.submit, type="process", title="Harmless", content="Some harmless words to begin with."
    )
    with pytest.raises(MinutebookError) as refused:
        house.dallas(inbox.promote, ref=other.slug, content=SECRET["content"])
    assert refused.value.code == "tombstoned"


def test_whoever_erases_is_told_what_else_says_the_same(house: House) -> None:
    words = SECRET["content"]
    first = house.dallas(memories.write, type="project", content=words, slug="first")
    own = house.ripley(memories.write, type="learning", content=words.upper())
    waiting = house.bishop(inbox.submit, type="update", title="Same", content=words)
    house.dallas(memories.write, type="project", content="Of something else altogether.")
    done = house.mother(memories.erase, ref=first.memory, reason="personal data")
    assert done.reason == (
        "personal data (the same words still stand in 2 more: "
        f"{', '.join(sorted([str(own.memory), waiting.id]))})"
    )
    house.mother(inbox.erase, ref=waiting.slug, reason="personal data")
    assert house.mother(memories.erase, ref=own.memory, reason="personal data").reason == "personal data"


def test_an_erasure_cannot_be_reverted_and_nothing_under_it_either(house: House) -> None:
    done = house.dallas(memories.write, type="project", **SECRET)
    edited = house.dallas(memories.edit, ref=str(done.memory), content="Harmless words instead of those.")
    gone = house.mother(memories.erase, ref=str(done.memory), reason="personal data")
    for verdict in (done.verdict, edited.verdict, gone.verdict):
        with pytest.raises(MinutebookError):
            house.mother(verdicts.revert, id=verdict)
    for act in (memories.restore, memories.retire, memories.archive):
        with pytest.raises(MinutebookError):
            house.mother(act, ref=str(done.memory), reason="again")


def test_an_archive_from_before_brings_nothing_back(house: House, tmp_path: Path) -> None:
    _remembered(house)
    house.mother(system.export, file=tmp_path / "before.zip")
    for row in house.rows("SELECT id FROM memories WHERE title LIKE :like", like=f"%{CANARY}%"):
        house.mother(memories.erase, ref=row["id"], reason="personal data")
    count = house.rows("SELECT count(*) AS n FROM events")
    done = house.mother(system.import_, file=tmp_path / "before.zip")
    assert (done.rows, done.conflicts) == ({}, ())
    assert house.rows("SELECT count(*) AS n FROM events") == count
    (tmp_path / "before.zip").unlink()
    assert_gone(house, tmp_path)


def test_the_same_words_under_another_id_come_in_without_them(
    house: House, tmp_path: Path, clock: Callable[[], str]
) -> None:
    other = House(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other-home", clock, seed=5)
    there = other.dallas(memories.write, type="project", **SECRET)
    promoted = other.ripley(inbox.submit, type="process", title="Fine", content="These words are fine.")
    other.dallas(inbox.promote, ref=promoted.slug)
    other.mother(system.export, file=tmp_path / "other.zip")
    other.close()
    _erased(house)
    done = house.mother(system.import_, file=tmp_path / "other.zip")
    assert [(aside.id, aside.became) for aside in done.asides if aside.table == "memories"] == [
        (there.memory, "erased")
    ]
    (tmp_path / "other.zip").unlink()
    assert_gone(house, tmp_path)


def test_the_list_of_erasures_holds_where_the_ledger_that_knew_is_lost(
    house: House, tmp_path: Path, clock: Callable[[], str]
) -> None:
    live = _remembered(house)
    house.mother(system.export, file=tmp_path / "before.zip")
    for row in house.rows("SELECT id FROM memories WHERE title LIKE :like", like=f"%{CANARY}%"):
        house.mother(memories.erase, ref=row["id"], reason="personal data")
    assert CANARY not in (house.home / "erasures.jsonl").read_text()
    assert {entry.ref for entry in erasure.noted(house.home)} >= {live}
    fresh = empty(f"sqlite://{tmp_path}/fresh/ledger.db", house.home, clock)
    fresh.mother(system.import_, file=tmp_path / "before.zip")
    (tmp_path / "before.zip").unlink()
    fresh.project = house.project
    assert CANARY not in everything(fresh)
    assert_gone(fresh, tmp_path)
    fresh.close()


def _restore(house: House, file: Path, world: World, **how: Any) -> Any:
    person = Actor("root", "root", Role.OPERATOR)
    return restoring.restore(house.url, file, world=world, actor=person, wait=5, confirm=True, **how)


def test_a_backup_from_before_brings_nothing_back(house: House, tmp_path: Path) -> None:
    if not house.service.database.dialect.one_file:
        return _archive_into_an_empty_ledger(house, tmp_path)
    _remembered(house)
    house.mother(system.backup, file=tmp_path / "before.db")
    late = house.dallas(memories.write, type="learning", content=f"Only later we heard of {CANARY} again.")
    for row in house.rows("SELECT id FROM memories WHERE content LIKE :like", like=f"%{CANARY}%"):
        house.mother(memories.erase, ref=row["id"], reason="personal data")
    world = house.service.world
    house.close()
    done = _restore(house, tmp_path / "before.db", world)
    house.open()
    assert len(done.erased_again) >= 1
    (tmp_path / "before.db").unlink()
    assert_gone(house, tmp_path)
    # what was written and erased after the backup cannot be written again either
    assert not house.rows("SELECT id FROM memories WHERE id = :id", id=late.memory)
    with pytest.raises(MinutebookError) as refused:
        house.dallas(memories.write, type="learning", content=f"Only later we heard of {CANARY} again.")
    assert refused.value.code == "tombstoned"
    return None


def _archive_into_an_empty_ledger(house: House, tmp_path: Path) -> None:
    """PostgreSQL's way: the backup is an archive, and goes into an empty ledger."""
    _remembered(house)
    house.mother(system.backup, file=tmp_path / "before.zip")
    for row in house.rows("SELECT id FROM memories WHERE title LIKE :like", like=f"%{CANARY}%"):
        house.mother(memories.erase, ref=row["id"], reason="personal data")
    house.url += "&schema=elsewhere"
    world = house.service.world
    done = _restore(house, tmp_path / "before.zip", world)
    assert done.erased_again
    (tmp_path / "before.zip").unlink()
    house.close()
    house.open()
    assert_gone(house, tmp_path)


def test_only_an_operator_lets_erased_words_be_said_again(house: House) -> None:
    _erased(house)
    laid = house.mother(tombstones.list_, cause="erased").items[0]
    with pytest.raises(MinutebookError):
        house.dallas(tombstones.lift, id=laid.id, reason="please")
    house.mother(tombstones.lift, id=laid.id, reason="the customer consented")
    assert (
        house.dallas(memories.write, type="project", title=SECRET["title"], content=SECRET["content"]).op
        == "add"
    )


@pytest.mark.parametrize("left", ["whole", "without its end", "half", "nothing"])
def test_an_erasure_that_a_crash_interrupted_is_noted_when_it_is_asked_for_again(
    house: House, left: str
) -> None:
    """Killed after the commit: the words are gone, and the list of erasures has no line, or part of one."""
    ids = []
    for name in ("first", "second"):
        words = f"The {name} customer is called Parker and lives in the engine room."
        ids.append(house.ripley(memories.write, type="learning", content=words).memory)
        house.mother(memories.erase, ref=ids[-1], reason="personal")
    path = house.home / "erasures.jsonl"
    first, second = path.read_text().splitlines(keepends=True)
    cut = {
        "whole": second,
        "without its end": second.rstrip(),
        "half": second[: len(second) // 2],
        "nothing": "",
    }
    path.write_text(first + cut[left])
    with pytest.raises(MinutebookError) as again:
        house.mother(memories.erase, ref=ids[1], reason="personal")
    assert again.value.code == "erased"
    assert [noted.ref for noted in erasure.noted(house.home)] == ids
    third = house.ripley(memories.write, type="learning", content="The third one is called Kane, and is ill.")
    house.mother(memories.erase, ref=third.memory, reason="personal")
    assert [noted.ref for noted in erasure.noted(house.home)] == [*ids, third.memory]
