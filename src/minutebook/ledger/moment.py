"""The ledger at a place in its log, as one agent sees it, for whoever compiles a bundle of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from minutebook.ledger import events, past, shelves
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.memories import from_row
from minutebook.ledger.visibility import Reader
from minutebook.model.context import ContextRequest, Layer, LayerFault, LeftOut, Reason
from minutebook.model.memories import BOUNDARIES, Memory, Status
from minutebook.model.scopes import GLOBAL, ScopeKind
from minutebook.policy.limits import Limits
from minutebook.policy.shelving import Shelf, layer_of, shelf_of


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that was found, with its place in the order of creation and its shelf's words."""

    memory: Memory
    place: int
    words: str = ""


@dataclass(slots=True)
class Moment:
    """What is known of that place before the first layer is read."""

    tx: Tx
    request: ContextRequest
    limits: Limits
    reader: Reader
    #: nothing was written since
    fresh: bool
    #: memories that changed since, as they stood
    changed: list[Found] = field(default_factory=list)
    #: their shelves
    shelved: list[tuple[Found, Shelf]] = field(default_factory=list)
    #: the same by their places
    then: dict[int, Found] = field(default_factory=dict)
    #: memories of other projects that changed since: a link may lead to one of them
    elsewhere: list[past.Then] = field(default_factory=list)
    #: what was made of rows already: a memory may be in several layers
    made: dict[int, Found] = field(default_factory=dict)
    missing: list[LeftOut] = field(default_factory=list)
    #: what shares too little with the task
    weak: list[LeftOut] = field(default_factory=list)
    faults: list[LayerFault] = field(default_factory=list)

    @property
    def projects(self) -> list[str]:
        return list(dict.fromkeys((self.request.project, GLOBAL)))

    def at(self, rows: dict[int, Row], place: int) -> Found:
        """What is at a place, of the rows that were read, or as it stood."""
        then = self.then.get(place)
        if then is not None:
            return then
        made = self.made.get(place)
        if made is None:
            row = rows[place]
            self.made[place] = made = Found(from_row(row), place, row["words"])
        return made


def moment_of(tx: Tx, request: ContextRequest, limits: Limits) -> Moment:
    """The moment that a request is about, with all that changed since as it stood then."""
    reader = Reader(request.project, request.agent)
    moment = Moment(tx, request, limits, reader, fresh=events.last_seq(tx) <= request.seq)
    if not moment.fresh:
        for then in past.changed_since(tx, request.seq):
            _put_back(moment, then)
    return moment


def _put_back(moment: Moment, then: past.Then) -> None:
    memory = then.memory
    if memory.status is not Status.ACTIVE:
        return
    if memory.scope.project not in moment.projects:
        moment.elsewhere.append(then)
        return
    if then.erased:
        if memory.scope.kind is not ScopeKind.AGENT or memory.scope.agent == moment.request.agent:
            layer = Layer.BOUNDARY if memory.type in BOUNDARIES else layer_of(memory) or Layer.RELEVANT
            moment.missing.append(LeftOut(memory.id, layer, memory.type.value, memory.slug, Reason.ERASED))
        return
    shelf = shelf_of(memory)
    found = Found(memory, shelves.place_of(then.created_seq), "" if shelf is None else shelf.words)
    moment.changed.append(found)
    if shelf is not None:
        moment.shelved.append((found, shelf))
        moment.then[found.place] = found
