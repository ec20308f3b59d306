"""The context compiler: what an agent is told, in which order, within which budgets. Pure.

The ledger is read before (ledger/context.py). Here it is decided: boundaries first and all of them, then memory
within one shared budget, then the session. The same material gives the same bytes, and what another task would
change comes after what it would not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from minutebook.model.context import (
    SHAKY,
    Bundle,
    ContextRequest,
    EvidenceState,
    Form,
    Item,
    Layer,
    LayerFault,
    LeftOut,
    Reason,
)
from minutebook.model.memories import Memory
from minutebook.model.sessions import Session
from minutebook.policy import rendering
from minutebook.policy.limits import Limits
from minutebook.policy.token_counts import estimate


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in the inbox."""

    count: int
    boundaries: int


@dataclass(frozen=True, slots=True)
class Material:
    """All that a bundle is compiled from, each layer in its order, with more than may be taken."""

    boundaries: Sequence[Memory] = ()
    core: Sequence[Memory] = ()
    lessons: Sequence[Memory] = ()
    profile: Sequence[Memory] = ()
    #: with the points of each, most first
    relevant: Sequence[tuple[Memory, int]] = ()
    episodes: Sequence[Memory] = ()
    #: of what comes from a linked project, what that is called
    origins: Mapping[str, str] = field(default_factory=dict)
    session: Session | None = None
    waiting: Waiting | None = None
    #: what a deeper scope hides
    hidden: frozenset[str] = frozenset()
    #: what the evidence of each is worth, for those that have some
    evidence: Mapping[str, EvidenceState] = field(default_factory=dict)
    #: what was left out before it came here
    missing: Sequence[LeftOut] = ()
    #: what shares words with the task, and too few; it is told to those who ask why, and is no loss
    weak: Sequence[LeftOut] = ()
    faults: Sequence[LayerFault] = ()


def compile_context(request: ContextRequest, material: Material, limits: Limits) -> Bundle | None:
    """The bundle of a request; None when there is nothing to say."""
    draft = _Draft(material, limits)
    draft.boundaries()
    if not request.child:
        draft.memory()
        draft.session()
        draft.notes()
    left_out = draft.missing()
    text = "\n\n".join(draft.blocks) + "\n" if draft.blocks else ""
    if not text and not left_out and not material.faults:
        return None
    left_out += draft.weak(left_out)
    return Bundle(
        project=request.project,
        agent=request.agent,
        task=request.task,
        child=request.child,
        seq=request.seq,
        hash=hash_of(text, draft.items),
        text=text,
        # Of the parts, which are counted already; joined they come to no more.
        tokens=sum(map(estimate, draft.blocks)) + len(draft.blocks),
        stable=len("\n\n".join(draft.blocks[: draft.stable]).encode()),
        items=tuple(draft.items),
        left_out=tuple(left_out[: limits.context_listed]),
        left_out_count=len(left_out),
        faults=tuple(material.faults),
    )


def hash_of(text: str, items: Iterable[Item]) -> str:
    """What identifies a bundle: its bytes, and which revision of what they came from."""
    digest = hashlib.sha256(text.encode())
    for item in items:
        digest.update(f"\n{item.id} {item.revision}".encode())
    return digest.hexdigest()


