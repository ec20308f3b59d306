"""The mirror: generated Markdown that follows the ledger, in each workspace of a project.

A pass reads what should stand, looks at what does, notes in the manifest what it is about to do, and does it. The
manifest is what is left to do: whatever a crash, a full disk or a folder without leave kept from being written is
found by the next pass, because the file does not hold what the manifest says.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minutebook.call import LongCall
from minutebook.files import mirror_plan, safe_writing
from minutebook.files.glimpses import MOST_BYTES, Glimpses
from minutebook.files.listing import Listing
from minutebook.files.mirror_plan import FOLLOWER, Plan, Target
from minutebook.files.mirror_rules import Act, act, standing
from minutebook.files.place import Means, Place, enter
from minutebook.files.safe import Root
from minutebook.ledger import events, manifest, positions, sources
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FileDone, FileKind, FileLine, FileState, Wish, WrittenFile
from minutebook.model.text import visible
from minutebook.policy.screening import Family, Tier, screen

#: The largest file that is kept as a source before it is replaced.
_MOST_KEPT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """A target, what was found in its place, and what is to be done about it."""

    target: Target
    found: str | None
    act: Act
    #: why it could not be looked at
    fault: str = ""


class MirrorPart:
    """Keeps the generated files of any workspace. One pass at a time for each of them."""

    def __init__(self) -> None:
        self.glimpses = Glimpses()
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        #: why a file could not be written when that was last tried, by root and path
        self._failures: dict[tuple[str, str], str] = {}

    def look(self, means: Means, place: Place, *, settled: bool = False) -> Sequence[FileLine]:
        root, binding = enter(place)
        with root:
            if not binding.mirror:
                return ()
            return [self._line(root, place, seen) for seen in self._all(means, root, place)]

    def settle(self, means: Means, place: Place, wish: Wish) -> Sequence[FileDone]:
        return self.run(means, place)

    def run(self, means: Means, place: Place, *, whole: bool = True) -> list[FileDone]:
        """One pass. `whole` looks at every file; else only what happened since the last pass is followed."""
        with self._lock_of(place):
            root, binding = enter(place)
            with root:
                if not binding.mirror:
                    return []
                listing = Listing.of(root) if whole else None
                done = [] if listing is None else _swept(root, listing)
                with means.database.read() as tx:
                    plan = mirror_plan.make(tx, place, None if listing is None else listing.strays())
                seen = self._see(means, root, place, plan, listing)
                _note(means, place, plan, seen)
                done += self._carry_out(means, root, place, plan, seen)
        return done

    def take_over(self, call: LongCall, place: Place, path: str) -> bool:
        """Make what stands at a path ours to replace, once its bytes are kept; False where nothing was left alone."""
        path = path.removeprefix(f"{place.root}/")
        with self._lock_of(place):
            root, binding = enter(place)
            with root:
                if not binding.mirror:
                    return False
                means = Means(call.database, call.world)
                left = [seen for seen in self._all(means, root, place) if seen.act is Act.LEAVE]
                if path not in [seen.target.path for seen in left]:
                    return False
                found = root.read(path, most=_MOST_KEPT)
        if found is None:
            return False
        keep_whole(call, path, found.data)
        return True

    def _lock_of(self, place: Place) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(place.root, threading.Lock())

    def _all(self, means: Means, root: Root, place: Place) -> list[Seen]:
        """Every path of a workspace, as a whole pass sees it."""
        listing = Listing.of(root)
        with means.database.read() as tx:
            plan = mirror_plan.make(tx, place, listing.strays())
        return self._see(means, root, place, plan, listing)

    def _see(
        self, means: Means, root: Root, place: Place, plan: Plan, listing: Listing | None = None
    ) -> list[Seen]:
        """Look at every path of a plan, and say what is to be done there."""
        found: list[tuple[Target, str | None, str]] = []
        for target in plan.targets:
            path = target.path
            try:
                named = root.look(path) if listing is None else listing.look(root, path)
                digest = named and self.glimpses.digest(root, path, named, means.world.clock)
                found.append((target, digest, ""))
            except MinutebookError as error:
                found.append((target, None, error.message))
        if not found:
            return []
        with means.database.read() as tx:
            seen = [_judged(tx, place, *each) for each in found]
            # What fell out of step without an event was not rendered: now it is, as it should stand by now.
            bare = [each.target for each in seen if each.act is Act.WRITE and each.target.data is None]
            renewed = mirror_plan.again(tx, place, bare) if bare else {}
            seen = [
                _judged(tx, place, renewed[each.target.path], each.found, "")
                if each.target.path in renewed
                else each
                for each in seen
            ]
        return [each for each in seen if _is_ours_to_tell(each)]

    def _line(self, root: Root, place: Place, seen: Seen) -> FileLine:
        target = seen.target
        path, kind = target.path, target.row.kind
        if seen.fault:
            return FileLine(path, kind, FileState.UNREADABLE, seen.fault)
        if seen.act is Act.LEAVE:
            return _left(root, target)
        if seen.act is Act.NOTHING and target.left_out:
            return FileLine(path, kind, FileState.UNREADABLE, _cannot_show(target.left_out))
        if seen.act is Act.NOTHING:
            return FileLine(path, kind, FileState.IN_STEP)
        why = "it is not written yet" if seen.found is None else "the ledger has moved on"
        why = "it is to be removed" if seen.act is Act.REMOVE else why
        why = self._failures.get((place.root, path), why)
        return FileLine(path, kind, FileState.LATE, why, "minutebook files sync")

    def _carry_out(
        self, means: Means, root: Root, place: Place, plan: Plan, seen: Sequence[Seen]
    ) -> list[FileDone]:
        done: list[FileDone] = []
        gone: list[str] = []
        for each in seen:
            told = _done(root, each, means)
            if told is not None:
                done.append(told)
            key = (place.root, each.target.path)
            if told is not None and told.done == "failed":
                self._failures[key] = told.why
            else:
                self._failures.pop(key, None)
                finished = told is None or told.done == "removed"
                if finished and not each.target.row.digest and each.target.before is not None:
                    gone.append(each.target.path)
        _close(means, place, plan, seen, gone)
        return done


def keep_whole(call: LongCall, path: str, data: bytes) -> None:
    """Keep a file as a source, byte for byte, and let it be replaced from then on. Both, or neither."""
    found = screen({"content": data.decode(errors="replace")})
    rules = [each.rule for each in found if each.family is Family.SECRET and each.tier is Tier.REFUSE]
    if rules:
        raise MinutebookError(
            "secret",
            f"{visible(path)} holds what looks like a credential ({rules[0]}); it is neither kept nor replaced.",
            path=path,
            rule=rules[0],
            hint="take it out of the file, or move the file away",
        )
    material = sources.Material(
        project=call.project.id,
        kind="import",
        title=path,
        content=data,
        locator=path,
        capture_mode="replaced",
    )

    def work(tx: Tx) -> None:
        at = call.now()
        sources.keep(tx, call.world.ids.new(), material, by=call.actor.id, at=at)
        manifest.remember(tx, call.project.id, path, material.digest, events.last_seq(tx))

    call.database.write(call.project.id, work)


def _judged(tx: Tx, place: Place, target: Target, found: str | None, fault: str) -> Seen:
    if fault:
        return Seen(target, None, Act.LEAVE, fault)
    wanted, before = target.row.digest, target.before
    known = False
    if found is not None and found != wanted:
        # The last rendering is in the row itself: of what was erased, no other trace of its name is kept.
        last = before is not None and before.stands and before.digest == found
        known = last or manifest.knows(tx, place.project, target.path, found)
    return Seen(target, found, act(found, wanted, known=known))


def _is_ours_to_tell(seen: Seen) -> bool:
    """Whether it concerns us: where we want nothing and never wrote, what stands is nobody's business but theirs."""
    wanted = bool(seen.target.row.digest) or seen.target.before is not None
    return wanted or seen.act is Act.REMOVE


