"""One look through a project: what repeats, disagrees or is of no use any more becomes a batch of suggestions.

It reads in many short moments, so that nobody's write waits for it, and writes twice: when it begins, which is its
lock, and when it ends. Nothing that stands is changed by it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from minutebook.call import Nobody, Witness, World
from minutebook.ledger import consolidations, events, inbox, projects, tidying
from minutebook.ledger.consolidations import Beginning
from minutebook.ledger.database import Database, Row, Tx
from minutebook.model.actors import Actor, Origin
from minutebook.model.consolidation import Consolidation, Kind, Noticed
from minutebook.model.context import SHAKY
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Memory
from minutebook.model.scopes import Scope
from minutebook.model.times import seconds_before
from minutebook.policy import consolidation as policy
from minutebook.policy.backoff import GIVING_WAY
from minutebook.policy.consolidation import Light, Tie
from minutebook.policy.promotion_rules import parse_rules, rule_for
from minutebook.policy.similarity import outline

#: Memories and rows of an index read at once, texts kept at hand, pairs compared before others get their turn: each
#: such piece takes about 2 ms, for a write that comes meanwhile waits for the interpreter until it is over.
_PAGE = 50
_BANDS = 500
_AT_HAND = 4_000
_COMPARED = 32
#: Pairs that are collected before they are compared: those of one memory mostly stand together.
_COLLECTED = 500
#: How long a process is believed to be at it without a word, in seconds, and how often it says one.
_LEASE = 600.0
_BEAT = 10_000
#: Slots, memories with evidence and proposals that are looked at, and unused memories in one batch.
_SLOTS = 2_000
_IN_SLOT = 6
_EVIDENCE = 300
_PROPOSALS = 500
_UNUSED = 25

#: The order of a batch: what may mislead first, what is only in the way last.
_ORDER = (
    Kind.CONTRADICTION,
    Kind.OUTDATED,
    Kind.STALE_EVIDENCE,
    Kind.DUPLICATE,
    Kind.NEAR_DUPLICATE,
    Kind.SHARED,
    Kind.GROUNDED,
    Kind.OVERLONG,
    Kind.UNUSED,
)


#: Set by nobody: to wait for it is to rest.
_NEVER = threading.Event()


def give_way() -> None:
    """Rest for a moment: whoever writes meanwhile goes first."""
    _NEVER.wait(GIVING_WAY)


@dataclass(frozen=True, slots=True)
class Task:
    """Which project is looked through, for whom, and how."""

    database: Database
    world: World
    project: str
    actor: Actor
    origin: Origin
    #: asked, or gates
    cause: str
    #: called between small pieces of work; it may raise to stop there
    pace: Callable[[], None] = give_way
    #: where the caller works, if its files can be looked at
    workspace: Path | None = None


def consolidate(task: Task) -> Consolidation:
    """Look through a project, and leave a batch of suggestions."""
    id = task.world.ids.new()
    task.database.write(task.project, lambda tx: _begin(tx, task, id))
    try:
        look = _Look(task, id)
        found = look.all()
        done = task.database.write(task.project, lambda tx: _finish(tx, task, id, look.looked, found))
    except BaseException as error:
        said = (
            error.message
            if isinstance(error, MinutebookError)
            else f"{type(error).__name__}: {error}".removesuffix(": ")[:200]
        )
        task.database.write(task.project, lambda tx: consolidations.fail(tx, id, said, task.world.clock()))
        raise
    return done


def look_through(task: Task) -> tuple[int, list[Noticed]]:
    """How many memories stand, and what a consolidation would notice of them; nothing is written."""
    look = _Look(task, None)
    found = look.all()
    return look.looked, found


def _begin(tx: Tx, task: Task, id: str) -> None:
    """Take the lock. One whose process is gone does not hold it."""
    now = task.world.clock()
    worker = str(task.world.presence().pid)
    consolidations.give_up(tx, task.project, now=now, alone=None if task.database.lanes else worker)
    beginning = Beginning(
        id=id,
        project=task.project,
        cause=task.cause,
        by=task.actor.id,
        at=now,
        worker=worker,
        until=seconds_before(now, -_LEASE),
        seq=events.last_seq(tx),
    )
    if not consolidations.begin(tx, beginning):
        standing = consolidations.running(tx, task.project)
        since = "" if standing is None else f" by {standing.started_by} since {standing.started_at[:16]}"
        raise MinutebookError("exists", f"This project is being consolidated{since}; wait for its end.")


def _finish(tx: Tx, task: Task, id: str, looked: int, found: list[Noticed]) -> Consolidation:
    now, most = task.world.clock(), task.world.limits.consolidation_suggestions
    ordered = sorted(found, key=lambda each: (_ORDER.index(each.kind), -(each.score or 0.0), each.refs))
    counts = consolidations.renew(tx, id, task.project, ordered[:most], at=now, new_id=task.world.ids.new)
    beyond = max(0, len(ordered) - most)
    if not consolidations.finish(tx, id, looked=looked, counts=counts, beyond=beyond, at=now):
        raise MinutebookError("bad_transition", "It took so long that another one was begun.")
    events.append(
        tx,
        kind="consolidation.finished",
        subject=id,
        project=task.project,
        actor=task.actor.id,
        role=task.actor.role,
        origin=task.origin,
        at=now,
        detail={"looked": looked, "beyond": beyond, **counts},
    )
    done = consolidations.get(tx, task.project, id)
    assert done is not None
    return done


@dataclass(slots=True)
class _Look:
    """A look through a project, and what was seen so far."""

    task: Task
    #: the consolidation that it is for, if it is for one
    id: str | None
    looked: int = 0
    light: dict[str, Light] = field(default_factory=dict)
    #: by the two that each is about, so that no two are compared or told twice
    ties: dict[tuple[str, str], Tie] = field(default_factory=dict)
    found: list[Noticed] = field(default_factory=list)
    _scopes: dict[Scope, Scope] = field(default_factory=dict)
    _texts: OrderedDict[str, Memory] = field(default_factory=OrderedDict)

    def all(self) -> list[Noticed]:
        for step in (self._each, self._alike, self._slots, self._resting, self._grounded, self._unused):
            self.task.pace()
            step()
        ties = list(self.ties.values())
        repeated = [tie for tie in ties if tie.kind is not Kind.CONTRADICTION]
        opposed = [tie for tie in ties if tie.kind is Kind.CONTRADICTION]
        past = {ref for noticed in self.found if noticed.kind is Kind.OUTDATED for ref, _ in noticed.refs}
        known = self._known({id for pair in self.ties for id in pair})
        with self.task.database.read() as tx:
            linked = tidying.disagreeing(tx, self.task.project)
        # What is past its time disagrees with nothing that holds now.
        opposed = [tie for tie in opposed if tie.one not in past and tie.other not in past]
        return [
            *self.found,
            *policy.merges(repeated, known),
            *policy.contradictions(opposed, known, linked),
        ]

    # --- the steps --------------------------------------------------------------------------------------

    def _each(self) -> None:
        """Every memory by itself; and those of the same words, which the sketches of short texts do not show."""
        limits, now = self.task.world.limits, self.task.world.clock()
        claims: dict[str, str] = {}
        same: list[tuple[str, str]] = []
        after: tuple[str, str] | None = ("", "")
        while after is not None:
            with self.task.database.read() as tx:
                page = tidying.standing(tx, self.task.project, after, _PAGE)
            for memory, claim in page.memories:
                scope = self._scopes.setdefault(memory.scope, memory.scope)
                self.light[memory.id] = Light(
                    memory.id,
                    memory.revision,
                    scope,
                    memory.governs,
                    len(memory.content),
                    outline(memory.content),
                )
                first = claims.setdefault(claim, memory.id)
                if first != memory.id:
                    same.append((min(first, memory.id), max(first, memory.id)))
                for noticed in (policy.outdated(memory, now), policy.overlong(memory, limits)):
                    if noticed is not None:
                        self.found.append(noticed)
            self._came_along(len(page.memories))
            after = page.after
        self._compare(same)

    def _alike(self) -> None:
        """Those that share a band, compared in the order of the index: near duplicates, and what is nearly the same
        and of another substance."""
        waiting: set[tuple[str, str]] = set()
        for group in self._groups():
            waiting.update(policy.pairs_in([self.light[ref] for ref in group if ref in self.light]))
            if len(waiting) >= _COLLECTED:
                self._compare(sorted(waiting))
                waiting = set()
        self._compare(sorted(waiting))

    def _groups(self) -> Iterator[list[str]]:
        """The refs of each band that more than one has."""

        def rows() -> Iterator[Row]:
            after: tuple[int, str] | None = None
            while True:
                self.task.pace()
                with self.task.database.read() as tx:
                    page = tidying.banded(tx, self.task.project, after, _BANDS)
                yield from page
                if len(page) < _BANDS:
                    return
                after = (page[-1]["band"], page[-1]["ref"])

        for _, group in groupby(rows(), key=lambda row: row["band"]):
            refs = [row["ref"] for row in group]
            if len(refs) > 1:
                yield refs

    def _compare(self, pairs: list[tuple[str, str]]) -> None:
        for start in range(0, len(pairs), _COMPARED):
            some = [pair for pair in pairs[start : start + _COMPARED] if pair not in self.ties]
            known = self._known({id for pair in some for id in pair})
            for one, other in some:
                if one in known and other in known:
                    tie = policy.tie(known[one], known[other], self.task.world.limits)
                    if tie is not None:
                        self.ties[one, other] = tie
            self.task.pace()

    def _slots(self) -> None:
        """Those that say different things of one entity and attribute."""
        with self.task.database.read() as tx:
            filled = tidying.slots(tx, self.task.project, _SLOTS)
        for entity, attribute in filled:
            with self.task.database.read() as tx:
                memories = tidying.filling(tx, self.task.project, entity, attribute, _IN_SLOT)
            for tie in policy.slot_ties(memories):
                self.ties.setdefault((tie.one, tie.other), tie)
            self.task.pace()

    def _resting(self) -> None:
        """Those whose evidence changed or is gone, as far as a workspace of the project is at hand."""
        with self.task.database.read() as tx:
            memories = tidying.with_evidence(tx, self.task.project, _EVIDENCE)
            places = [Path(each.path) for each in projects.workspaces(tx, self.task.project)]
        if not memories:
            return
        witness = _witness(self.task, places)
        for memory in memories:
            states = {witness.state(piece) for piece in memory.evidence}
            if states and states <= SHAKY and not memory.governs:
                ref = ((memory.id, memory.revision),)
                self.found.append(Noticed(Kind.STALE_EVIDENCE, ref, " and ".join(sorted(states))))
            self.task.pace()

    def _grounded(self) -> None:
        """Proposals that a promotion rule finds well founded."""
        rules = parse_rules(self.task.world.limits.promotion_rules)
        if not rules:
            return
        now = self.task.world.clock()
        with self.task.database.read() as tx:
            pending = inbox.list_(tx, self.task.project, status="pending", limit=_PROPOSALS)
        for proposal in pending:
            rule = rule_for(proposal, rules, now)
            if rule is not None:
                ref = ((proposal.id, proposal.revision),)
                self.found.append(Noticed(Kind.GROUNDED, ref, rule.text, proposal.confidence))

    def _unused(self) -> None:
        days = self.task.world.limits.consolidation_unused_days
        if not days:
            return
        before = seconds_before(self.task.world.clock(), days * 86_400)
        with self.task.database.read() as tx:
            rows = tidying.unused(tx, self.task.project, before, _UNUSED)
        self.found += [Noticed(Kind.UNUSED, ((row["id"], row["revision"]),), f"{days} days") for row in rows]

    # --- texts at hand ----------------------------------------------------------------------------------

    def _known(self, ids: set[str]) -> dict[str, Memory]:
        missing = sorted(id for id in ids if id not in self._texts)
        for start in range(0, len(missing), _PAGE):
            if start:
                self.task.pace()
            with self.task.database.read() as tx:
                self._texts.update(tidying.by_ids(tx, missing[start : start + _PAGE]))
        found = {id: self._texts[id] for id in ids if id in self._texts}
        while len(self._texts) > _AT_HAND:
            self._texts.popitem(last=False)
        return found

    def _came_along(self, more: int) -> None:
        """Say now and then that it is still being done."""
        before, self.looked = self.looked, self.looked + more
        self.task.pace()
        if self.id is None or before // _BEAT == self.looked // _BEAT:
            return
        id = self.id
        until = seconds_before(self.task.world.clock(), -_LEASE)
        if not self.task.database.write(
            self.task.project, lambda tx: consolidations.lengthen(tx, id, until, self.looked)
        ):
            raise MinutebookError("bad_transition", "It took so long that another one was begun.")


def _witness(task: Task, places: list[Path]) -> Witness:
    """Whoever can look at the files of the project: in the caller's workspace, else where it was seen last."""
    for root in [task.workspace, *places[:5]]:
        if root is not None and root.is_absolute():
            witness = task.world.witness(root, task.project)
            if not isinstance(witness, Nobody):
                return witness
    return Nobody()
