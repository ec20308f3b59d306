"""Looking at night whether the index of words is sound, and building anew what is derived where it is not."""

from __future__ import annotations

from minutebook.engine.jobs import Desk
from minutebook.ledger import derived, rot
from minutebook.model.errors import MinutebookError
from minutebook.model.times import moment_of

#: Texts that are looked through in one snapshot, and in one night.
_AT_ONCE = 1_000
_A_NIGHT = 100_000


def tend(desk: Desk) -> str:
    """A sentence about the index, for the job's record. Of a large ledger each night looks through some."""
    if _sound(desk):
        return ""
    # All of it, and not the index alone: the byte may have turned over in a text.
    built = derived.rebuild(desk.database)
    return f" The index of words was damaged; the texts of {built.memories} memories were built anew."


def _sound(desk: Desk) -> bool:
    try:
        with desk.read() as tx:
            after = rot.beginning(tx, moment_of(desk.world.clock()).toordinal(), _A_NIGHT)
        left = _A_NIGHT
        while after is not None and left > 0:
            desk.check()
            with desk.read() as tx:
                looked = rot.look(tx, after, _AT_ONCE)
            if looked.lost:
                return False
            after, left = looked.last, left - _AT_ONCE
    except MinutebookError as error:
        if error.code != "ledger_damaged":
            raise
        return False
    return True