def _note(means: Means, place: Place, plan: Plan, seen: Sequence[Seen]) -> None:
    """Put down what should stand, before any file is touched; and how far the log was followed, if nothing has to go."""
    news = [row for each in seen if (row := _news(each)) is not None]
    follows = plan.moved and not _removals(seen)
    if not news and not follows:
        return
    at = means.world.clock()

    def work(tx: Tx) -> None:
        for row in news:
            manifest.put(tx, replace(row, seq=plan.seq, at=at))
        if follows:
            positions.put(tx, FOLLOWER, plan.seq, at, place.part)

    means.database.write(place.project, work)


def _close(means: Means, place: Place, plan: Plan, seen: Sequence[Seen], gone: Sequence[str]) -> None:
    """Forget the files that are gone, and only then go on in the log.

    What could not be removed keeps the row that knows it for ours: of erased words nothing else does any more.
    """
    removals = _removals(seen)
    follows = plan.moved and bool(removals) and removals <= set(gone)
    if not gone and not follows:
        return
    at = means.world.clock()

    def work(tx: Tx) -> None:
        for path in gone:
            manifest.drop(tx, place.host, place.root, path)
        if follows:
            positions.put(tx, FOLLOWER, plan.seq, at, place.part)

    means.database.write(place.project, work)


