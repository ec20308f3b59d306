"""The house itself: its health, its copies, and archives that come and go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, MaxLen

from minutebook.call import LongCall, Preview
from minutebook.ledger import (
    archive,
    archive_reading,
    arrival,
    derived,
    embedding,
    erasure,
    maintenance,
    migrations,
    positions,
)
from minutebook.ledger import backup as backups
from minutebook.ledger import projects as kept
from minutebook.ledger.arrival import Arrival, Terms
from minutebook.ledger.backup import Ground
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.scopes import GLOBAL
from minutebook.model.system import Backup, Exported, Health, Imported, Reindexed
from minutebook.operations.checkup import examine
from minutebook.operations.registry import Access, Help, operation

#: Conflicts that an error lists; it tells the number of all.
_CONFLICTS_TOLD = 50


# --- health ------------------------------------------------------------------------------------------


@operation(Access.READ)
def health(call: LongCall) -> Health:
    """Say how the ledger is, from the inside: ok, degraded or failing, why, and what to do.

    Coordinators and operators of the whole ledger see all of it; everybody else the house and their project.

    Example:
        minutebook health
        minutebook health -o json
    """
    return examine(call)


# --- backup ------------------------------------------------------------------------------------------


@operation(Access.OPERATE)
def backup(
    call: LongCall,
    file: Annotated[Path | None, Help("where to; backups in the home if not given")] = None,
    keep: Annotated[int | None, Help("afterwards keep only so many of those in the home"), Ge(1)] = None,
) -> Backup:
    """Copy the ledger while it is in use, and prove the copy by restoring it.

    SQLite's own backup, opened as a ledger of its own and checked; on PostgreSQL a full archive, restored and
    written again. What does not pass is removed, and the command fails.

    Example:
        minutebook backup
        minutebook backup --file /mnt/safe/ledger.db
        minutebook backup --keep 14
    """
    _unbound(call)
    target = file or backups.default_target(call.database, call.world.home, call.now())
    ground = Ground(clock=call.world.clock, terms=_terms(call, whole=True))
    made = backups.make(call.database, target, ground)
    _note(call, "backup", {"file": made.file, "bytes": made.bytes, "rows": made.rows})
    if keep is None:
        return made
    folder = backups.default_target(call.database, call.world.home, call.now()).parent
    pruned = backups.prune(folder, keep) if folder.exists() else ()
    return Backup(made.file, made.bytes, made.rows, made.schema_version, made.proof, pruned)


def _unbound(call: LongCall) -> None:
    """What concerns the whole ledger is not for somebody who is bound to one project."""
    if call.actor.project is not None:
        raise MinutebookError(
            "other_project", f"{call.actor.name} is bound to one project; this concerns the whole ledger."
        )


def _terms(call: LongCall, *, whole: bool = False) -> Terms:
    return Terms(
        actor=call.actor.id,
        now=call.now(),
        new_id=call.world.ids.new,
        secret=call.world.secret,
        noted=() if whole else erasure.noted(call.world.home),
        whole=whole,
    )


def _note(call: LongCall, kind: str, detail: dict[str, object]) -> None:
    call.database.write("global", lambda tx: _record(call, tx, kind, detail))


def _record(call: LongCall, tx: Tx, kind: str, detail: dict[str, object]) -> None:
    maintenance.record(
        tx, id=call.world.ids.new(), kind=kind, actor=call.actor.id, detail=detail, at=call.now()
    )


# --- archives ----------------------------------------------------------------------------------------


@operation(Access.OPERATE)
def export(
    call: LongCall,
    file: Annotated[Path, Help("the archive to write")],
    project: Annotated[str | None, Help("only this project: id or slug"), MaxLen(300)] = None,
    force: Annotated[bool, Help("overwrite the file if it exists")] = False,
) -> Exported:
    """Write the whole ledger, or one project, as a portable archive.

    A ZIP of JSON lines that keeps ids, times, links, statuses, verdicts and history, of one moment of the
    ledger. The same content gives the same bytes. It holds everything in plain text: keep it as safe as the
    ledger. Tokens stay behind: an archive lets nobody in.

    Example:
        minutebook export ledger.zip
        minutebook export checkout.zip --project checkout-service
    """
    only = None
    if project is not None or call.actor.project is not None:
        with call.database.read() as tx:
            found = kept.find(tx, project or call.actor.project or "")
        if found is None or call.actor.project not in (None, found.id):
            raise MinutebookError(
                "not_found", f"There is no project {(project or '')[:80]!r}.", hint="minutebook projects list"
            )
        only = found.id
    manifest = archive.export(call.database, file, project=only, force=force)
    return Exported(
        file=str(file),
        bytes=file.stat().st_size,
        sha256=archive.sha256_of(file),
        project=only,
        rows=manifest.rows,
    )


@operation(Access.OPERATE)
def import_(
    call: LongCall,
    file: Annotated[Path, Help("the archive to read")],
    skip_conflicts: Annotated[bool, Help("leave out what is here already with other content")] = False,
    dry_run: Annotated[bool, Help("only say what would come in")] = False,
) -> Imported:
    """Read an archive, keeping ids, times, links and history: everything or nothing.

    Importing twice is the same as once. What is here already stands: a row of the same id with other content
    is a conflict, and the import is refused unless such rows are to be left out. An active memory whose name
    is taken or whose claim was rejected or retired here comes in put away. Words that were erased here do
    not come back.

    Example:
        minutebook import ledger.zip --dry-run
        minutebook import ledger.zip
    """
    # Whatever an archive says of itself, it may bring actors, global memory and other projects.
    _unbound(call)
    with call.database.read() as tx:
        known, schema = backups.columns_here(tx), migrations.version_of(tx)
    with archive_reading.opened(file, known, schema=schema) as source:
        lanes = sorted(id for id in arrival.projects_in(source) if id != GLOBAL)

        def work(tx: Tx) -> Imported:
            for lane in (*lanes[1:], GLOBAL):
                tx.lock(lane)
            came = arrival.receive(tx, source, _terms(call))
            if came.conflicts and not (skip_conflicts or dry_run):
                raise _conflict(came)
            done = _imported(file, came, applied=not dry_run)
            if dry_run:
                raise Preview(done)
            detail = {"file": str(file), "rows": came.rows, "known": came.known}
            _record(call, tx, "import", {**detail, "conflicts": len(came.conflicts)})
            # What came with events that were here already lies below where the files were followed to.
            _files_anew(tx)
            return done

        try:
            return call.database.write(lanes[0] if lanes else GLOBAL, work)
        except Preview as preview:
            return preview.value
        except MinutebookError as error:
            raise _refused(error) from error


def _refused(error: MinutebookError) -> MinutebookError:
    """What the database's own constraints say about an archive, as an error of the archive."""
    if error.code != "internal" and type(error) is MinutebookError:
        return error
    return MinutebookError(
        "bad_archive", f"The archive does not fit together. Nothing was written. ({error.message[:300]})"
    )


