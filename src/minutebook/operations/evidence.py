"""Evidence as operations handle it: cited when something is written, looked at again when it is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.call import Call
from minutebook.model.evidence import Evidence, parse_evidence, spelled
from minutebook.model.memories import Memory
from minutebook.model.text import one_line

if TYPE_CHECKING:
    from minutebook.model.runs import Checked


def cited(call: Call, given: Iterable[str]) -> tuple[Evidence, ...]:
    """What a caller cites, each file with the hash of the lines as they are now, where they can be seen."""
    pieces = [parse_evidence(one_line(item)) for item in given]
    if not pieces:
        return ()
    witness = call.witness
    return tuple(replace(piece, digest=witness.digest(piece)) for piece in pieces)


def checked(call: Call, memories: Iterable[Memory]) -> list[Checked]:
    """Every piece of evidence of these memories, looked at now."""
    from minutebook.model.runs import Checked  # for few commands, and it takes a while to load

    witness = call.witness
    found = []
    for memory in memories:
        for piece in memory.evidence:
            state, because = witness.why(piece)
            found.append(Checked(memory.id, memory.slug, spelled(piece), state, because))
    return found
