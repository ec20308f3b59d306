"""Notes that are not there: never written, deleted by a hand, or taken away by something that meant no memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.files import note_taking
from minutebook.files.note_deciding import Absence, Loss, LossRules, loss
from minutebook.files.note_taking import missing
from minutebook.files.note_writing import Due
from minutebook.ledger import memories, readings
from minutebook.ledger.readings import Reading
from minutebook.model.files import FileDone, FileKind, FileState, WrittenFile
from minutebook.model.times import moment_of

if TYPE_CHECKING:
    from minutebook.files.note_pass import Pass

_ADVICE = "minutebook files sync --confirm-deletions retires it, --bring-back writes it again"


def lost_in(work: Pass, folder: str) -> tuple[int, int, bool]:
    """How many notes of a folder are missing that nobody was asked about, how many there are, and the folder."""
    names = work.listings[folder].names
    rows = [path for path in work.rows if path.rpartition("/")[0] == folder]
    gone = [path for path in rows if names is None or path.rpartition("/")[2] not in names]
    return sum(_is_missed(work.readings.get(path)) for path in gone), len(rows), names is not None


def _is_missed(reading: Reading | None) -> bool:
    """Whether a note that is not there once was, and nobody was asked about it."""
    if reading is None or reading.state is FileState.LATE:
        return False
    return not (reading.state is FileState.WAITING and reading.advice)


def absent(work: Pass, path: str, row: WrittenFile | None) -> None:
    """Deal with a path where nothing stands."""
    place, reading = work.desk.place, work.readings.get(path)
    if row is None:
        if reading is not None:
            work.desk.means.database.write(
                place.project, lambda tx: readings.drop(tx, place.host, place.root, path)
            )
        return
    line = work.lines.get(row.ref)
    if line is None:
        work.forget(path)
    elif reading is None or reading.state is FileState.LATE or work.wish.bring_back:
        work.writing.due.append(Due(path, row.ref, None))
    elif work.looked and work.settled:
        _missed(work, path, row, reading, changed=line.revision != row.base_revision)


def _missed(work: Pass, path: str, row: WrittenFile, reading: Reading, *, changed: bool) -> None:
    waits = reading.state is FileState.WAITING
    asked = waits and reading.advice != ""
    since = moment_of(work.desk.means.world.clock()) - moment_of(reading.at)
    gone, of_all, there = work.losses.get(path.rpartition("/")[0], (1, 1, False))
    found, why = loss(
        Absence(since.total_seconds() if waits else None, asked=asked, changed=changed),
        missing=gone,
        all_notes=of_all,
        folder=there,
        moved=work.moved,
        confirmed=work.wish.confirm_deletions,
        rules=LossRules(),
    )
    if found is Loss.RETIRE:
        with work.desk.means.database.read() as tx:
            memory = memories.get(tx, row.ref)
        assert memory is not None
        by = work.wish.by if work.wish.confirm_deletions else None
        work.done.append(note_taking.retire(work.desk, path, memory, why, by))
    elif found is Loss.ASK and not asked:
        work.put(replace(missing(work.desk, path, why=why, advice=_ADVICE), claimed=reading.claimed))
        work.done.append(FileDone(path=path, kind=FileKind.NOTE, done="waits", why=why))
    elif found is Loss.LOOK_AGAIN:
        if not waits:
            work.put(replace(missing(work.desk, path, why=why, advice=""), claimed=reading.claimed))
        work.done.append(FileDone(path=path, kind=FileKind.NOTE, done="missed", why=why))