def _conflict(came: Arrival) -> MinutebookError:
    told = [
        f"{clash.table} {clash.id}: {', '.join(clash.differs)}" for clash in came.conflicts[:_CONFLICTS_TOLD]
    ]
    return MinutebookError(
        "exists",
        f"{len(came.conflicts)} rows of the archive are here with other content; nothing was imported.",
        hint="look with --dry-run, then leave them out with --skip-conflicts",
        conflicts=told,
    )


def _imported(file: Path, came: Arrival, *, applied: bool) -> Imported:
    total = sum(came.rows.values())
    verb = "came in" if applied else "would come in"
    parts = [f"{total} rows {verb}", f"{came.known} were known"]
    if came.conflicts:
        parts.append(f"{len(came.conflicts)} in conflict {'were' if applied else 'would be'} left out")
    if came.asides:
        parts.append(f"{len(came.asides)} not as they were")
    return Imported(
        applied=applied,
        file=str(file),
        rows=came.rows,
        known=came.known,
        conflicts=tuple(came.conflicts),
        asides=tuple(came.asides),
        sentence=", ".join(parts),
    )


@operation(Access.OPERATE)
def reindex(
    call: LongCall,
    vectors: Annotated[bool, Help("also embed everything anew, here and now; it may take long")] = False,
) -> Reindexed:
    """Build everything that is derived anew from the rows it is derived from.

    Texts, sketches of near duplicates and tags, some at a time, while others read and write. Vectors follow the
    words by themselves where a service runs, and are built here only when that is asked for.

    Example:
        minutebook reindex
        minutebook reindex --vectors
    """
    _unbound(call)
    # First: without a model there is nothing to do, and that is said before the long work begins.
    space = call.world.meaning.space() if vectors else None
    done = derived.rebuild(call.database)
    if space is not None:
        made = embedding.rebuild(call.database, space, call.world.meaning, call.world.clock)
        done = replace(done, vectors_made=made)
    call.database.write(GLOBAL, _files_anew)
    _note(call, "reindex", {"memories": done.memories, "proposals": done.proposals})
    return done


def _files_anew(tx: Tx) -> None:
    """Have the files of workspaces rendered from the start of the log; what is as it should be is not touched."""
    for follower in ("mirror", "notes"):
        positions.drop(tx, follower)
