"""What a bundle is compiled from, read as the ledger stood at a place in its log.

A memory unchanged since then is read as it stands; one that changed is read from its revisions and takes part as
it stood. Both are found by the same rule (policy/shelving.py), so that the same place gives the same material on
either database, in any process, today and later. What was erased since cannot come back, and is said to be
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from minutebook.ledger import inbox, sessions, shelves
from minutebook.ledger.database import Row, Tx
from minutebook.ledger.memories import from_row, scope_of
from minutebook.ledger.moment import Found, Moment, moment_of
from minutebook.ledger.plain import load_tags
from minutebook.ledger.relevant import BEYOND, Abroad, Likely, likely_abroad, likely_here, scored
from minutebook.ledger.shelves import Wanted
from minutebook.model.actors import Role
from minutebook.model.context import (
    WORST_FIRST,
    ContextRequest,
    EvidenceState,
    Layer,
    LayerFault,
    LeftOut,
    Reason,
)
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence
from minutebook.model.memories import BOUNDARIES, Memory
from minutebook.model.sessions import Session
from minutebook.policy.compilation import Material, Waiting
from minutebook.policy.limits import Limits
from minutebook.policy.shadowing import Named, shadows
from minutebook.policy.shelving import EVERYONE, reader_in, reader_of, session_reader

T = TypeVar("T")
States = Callable[[Evidence], EvidenceState]

#: Roles that can let in what governs; the scribe does it by the coordinators' rule.
_MAY_DECIDE = frozenset({Role.COORDINATOR.value, Role.OPERATOR.value, Role.SCRIBE.value})
#: What a row or an index that cannot be read raises.
_UNREADABLE = (MinutebookError, ValueError, KeyError, TypeError)


def unverifiable(_: Evidence) -> EvidenceState:
    """What evidence is worth where nobody can look at it."""
    return EvidenceState.UNVERIFIABLE


def gather(tx: Tx, request: ContextRequest, limits: Limits, states: States = unverifiable) -> Material:
    """Read all that a bundle is compiled from.

    The boundaries are read first, and what is wrong with them is raised. A lower layer that cannot be read
    is a fault of the bundle and costs nothing else.
    """
    moment = moment_of(tx, request, limits)
    boundaries = _boundaries(moment)
    material = Material(
        boundaries=boundaries,
        # All that could hide a boundary is a boundary, and here.
        hidden=frozenset(shadows((moment.reader.depth(one.scope), one) for one in boundaries)),
        evidence=_states(boundaries, states),
        missing=moment.missing,
    )
    return material if request.child else _lower(moment, material, states)


def _lower(moment: Moment, above: Material, states: States) -> Material:
    """All that stands below the boundaries: first where it is, then all rows at once, then each layer."""
    request = moment.request
    session = _reading(moment, [Layer.SESSION], lambda: _session(moment), None)
    seen = _readers(moment, session)
    layers = _layers_of(request, moment.limits)
    places = _reading(moment, list(layers), lambda: _places(moment, layers, seen), {})
    likely, abroad = Likely(), Abroad()
    if request.task:
        likely = _reading(moment, [Layer.RELEVANT], lambda: likely_here(moment, seen), likely)
        abroad = _reading(moment, [Layer.RELEVANT], lambda: likely_abroad(moment, likely), abroad)
    about = [*likely.places, *abroad.likely.places]
    touched = [*(layer for layer in places if places[layer]), *([Layer.RELEVANT] if about else [])]
    wanted = list(dict.fromkeys([place for each in places.values() for place in each] + about))
    rows = _reading(moment, touched, lambda: _rows(moment, wanted), {})
    found = {
        layer: _making(moment, layer, lambda each=each: [moment.at(rows, place).memory for place in each], [])
        for layer, each in places.items()
    }
    relevant = _making(moment, Layer.RELEVANT, lambda: scored(moment, likely, abroad, rows), [])
    origins = {memory.id: abroad.called[memory.scope.project] for memory, _ in relevant if abroad.has(memory)}
    every = [*(memory for each in found.values() for memory in each), *(memory for memory, _ in relevant)]
    return Material(
        boundaries=above.boundaries,
        core=found.get(Layer.CORE, ()),
        lessons=found.get(Layer.LESSON, ()),
        profile=found.get(Layer.PROFILE, ()),
        relevant=relevant,
        episodes=found.get(Layer.EPISODE, ()),
        session=session,
        waiting=_reading(moment, [Layer.INBOX], lambda: _waiting(moment), None) if request.inbox else None,
        origins=origins,
        hidden=above.hidden | _reading(moment, touched, lambda: _hidden(moment, every, seen), frozenset()),
        # The files that another project cites are not those of the workspace that is looked at here.
        evidence={
            **above.evidence,
            **_states((memory for memory in every if memory.id not in origins), states),
            **_states((memory for memory in every if memory.id in origins), unverifiable),
        },
        missing=moment.missing,
        weak=moment.weak,
        faults=moment.faults,
    )


def _reading(moment: Moment, layers: Sequence[Layer], read: Callable[[], T], otherwise: T) -> T:
    """What the database says of some lower layers; where it cannot say it, a fault of the bundle instead."""
    try:
        with moment.tx.savepoint():
            return read()
    except _UNREADABLE as error:
        moment.faults += [_fault(layer, error) for layer in layers]
        return otherwise


def _making(moment: Moment, layer: Layer, make: Callable[[], T], otherwise: T) -> T:
    """What is made of rows that were read; where one of them cannot be understood, a fault of the bundle."""
    try:
        return make()
    except _UNREADABLE as error:
        moment.faults.append(_fault(layer, error))
        return otherwise


def _fault(layer: Layer, error: Exception) -> LayerFault:
    if isinstance(error, MinutebookError):
        return LayerFault(layer, error.code, error.message)
    return LayerFault(layer, "ledger_damaged", "A row of this layer cannot be read.")


# --- the layers ------------------------------------------------------------------------------------------------


def _boundaries(moment: Moment) -> list[Memory]:
    """Active architectural and scope decisions, oldest first, from the memories themselves."""
    found = []
    for project in moment.projects:
        rows = moment.tx.all(
            """SELECT * FROM memories
                WHERE project_id = :project AND status = 'active' AND type IN ('architectural', 'scope')
                  AND seq <= :seq
                ORDER BY created_seq""",
            project=project,
            seq=moment.request.seq,
        )
        found += [Found(from_row(row), shelves.place_of(row["created_seq"])) for row in rows]
    found += [then for then in moment.changed if then.memory.type in BOUNDARIES]
    standing = []
    for memory in _in_order(found):
        # Who may decide was asked when it was written; a row that came by another way governs nobody.
        if memory.decided_role in _MAY_DECIDE:
            standing.append(memory)
        else:
            moment.missing.append(
                LeftOut(memory.id, Layer.BOUNDARY, memory.type.value, memory.slug, Reason.NO_AUTHORITY)
            )
    return standing


def _in_order(found: Iterable[Found], *, newest: bool = False) -> list[Memory]:
    sign = -1 if newest else 1
    return [each.memory for each in sorted(found, key=lambda each: (sign * each.place, each.memory.id))]


def _readers(moment: Moment, session: Session | None) -> list[tuple[str, str]]:
    """The shelves that the agent sees, as project and reader."""
    seen = [(project, reader) for project in moment.projects for reader in (EVERYONE, moment.request.agent)]
    if session is not None:
        seen.append((moment.request.project, session_reader(session.id)))
    return seen


def _layers_of(request: ContextRequest, limits: Limits) -> dict[Layer, Wanted]:
    """The layers that a memory is in by its type, and how much of each is read."""
    # Of the core nothing may be left out unsaid, so all that could be listed is read.
    wanted = {
        Layer.CORE: Wanted(Layer.CORE, False, limits.context_items + limits.context_listed),
        Layer.LESSON: Wanted(Layer.LESSON, True, limits.context_lessons + BEYOND),
        Layer.PROFILE: Wanted(Layer.PROFILE, True, limits.context_profile + BEYOND),
    }
    if request.task:
        wanted[Layer.EPISODE] = Wanted(Layer.EPISODE, True, limits.context_episodes + BEYOND)
    return wanted


def _places(
    moment: Moment, layers: dict[Layer, Wanted], seen: list[tuple[str, str]]
) -> dict[Layer, list[int]]:
    """Where the memories of each layer are, in its order."""
    rows = shelves.of_layers(
        moment.tx, list(layers.values()), seen, seq=moment.request.seq, fresh=moment.fresh
    )
    names = list(layers)
    found: dict[Layer, list[int]] = {layer: [] for layer in layers}
    for row in rows:
        found[names[row["layer"]]].append(row["doc"])
    for then, shelf in moment.shelved:
        if shelf.layer is not None and shelf.layer in found and (shelf.project, shelf.reader) in seen:
            found[shelf.layer].append(then.place)
    return {
        layer: sorted(each, reverse=layers[layer].newest)[: layers[layer].limit]
        for layer, each in found.items()
    }


def _rows(moment: Moment, places: Sequence[int]) -> dict[int, Row]:
    """The rows at these places, but for what is known from the past."""
    wanted = [place for place in places if place not in moment.then]
    return {row["doc"]: row for row in shelves.at(moment.tx, wanted)}


def _session(moment: Moment) -> Session | None:
    if moment.fresh:
        return sessions.current(moment.tx, moment.request.project)
    return sessions.at(moment.tx, moment.request.project, moment.request.seq)


def _waiting(moment: Moment) -> Waiting:
    """What waits for a review. The inbox is not kept by sequence, so nobody can say it of the past."""
    if not moment.fresh and inbox.changed_since(moment.tx, moment.request.project, moment.request.seq):
        raise MinutebookError("invalid_input", "What waited in the inbox then is not kept.")
    rows = inbox.waiting(moment.tx, moment.request.project)
    return Waiting(sum(row["n"] for row in rows), sum(row["n"] for row in rows if row["type"] in BOUNDARIES))


# --- shadows and evidence --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Namesake:
    """As much of a memory as it takes to say what it hides."""

    id: str
    type: str
    slug: str


def _hidden(moment: Moment, memories: Sequence[Memory], seen: list[tuple[str, str]]) -> frozenset[str]:
    """Those of the memories that a deeper scope hides, whether or not that one is among them."""
    names = {(memory.type.value, memory.slug) for memory in memories}
    if not names:
        return frozenset()
    known: dict[str, tuple[int, Named]] = _namesakes(moment, names, seen)
    changed = [found.memory for found in moment.changed]
    for memory in (*changed, *memories):
        if (memory.type.value, memory.slug) in names and (memory.scope.project, reader_of(memory)) in seen:
            known[memory.id] = (moment.reader.depth(memory.scope), memory)
    return frozenset(shadows(known.values()))


def _namesakes(
    moment: Moment, names: set[tuple[str, str]], seen: list[tuple[str, str]]
) -> dict[str, tuple[int, Named]]:
    """Active memories of these types and slugs that the agent may see, unchanged since, with their depth."""
    slugs = {f"s{index}": slug for index, slug in enumerate(sorted({slug for _, slug in names}))}
    rows = moment.tx.all(
        f"""SELECT id, type, slug, project_id, scope, tier, agent, repo_id, session_id, tags
              FROM memories {moment.tx.dialect.by_name}
             WHERE project_id IN (:project, 'global') AND status = 'active' AND seq <= :seq
               AND slug IN ({", ".join(":" + name for name in slugs)})""",
        project=moment.request.project,
        seq=moment.request.seq,
        **slugs,
    )
    known: dict[str, tuple[int, Named]] = {}
    for row in rows:
        scope = scope_of(row)
        reader = reader_in(scope, row["type"], load_tags(row["tags"]))
        if (row["type"], row["slug"]) in names and (scope.project, reader) in seen:
            known[row["id"]] = (moment.reader.depth(scope), _Namesake(row["id"], row["type"], row["slug"]))
    return known


def _states(memories: Iterable[Memory], states: States) -> dict[str, EvidenceState]:
    """What the evidence of each is worth: as much as the weakest piece of it."""
    found = {}
    for memory in memories:
        if memory.evidence and memory.id not in found:
            worth = {states(piece) for piece in memory.evidence}
            found[memory.id] = next(state for state in WORST_FIRST if state in worth)
    return found