class _Draft:
    """A bundle in the making."""

    def __init__(self, material: Material, limits: Limits) -> None:
        self.material = material
        self.limits = limits
        self.blocks: list[str] = []
        self.items: list[Item] = []
        self.left_out: list[LeftOut] = list(material.missing)
        #: how many blocks no task would change
        self.stable = 0

    # --- boundaries -------------------------------------------------------------------------------------

    def boundaries(self) -> None:
        """All of them, oldest first; those beyond the budget by their title."""
        standing = self._unhidden(self.material.boundaries, Layer.BOUNDARY)
        if not standing:
            return
        room = self.limits.context_boundary_tokens
        blocks, short = [], 0
        for memory in standing:
            evidence = self.material.evidence.get(memory.id)
            block, form = rendering.boundary(memory, evidence), Form.WHOLE
            tokens = estimate(block)
            if tokens <= room:
                room -= tokens
            else:
                block, form = rendering.boundary_title(memory, evidence), Form.TITLE
                tokens = estimate(block)
                short += 1
            blocks.append(block)
            self._take(memory, Layer.BOUNDARY, form, tokens)
        self.blocks += [rendering.BOUNDARIES, rendering.BINDING]
        if short:
            self.blocks.append(rendering.shortened(short))
        self.blocks += blocks
        self.stable = len(self.blocks)

    # --- memory -----------------------------------------------------------------------------------------

    def memory(self) -> None:
        """Core, lessons, profile, what is relevant, episodes: one budget for all of them."""
        begun = len(self.blocks)
        head = [rendering.MEMORY, rendering.INFORMING]
        # The note on what is left out is paid for before anybody knows whether it is needed.
        room = _Room(
            self.limits.context_items,
            self.limits.context_tokens - sum(estimate(line) for line in (*head, rendering.left_out(9_999))),
        )
        given, limits = self.material, self.limits
        self._layer(Layer.CORE, given.core, room)
        self._layer(Layer.LESSON, given.lessons, room, most=limits.context_lessons)
        self._layer(Layer.PROFILE, given.profile, room, most=limits.context_profile)
        settled = len(self.blocks)
        taken = {item.id for item in self.items}
        scores = {memory.id: points for memory, points in given.relevant}
        relevant = [memory for memory, _ in given.relevant if memory.id not in taken]
        self._layer(Layer.RELEVANT, relevant, room, scores=scores)
        taken |= {memory.id for memory in relevant}
        recent = [memory for memory in given.episodes if memory.id not in taken]
        self._layer(Layer.EPISODE, recent, room, most=limits.context_episodes)
        if len(self.blocks) == begun:
            return
        self.blocks[begun:begun] = head
        if settled > begun:
            self.stable = settled + len(head)
        missing = [out for out in self.missing() if out.layer is not Layer.BOUNDARY]
        if missing:
            self.blocks.append(rendering.left_out(len(missing)))

    def _layer(
        self,
        layer: Layer,
        memories: Sequence[Memory],
        room: _Room,
        *,
        most: int | None = None,
        scores: Mapping[str, int] | None = None,
    ) -> None:
        """Take what fits, in order. What does not fit makes way for what is smaller, and is listed."""
        standing = self._unhidden(memories, layer)
        if most is not None:
            for memory in standing[most:]:
                self._leave(memory, layer, Reason.OVER_COUNT)
            standing = standing[:most]
        for memory in self._firm_first(standing, scores):
            origin = self.material.origins.get(memory.id)
            block = rendering.memory(memory, self.material.evidence.get(memory.id), origin)
            tokens = estimate(block)
            refused = room.refuses(tokens)
            if refused is not None:
                self._leave(memory, layer, refused)
                continue
            room.take(tokens)
            self.blocks.append(block)
            self._take(memory, layer, Form.WHOLE, tokens, None if scores is None else scores[memory.id])

    def _firm_first(self, memories: list[Memory], scores: Mapping[str, int] | None) -> list[Memory]:
        """What rests on stale or missing evidence after its equals: of its points, or of its layer."""
        shaky = {memory.id for memory in memories if self.material.evidence.get(memory.id) in SHAKY}
        if not shaky:
            return memories
        points = scores or {}
        return sorted(memories, key=lambda memory: (-points.get(memory.id, 0), memory.id in shaky))

    # --- the rest ---------------------------------------------------------------------------------------

    def session(self) -> None:
        found = self.material.session
        if found is None:
            return
        summary = found.summary.strip()
        block = rendering.session(found, summary, False)
        if estimate(block) > self.limits.context_session_tokens and summary:
            # The end of the summary is the newest; what the budget has no room for goes from its beginning.
            room = self.limits.context_session_tokens - estimate(rendering.session(found, "", False))
            block = rendering.session(found, _end_of(summary, room - 10), True)
        self.blocks += [rendering.SESSION, block]

    def notes(self) -> None:
        waiting = self.material.waiting
        if waiting is not None and waiting.count:
            self.blocks.append(rendering.waiting(waiting.count, waiting.boundaries))
        if self.material.faults:
            names = dict.fromkeys(fault.layer.value for fault in self.material.faults)
            self.blocks.append(rendering.incomplete(names))

    # --- keeping book -----------------------------------------------------------------------------------

    def _unhidden(self, memories: Sequence[Memory], layer: Layer) -> list[Memory]:
        standing = []
        for memory in memories:
            if memory.id in self.material.hidden:
                self._leave(memory, layer, Reason.SHADOWED)
            else:
                standing.append(memory)
        return standing

    def _take(self, memory: Memory, layer: Layer, form: Form, tokens: int, score: int | None = None) -> None:
        self.items.append(
            Item(
                id=memory.id,
                layer=layer,
                type=memory.type.value,
                slug=memory.slug,
                author=memory.author,
                revision=memory.revision,
                form=form,
                score=score,
                evidence=self.material.evidence.get(memory.id),
                tokens=tokens,
                project=self.material.origins.get(memory.id),
            )
        )

    def missing(self) -> list[LeftOut]:
        """What is not in the bundle, each once: a later layer may have taken what an earlier one left out."""
        taken = {item.id for item in self.items}
        first: dict[str, LeftOut] = {}
        for out in self.left_out:
            if out.id not in taken:
                first.setdefault(out.id, out)
        return list(first.values())

    def weak(self, missing: Iterable[LeftOut]) -> list[LeftOut]:
        """What is too weak to be in the bundle, unless it is there by another way or known to be missing."""
        known = {*(item.id for item in self.items), *(out.id for out in missing)}
        return [out for out in self.material.weak if out.id not in known]

    def _leave(self, memory: Memory, layer: Layer, reason: Reason) -> None:
        self.left_out.append(LeftOut(memory.id, layer, memory.type.value, memory.slug, reason))


@dataclass(slots=True)
class _Room:
    """What is left of the memory budget."""

    items: int
    tokens: int

    def refuses(self, tokens: int) -> Reason | None:
        if self.items < 1:
            return Reason.OVER_ITEMS
        return Reason.NO_ROOM if tokens > self.tokens else None

    def take(self, tokens: int) -> None:
        self.items -= 1
        self.tokens -= tokens


def _end_of(text: str, room: int) -> str:
    """As many of the last lines of a text as fit; of a longer line, its end."""
    kept: list[str] = []
    for line in reversed(text.split("\n")):
        tokens = estimate(rendering.quoted(line)) + 1
        if tokens > room:
            if not kept and room > 0:
                kept.append(_end_of_line(line, room))
            break
        room -= tokens
        kept.append(line)
    return "\n".join(reversed(kept)).strip()


def _end_of_line(line: str, room: int) -> str:
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(rendering.quoted(line[-middle:])) <= room:
            low = middle
        else:
            high = middle - 1
    return line[len(line) - low :]
