"""Whose words a file's are, to the controller: whoever can write the file wrote them, and nobody stands for them.

A name in a letter is a claim. It is shown as the author where it costs nobody anything: the name of an agent of the
project, or one that nobody bears. The names of people with more authority than an agent's are not for files to use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from minutebook.call import Call, Caller
from minutebook.files.place import Means, Place
from minutebook.ledger import actors, projects
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role, rank
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.model.text import check_name, fold_name

#: Who speaks in a file that names nobody: a person can then review what it says, though they may have written it.
NOBODY = Actor(id="file", name="file", role=Role.AGENT)
#: What people put behind a name: `Keaton (Lead)`.
_BEHIND = re.compile(r"\s*[(\[].*$")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hands:
    """Who writes files on this machine: the person who runs the program, and those whom files name."""

    person: str

    def own(self, tx: Tx) -> Actor:
        """The local person with the authority of an agent; nobody, where they may write nothing any more."""
        id = fold_name(self.person)
        known = actors.get(tx, id)
        if known is None:
            return Actor(id=id, name=self.person, role=Role.AGENT)
        if known.retired_at is not None or rank(known.role) < rank(Role.AGENT):
            return NOBODY
        return replace(known, role=Role.AGENT)

    def named(self, tx: Tx, claimed: str | None, project: str) -> Actor:
        """The author whom a letter names, where that name is free or an agent's; else nobody."""
        try:
            name = check_name(_BEHIND.sub("", claimed or ""), "agent")
        except MinutebookError:
            return NOBODY  # it names nobody, or by a name that nobody could bear
        id = fold_name(name)
        if id == fold_name(self.person):
            return NOBODY
        known = actors.get(tx, id)
        if known is None:
            return Actor(id=id, name=name, role=Role.AGENT)
        free = known.retired_at is None and known.project in (None, project)
        return known if free and known.role is Role.AGENT else NOBODY


def call_of(tx: Tx, means: Means, place: Place, actor: Actor) -> Call:
    """The call of whoever wrote a file. How many files are read is bounded by the pass, not by the minute."""
    project = tx.remember(("project", place.project), lambda: projects.find(tx, place.project))
    caller = Caller(actor=actor, origin=Origin.FILE, project=project)
    world = replace(means.world, limits=replace(means.world.limits, writes_per_minute=0))
    return Call(tx=tx, caller=caller, world=world, now=means.world.clock())


class _Undone(Exception):
    """Raised to have a trial undone."""


def tried(tx: Tx, work: Callable[[], T]) -> T | MinutebookError:
    """What comes of some work, which is undone again."""
    answers: list[T | MinutebookError] = []
    try:
        with tx.savepoint():
            try:
                answers.append(work())
            except MinutebookError as error:
                answers.append(error)
            raise _Undone
    except _Undone:
        # Rows that were looked up meanwhile are not there any more.
        tx.forget()
    return answers[0]


def written(tx: Tx, work: Callable[[], T]) -> T | MinutebookError:
    """What comes of some work, which stays done; and so does the record of a refusal. Any other error undoes it."""
    refused: Refusal
    try:
        with tx.savepoint():
            try:
                return work()
            except Refusal as refusal:
                refused = refusal
    except MinutebookError as error:
        tx.forget()
        return error
    return refused


def first_free(tx: Tx, who: Sequence[Actor], held: Callable[[Actor], bool]) -> Actor:
    """The first of them whose write is not held for review; the last one else, so that a proposal is theirs."""
    for actor in who[:-1]:
        if tried(tx, lambda actor=actor: held(actor)) is False:
            return actor
    return who[-1]
