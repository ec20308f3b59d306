"""Restoring: a backup in the ledger's place, and everything erased since erased again.

No operation, because it must work where the ledger cannot be opened any more, and replaces the very database
that an operation would run in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from minutebook.call import Call, Caller, World
from minutebook.controller.erase import erase_memory, erase_proposal
from minutebook.ledger import (
    backup,
    derived,
    erasure,
    events,
    inbox,
    maintenance,
    memories,
    migrations,
    projects,
    tokens,
)
from minutebook.ledger.arrival import Terms
from minutebook.ledger.backup import Ground
from minutebook.ledger.database import Database, Tx
from minutebook.ledger.erasure import Erasure
from minutebook.model.actors import Actor, Origin
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Status
from minutebook.model.system import Restored

_REASON = "It was erased before the backup was restored, and stays erased."


def restore(url: str, source: Path, *, world: World, actor: Actor, wait: float, confirm: bool) -> Restored:
    """Put a backup in the ledger's place, or say what that would do."""
    terms = Terms(
        actor=actor.id,
        now=world.clock(),
        new_id=world.ids.new,
        secret=world.secret,
        noted=erasure.noted(world.home),
        whole=True,
    )
    ground = Ground(clock=world.clock, terms=terms, wait=wait)
    if url.startswith("sqlite://"):
        return _restore_file(url, source, ground, world, actor, confirm=confirm)
    return _restore_archive(url, source, ground, world, actor, confirm=confirm)


def _restore_file(
    url: str, source: Path, ground: Ground, world: World, actor: Actor, *, confirm: bool
) -> Restored:
    from minutebook.ledger.sqlite_files import path_of

    path = path_of(url)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = [*ground.terms.noted, *_erased_at_present(url, path, ground)]
    # Beside the ledger: a rename is atomic within one file system only.
    with TemporaryDirectory(prefix=".restore-", dir=path.parent) as folder:
        with backup.stage(source, Path(folder), ground) as staged:
            again = erase_again(staged, known, world, actor)
            revoked = staged.write("global", lambda tx: _revoke_tokens(tx, world, actor))
            derived.rebuild(staged)
            staged.write("global", lambda tx: _record(tx, world, actor, source, again))
            staged.checkpoint(*erasure.TABLES)
            with staged.read() as tx:
                rows, version = sum(backup.row_counts(tx).values()), migrations.version_of(tx)
        done = Restored(
            applied=False,
            file=str(source),
            where=str(path),
            schema_version=version,
            rows=rows,
            erased_again=again,
            kept=None,
            sentence=f"{source.name} is sound: {rows} rows would take the place of {path}; "
            f"give --confirm to do it. The present ledger is kept as a backup.{_told(revoked)}",
        )
        if not confirm:
            return done
        now = world.clock()
        kept = path.parent / "backups" / f"ledger-{backup.stamp(now)}-before-restore.db"
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        saved = backup.put_in_place(Path(folder) / "ledger.db", path, kept, wait=ground.wait, since=now)
    return replace(
        done,
        applied=True,
        kept=None if saved is None else str(saved),
        sentence=f"{path} is the ledger of {source.name} now, with {rows} rows.{_told(revoked)}",
    )


def _revoke_tokens(tx: Tx, world: World, actor: Actor) -> int:
    """Revoke what tokens a backup holds: it cannot know which of them were revoked since it was made."""
    reason = "A backup was restored, and its tokens with it."
    return tokens.revoke_everything(tx, by=actor.id, reason=reason, at=world.clock())


def _told(revoked: int) -> str:
    them = "one token is" if revoked == 1 else f"{revoked} tokens are"
    return f" Its {them} revoked: make new ones." if revoked else ""


def _erased_at_present(url: str, path: Path, ground: Ground) -> list[Erasure]:
    """What the present ledger knows to be erased, if it can still be asked; the list has it otherwise."""
    if not path.exists():
        return []
    try:
        with ground.open(url) as present, present.read() as tx:
            return erasure.known(tx)
    except MinutebookError as error:
        if error.code not in ("ledger_damaged", "ledger_newer"):
            raise
        return []


def _restore_archive(
    url: str, source: Path, ground: Ground, world: World, actor: Actor, *, confirm: bool
) -> Restored:
    """PostgreSQL: an archive, into an empty ledger; the server's own tools do the rest."""
    rows, version = _proved(source, ground, world.home)
    with ground.open(url) as database:
        backup.check_empty(database)
        where = database.facts().where
        done = Restored(
            applied=False,
            file=str(source),
            where=where,
            schema_version=version,
            rows=rows,
            erased_again=(),
            kept=None,
            sentence=f"{source.name} is sound: {rows} rows would come into the empty ledger {where}; "
            "give --confirm to do it.",
        )
        if not confirm:
            return done
        came = backup.take_archive(database, source, ground.terms)
        again = tuple(aside.id for aside in came.asides if aside.became == "erased")
        database.write("global", lambda tx: _record(tx, world, actor, source, again))
    return replace(
        done,
        applied=True,
        erased_again=again,
        sentence=f"{where} is the ledger of {source.name} now, with {rows} rows.",
    )


def _proved(source: Path, ground: Ground, home: Path) -> tuple[int, int]:
    """How many rows a backup holds, of which schema, told by restoring it once."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix=".restore-", dir=home) as folder,
        backup.stage(source, Path(folder), ground) as staged,
        staged.read() as tx,
    ):
        return sum(backup.row_counts(tx).values()), migrations.version_of(tx)


def _record(tx: Tx, world: World, actor: Actor, source: Path, again: tuple[str, ...]) -> None:
    detail = {"file": str(source), "erased_again": list(again)}
    maintenance.record(
        tx, id=world.ids.new(), kind="restore", actor=actor.id, detail=detail, at=world.clock()
    )


def erase_again(
    database: Database, erasures: Iterable[Erasure], world: World, actor: Actor
) -> tuple[str, ...]:
    """Erase, in a ledger that is older than them, everything that was erased; return what it still held."""
    known = {(one.ref, one.key, one.claims): one for one in erasures}.values()
    refs = dict.fromkeys(one.ref for one in known)
    found = [
        ref for ref in refs if database.write("global", lambda tx, ref=ref: _erase(tx, ref, world, actor))
    ]
    database.write(
        "global", lambda tx: erasure.lay_again(tx, known, new_id=world.ids.new, seq=events.last_seq(tx))
    )
    return tuple(found)


def _erase(tx: Tx, ref: str, world: World, actor: Actor) -> bool:
    """Erase a memory or proposal that still has its words; False when there is none."""
    proposal = inbox.get(tx, ref)
    memory = memories.get(tx, ref if proposal is None or proposal.memory is None else proposal.memory)
    if memory is not None and memory.status is not Status.ERASED:
        erase_memory(_call(tx, memory.scope.project, world, actor), memory, reason=_REASON)
        return True
    if proposal is not None and memory is None and proposal.slug != erasure.name_of(ref):
        erase_proposal(_call(tx, proposal.project, world, actor), proposal, reason=_REASON)
        return True
    return False


def _call(tx: Tx, project: str, world: World, actor: Actor) -> Call:
    caller = Caller(actor=actor, origin=Origin.CLI, project=projects.find(tx, project))
    return Call(tx=tx, caller=caller, world=world, now=world.clock())
