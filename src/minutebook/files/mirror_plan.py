"""What should stand at each path of a workspace, from one snapshot of the ledger and the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from minutebook.files.lines import sha256_of
from minutebook.files.mirror_documents import (
    INBOX,
    Document,
    Rendered,
    Sort,
    document_at,
    documents_of,
    everything,
    rendered,
)
from minutebook.files.place import Place
from minutebook.ledger import manifest, mirror, positions
from minutebook.ledger.database import Tx
from minutebook.ledger.mirror import Touched
from minutebook.model.files import FileKind, WrittenFile

#: The name of the mirror in the table of positions.
FOLLOWER = "mirror"
#: Beyond so many changes at once everything is rendered anew.
_MOST_CHANGES = 2_000
#: Events of other projects after which a position is brought up all the same.
_FAR = 10_000
_KINDS = (FileKind.MIRROR, FileKind.INBOX)


@dataclass(frozen=True, slots=True)
class Target:
    """What should stand at a path: the row that the manifest should have, and the one that it has."""

    row: WrittenFile
    before: WrittenFile | None
    #: its bytes, where they were rendered
    data: bytes | None = None
    #: rows of the ledger that cannot be shown in it
    left_out: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def document(self) -> Document:
        return document_at(self.row.path, self.row.kind, self.row.ref)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass is about."""

    #: up to where the log is followed by it, and whether that is further than before
    seq: int
    moved: bool
    targets: tuple[Target, ...]


def make(tx: Tx, place: Place, strays: Sequence[str] | None) -> Plan:
    """The plan of a pass: of everything, and of paths beside it (`strays`), or only of what happened since the last."""
    seq, position = tx.settled, positions.get(tx, FOLLOWER, place.part)
    changes = None
    if 0 < position <= seq:
        changes = mirror.touched(tx, place.project, position, most=_MOST_CHANGES)
    if changes is None:
        rows = _rows(tx, place)
        targets = list(_targets(place, rows, everything(tx, place.project), rows.values()))
    else:
        rows = _rows(tx, place) if strays is not None else {}
        shown = rendered(tx, place.project, _documents(changes))
        offered = manifest.of_refs(tx, place.host, place.root, changes.proposals)
        rows |= {row.path: row for row in offered}
        for path in [each.path for each in shown if each.path not in rows]:
            row = manifest.get(tx, place.host, place.root, path)
            rows |= {} if row is None else {path: row}
        targets = list(_targets(place, rows, shown, offered))
    planned = {target.path for target in targets}
    targets += [_stray(place, path) for path in strays or () if path not in planned]
    # A workspace of a project at rest is not written down anew for every event of the others.
    moved = changes is None or changes.any or seq - position > _FAR
    return Plan(seq, moved, tuple(targets))


def again(tx: Tx, place: Place, targets: Sequence[Target]) -> dict[str, Target]:
    """The same targets as they should stand now, with their bytes; one that should not stand any more has none."""
    shown = {each.path: each for each in rendered(tx, place.project, [each.document for each in targets])}
    renewed = {}
    for target in targets:
        found = shown.get(target.path)
        data = None if found is None else found.data
        row = replace(target.row, digest="" if data is None else sha256_of(data))
        renewed[target.path] = replace(target, row=row, data=data)
    return renewed


def _rows(tx: Tx, place: Place) -> dict[str, WrittenFile]:
    return {row.path: row for row in manifest.of_root(tx, place.host, place.root, _KINDS)}


def _documents(changes: Touched) -> Iterator[Document]:
    for state in changes.states:
        yield from documents_of(state)
    for id in changes.proposals:
        yield Document(Sort.PROPOSAL, id)
    if changes.session:
        yield Document(Sort.NOW)


def _targets(
    place: Place, rows: dict[str, WrittenFile], shown: Sequence[Rendered], gone: Iterable[WrittenFile]
) -> Iterator[Target]:
    """What was rendered, what of `gone` was not and so should stand no more, and what stays as the manifest has it."""
    done: set[str] = set()
    for each in shown:
        before = rows.get(each.path)
        if each.data is None and before is None:
            continue
        done.add(each.path)
        digest = "" if each.data is None else sha256_of(each.data)
        row = _row(place, each.path, each.document, digest)
        yield Target(row, before, each.data, each.left_out)
    for row in gone:
        if row.path not in done:
            done.add(row.path)
            yield Target(replace(row, digest=""), row)
    yield from (Target(row, row) for row in rows.values() if row.path not in done)


def _stray(place: Place, path: str) -> Target:
    kind = FileKind.INBOX if path.startswith(INBOX) else FileKind.MIRROR
    return Target(_row(place, path, document_at(path, kind, ""), ""), None)


def _row(place: Place, path: str, document: Document, digest: str) -> WrittenFile:
    return WrittenFile(
        host=place.host,
        root=place.root,
        path=path,
        project=place.project,
        kind=document.kind,
        ref=document.about,
        digest=digest,
        seq=0,
        at="",
    )