def _removals(seen: Sequence[Seen]) -> set[str]:
    """The files of the manifest that are to go."""
    return {each.target.path for each in seen if each.act is Act.REMOVE and each.target.before is not None}


def _news(seen: Seen) -> WrittenFile | None:
    """The row that the manifest should have, if it has another one."""
    before, row = seen.target.before, seen.target.row
    if seen.act is Act.REMOVE or (not row.digest and (before is None or seen.found is None)):
        return None  # it goes from the manifest after its file, or was never in it
    row = replace(row, stands=seen.act is not Act.LEAVE or (before is not None and before.stands))
    if before is not None and (before.digest, before.ref, before.stands) == (row.digest, row.ref, row.stands):
        return None
    return row


def _done(root: Root, seen: Seen, means: Means) -> FileDone | None:
    """Do what is to be done at one path, and say what became of it; None where there was nothing to do."""
    target, new_id = seen.target, means.world.ids.new
    path, kind = target.path, target.row.kind
    if seen.fault:
        return FileDone(path=path, kind=kind, done="failed", why=seen.fault)
    try:
        match seen.act:
            case Act.WRITE:
                assert target.data is not None
                safe_writing.write(root, path, target.data, was=seen.found, new_id=new_id)
                return FileDone(path=path, kind=kind, done="written")
            case Act.REMOVE:
                assert seen.found is not None
                safe_writing.delete(root, path, was=seen.found, new_id=new_id)
                return FileDone(path=path, kind=kind, done="removed")
            case Act.LEAVE:
                line = _left(root, target)
                return FileDone(path=path, kind=kind, done="left", why=f"{line.state.value}: {line.why}")
            case Act.NOTHING:
                return None
    except MinutebookError as error:
        return FileDone(path=path, kind=kind, done="failed", why=error.message)


def _left(root: Root, target: Target) -> FileLine:
    """A file that is left alone, and why."""
    stands = target.before is not None and target.before.stands
    try:
        found = root.read(target.path, most=MOST_BYTES)
    except MinutebookError as error:
        return FileLine(target.path, target.row.kind, FileState.UNREADABLE, error.message)
    state, why, advice = standing(b"" if found is None else found.data, stands=stands)
    return FileLine(target.path, target.row.kind, state, why, advice)


def _cannot_show(ids: Sequence[str]) -> str:
    return f"{len(ids)} rows of the ledger cannot be shown, and are left out: {', '.join(ids[:5])}"


def _swept(root: Root, listing: Listing) -> list[FileDone]:
    """Remove what a crash left of our own writes."""
    done = []
    for folder, names in listing.folders.items():
        if not any(safe_writing.is_ours(name) for name in names):
            continue
        try:
            swept = safe_writing.sweep(root, folder)
        except MinutebookError as error:
            done.append(FileDone(path=folder, kind=FileKind.MIRROR, done="failed", why=error.message))
            continue
        done += [FileDone(path=path, kind=FileKind.MIRROR, done="swept") for path in swept.removed]
        done += [
            FileDone(path=path, kind=FileKind.MIRROR, done="left", why="a crash left it, and it is not ours")
            for path in swept.kept
        ]
    return done
