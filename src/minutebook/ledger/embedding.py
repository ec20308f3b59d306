"""Keeps the vectors of a space in step with the words: what is new first, then what is behind, some at a time.

The log says what changed while we look; what changed before is found by looking through the memories once. So
nothing that was missed, lost or spoilt stays so, and no place in the log has to be kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from minutebook.ledger import vectors
from minutebook.ledger.database import Database, Tx
from minutebook.ledger.vectors import Vector, Wanting
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Space
from minutebook.model.times import moment_of, text_of
from minutebook.policy.passages import digest, passages

#: Memories that are embedded before we look again for newer ones.
_AT_ONCE = 16
#: Events that are read at once.
_EVENTS = 500
#: Vectors of a space that nobody uses any more, removed in one write.
_REMOVED = 500
#: How long a space that is not in use is kept, for who goes back to the model of before.
_KEPT = timedelta(days=1)
_ENTERED_EVERY = timedelta(hours=1)


class Embed(Protocol):
    """Whoever puts passages into numbers."""

    def embed(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        """For the passages of each memory their vectors in float16, one after the other."""
        ...

    def forget(self, refs: Sequence[str]) -> None:
        """Let go of what is held in memory of these."""
        ...


class Follower:
    """Follows the words of one ledger in one space."""

    def __init__(self, database: Database, space: Space, embed: Embed, clock: Callable[[], str]) -> None:
        self._database, self.space, self._embed, self._clock = database, space, embed, clock
        self._seq: int | None = None
        self._before: str | None = None
        self._looking = True
        self._entered: str | None = None
        #: memories whose words the embedder will not take, and of which revision
        self.refused: dict[str, int] = {}
        self.done = 0

    def step(self, ending: threading.Event) -> None:
        """Do all that there is to do, or as much as there is time for."""
        self._enter()
        while not ending.is_set():
            if not (self._newest() or self._backlog()):
                break
        else:
            return
        self._tidy(ending)

    def missing(self) -> int:
        """How many memories have no vector yet."""
        with self._database.read() as tx:
            return vectors.count(tx, self.space.id)[1]

    @property
    def behind(self) -> bool:
        """Whether older memories are still looked through."""
        return self._looking

    def _enter(self) -> None:
        now = self._clock()
        if self._entered is None or moment_of(now) - moment_of(self._entered) > _ENTERED_EVERY:
            self._database.write("global", lambda tx: vectors.enter(tx, self.space, now))
            self._entered = now
        if self._seq is None:
            with self._database.read() as tx:
                self._seq = tx.settled

    def _newest(self) -> bool:
        """Embed what the log tells of; whether it told of anything."""
        assert self._seq is not None
        with self._database.read() as tx:
            refs, erased, last = vectors.touched(tx, self._seq, _EVENTS)
            wanted = vectors.wanting(tx, self.space.id, refs)
        if erased:
            self._embed.forget(erased)
        for start in range(0, len(wanted), _AT_ONCE):
            self._take(wanted[start : start + _AT_ONCE])
        moved, self._seq = last > self._seq, last
        return moved

    def _backlog(self) -> bool:
        """Embed some of what is behind; whether there may be more."""
        if not self._looking:
            return False
        with self._database.read() as tx:
            refs = vectors.behind(tx, self.space.id, before=self._before, limit=_AT_ONCE)
            wanted = vectors.wanting(tx, self.space.id, refs)
        if not refs:
            self._looking = False
            return False
        self._take(wanted)
        self._before = refs[-1]
        return True

    def _take(self, wanted: Sequence[Wanting]) -> None:
        cut = [(one, passages(one.memory)) for one in wanted if not self._known_bad(one)]
        same = [one for one, parts in cut if _same(one, parts)]
        fresh = [(one, parts) for one, parts in cut if not _same(one, parts)]
        made = self._vectors(fresh)
        for project in dict.fromkeys(one.memory.scope.project for one, _ in cut):
            mine = [vector for vector in made if vector.project == project]
            kept = [one for one in same if one.memory.scope.project == project]
            # In the lane of the project, as an erasure is: the words cannot go between the look and the write.
            self._database.write(project, lambda tx, mine=mine, kept=kept: self._put(tx, mine, kept))
        self.done += len(made)

    def _put(self, tx: Tx, made: Sequence[Vector], same: Sequence[Wanting]) -> None:
        for vector in made:
            vectors.put(tx, self.space.id, vector)
        for one in same:
            vectors.keep(tx, self.space.id, one.memory.id, one.memory.revision)

    def _vectors(self, fresh: Sequence[tuple[Wanting, list[str]]]) -> list[Vector]:
        if not fresh:
            return []
        try:
            numbers = self._embed.embed([parts for _, parts in fresh])
        except MinutebookError as error:
            if error.code != "invalid_input":
                raise
            if len(fresh) == 1:
                memory = fresh[0][0].memory
                self.refused[memory.id] = memory.revision
                return []
            # One text that the embedder will not take costs the others nothing.
            return [vector for one in fresh for vector in self._vectors([one])]
        return [
            Vector(
                ref=one.memory.id,
                project=one.memory.scope.project,
                revision=one.memory.revision,
                digest=digest(parts),
                numbers=made,
            )
            for (one, parts), made in zip(fresh, numbers, strict=True)
        ]

    def _known_bad(self, one: Wanting) -> bool:
        return self.refused.get(one.memory.id) == one.memory.revision

    def _tidy(self, ending: threading.Event) -> None:
        """Remove spaces that nobody has used for a while."""
        since = text_of(moment_of(self._clock()) - _KEPT)
        with self._database.read() as tx:
            unused = vectors.unused(tx, since)
        for space in unused:
            while not ending.is_set():
                if (
                    self._database.write("global", lambda tx, id=space: vectors.shrink(tx, id, _REMOVED))
                    < _REMOVED
                ):
                    break


def rebuild(database: Database, space: Space, embed: Embed, clock: Callable[[], str]) -> int:
    """Make every vector of a space anew, and remove all others; how many were made."""
    with database.read() as tx:
        known = vectors.unused(tx, clock())
    for id in known:
        while database.write("global", lambda tx, id=id: vectors.shrink(tx, id, _REMOVED)) == _REMOVED:
            continue
    follower = Follower(database, space, embed, clock)
    follower.step(threading.Event())
    return follower.done


def _same(one: Wanting, parts: list[str]) -> bool:
    return one.digest == digest(parts) and one.project == one.memory.scope.project
