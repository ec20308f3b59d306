"""The judge: nine rules, in their order, over a candidate and its neighbours. Pure.

Every rule that fires is named in the trace. Rules 1 to 4 can end the matter; rule 5 and some of the later
ones make it at most a proposal, and the rest still say what it would do, so that a reviewer sees that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minutebook.model.actors import UNTRUSTED_ORIGINS, Actor, Origin, Role, may_decide
from minutebook.model.candidates import Candidate
from minutebook.model.inbox import Proposal, Would
from minutebook.model.memories import GOVERNING, Memory, Type
from minutebook.model.scopes import ScopeKind, Tier
from minutebook.model.tombstones import Cause, Tombstone
from minutebook.model.verdicts import Op, RuleHit
from minutebook.policy.limits import Limits
from minutebook.policy.screening import Family, Finding
from minutebook.policy.screening import Tier as Severity
from minutebook.policy.similarity import containment, differs_in_substance, similarity


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What stands around a candidate, read before it is judged."""

    #: the memory named as target, if any
    target: Memory | None = None
    #: the active memory of the same identity
    identity: Memory | None = None
    #: active memories of the same place with the same claim
    exact: tuple[Memory, ...] = ()
    #: a pending proposal of the same agent with the same claim
    proposed: Proposal | None = None
    slot: tuple[Memory, ...] = ()
    near: tuple[Memory, ...] = ()
    near_proposals: tuple[Proposal, ...] = ()
    tombstone: Tombstone | None = None
    #: the actor wrote its share of the last minute already
    over_rate: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    op: Op
    reason: str
    trace: tuple[RuleHit, ...]
    #: the memory that is updated, superseded, or that says it already
    target: Memory | None = None
    #: the error code, where it is refused
    code: str | None = None
    #: what it would do, where it is held
    would: Would = field(default_factory=Would)
    contradicts: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    #: rivals, where it is ambiguous
    targets: tuple[str, ...] = ()
    #: a tombstone that this act of a reviewer lifts
    lifts: Tombstone | None = None
    #: a pending proposal that says it already
    proposal: Proposal | None = None


def judge(
    candidate: Candidate,
    actor: Actor,
    origin: Origin,
    neighbours: Neighbours,
    findings: tuple[Finding, ...],
    limits: Limits,
) -> Judgement:
    """Say what becomes of a candidate."""
    bench = _Bench(candidate, actor, origin, neighbours, findings, limits)
    for rule in (_shape, _screening, _tombstones, _exact_duplicate):
        ended = rule(bench)
        if ended is not None:
            return ended
    _authority(bench)
    for rule in (_same_identity, _entity_slot, _near_duplicate):
        ended = rule(bench)
        if ended is not None:
            return ended
        if bench.target is not None or bench.ambiguous:
            break
    return _conclude(bench)


class _Bench:
    """The judge's notes on one candidate."""

    def __init__(
        self,
        candidate: Candidate,
        actor: Actor,
        origin: Origin,
        neighbours: Neighbours,
        findings: tuple[Finding, ...],
        limits: Limits,
    ) -> None:
        self.candidate = candidate
        self.actor = actor
        self.neighbours = neighbours
        self.findings = findings
        self.limits = limits
        self.trusted = origin not in UNTRUSTED_ORIGINS
        #: bound to one project, and asking for what every project would see
        self.out_of_bounds = actor.project not in (None, candidate.scope.project)
        self.decides = may_decide(actor.role) and self.trusted and not self.out_of_bounds
        self.trace: list[RuleHit] = []
        self.holds: list[str] = []
        self.flags: tuple[str, ...] = ()
        self.target: Memory | None = None
        self.op = Op.ADD
        self.contradicts: list[str] = list(candidate.contradicts)
        self.related: list[str] = []
        self.ambiguous: list[str] = []
        self.lifts: Tombstone | None = None

    def note(self, rule: str, outcome: str, detail: str = "", target: str | None = None) -> None:
        self.trace.append(RuleHit(rule, outcome, detail, target))

    def hold(self, rule: str, because: str, target: str | None = None) -> None:
        self.note(rule, "hold", because, target)
        self.holds.append(because)

    def refuse(self, rule: str, code: str, reason: str, target: str | None = None) -> Judgement:
        self.note(rule, "refuse", reason, target)
        return Judgement(Op.REFUSE, reason, tuple(self.trace), code=code)

    def skip(
        self, rule: str, reason: str, known: Memory | None, proposal: Proposal | None = None
    ) -> Judgement:
        ref = known.id if known is not None else proposal.id if proposal is not None else None
        self.note(rule, "skip", reason, ref)
        return Judgement(Op.SKIP, reason, tuple(self.trace), target=known, proposal=proposal)


# --- 1 --------------------------------------------------------------------------------------------


def _shape(bench: _Bench) -> Judgement | None:
    candidate, limits = bench.candidate, bench.limits
    sizes = (
        ("title", len(candidate.title), limits.title_chars, "characters"),
        ("content", len(candidate.content.encode()), limits.content_bytes, "bytes"),
        ("rationale", len((candidate.rationale or "").encode()), limits.rationale_bytes, "bytes"),
        ("summary", len((candidate.summary or "").encode()), limits.rationale_bytes, "bytes"),
        ("entity", len(candidate.entity or ""), limits.slot_chars, "characters"),
        ("attribute", len(candidate.attribute or ""), limits.slot_chars, "characters"),
        ("tags", len(candidate.tags), limits.tags, "entries"),
        ("evidence", len(candidate.evidence), limits.evidence, "entries"),
    )
    for name, size, most, unit in sizes:
        if size > most:
            return bench.refuse(
                "shape.size", "too_large", f"The {name} has {size:,} {unit}; at most {most:,} are taken."
            )
    if bench.neighbours.over_rate:
        return bench.refuse(
            "shape.rate",
            "rate_limited",
            f"{bench.actor.name} made {limits.writes_per_minute} writes within a minute; wait, then go on.",
        )
    return None


# --- 2 --------------------------------------------------------------------------------------------


def _screening(bench: _Bench) -> Judgement | None:
    for finding in bench.findings:
        if finding.tier is Severity.REFUSE:
            rule = f"screening.{finding.rule}"
            if finding.family is Family.SECRET:
                return bench.refuse(
                    rule,
                    "secret",
                    f"The {finding.field} holds what looks like a credential ({finding.rule}). "
                    "Nothing of it was kept; take it out and send the rest.",
                )
            return bench.refuse(
                rule,
                "unsafe_text",
                f"The {finding.field} holds characters that hide or reorder what a reader sees ({finding.rule}); "
                "take them out.",
            )
    flagged = [finding for finding in bench.findings if finding.tier is Severity.FLAG]
    bench.flags = tuple(dict.fromkeys(finding.rule for finding in flagged))
    # An operator's own words are their responsibility; they are told, and nobody has to approve them.
    excused = bench.actor.role is Role.OPERATOR and bench.trusted and not bench.out_of_bounds
    for finding in flagged:
        if excused:
            bench.note(f"screening.{finding.rule}", "flag", f"in the {finding.field}")
        else:
            bench.hold(f"screening.{finding.rule}", f"the {finding.field} looks like: {finding.rule}")
    return None


# --- 3 --------------------------------------------------------------------------------------------


def _tombstones(bench: _Bench) -> Judgement | None:
    tombstone = bench.neighbours.tombstone
    if tombstone is None:
        return None
    if bench.neighbours.exact and tombstone.cause is not Cause.ERASED:
        # The claim stands here: what was buried is another copy of it, not this one.
        return None
    if bench.decides and tombstone.cause is not Cause.ERASED:
        bench.lifts = tombstone
        bench.note(
            "tombstone",
            "lift",
            f"{tombstone.cause} by {tombstone.actor}, back by a reviewer's act",
            tombstone.id,
        )
        return None
    reason = f"This was {tombstone.cause} by {tombstone.actor} on {tombstone.at[:10]}"
    reason += f" ({tombstone.reason})." if tombstone.reason and tombstone.cause is not Cause.ERASED else "."
    if tombstone.cause is Cause.ERASED:
        reason += " What is erased comes back only when an operator lifts the tombstone."
    else:
        reason += " It comes back only by a reviewer's act."
    return bench.refuse("tombstone", "tombstoned", reason, tombstone.id)


# --- 4 --------------------------------------------------------------------------------------------


def _exact_duplicate(bench: _Bench) -> Judgement | None:
    candidate, neighbours = bench.candidate, bench.neighbours
    meant = neighbours.target or neighbours.identity
    for known in neighbours.exact:
        if known.governs != candidate.governs:
            continue
        if meant is not None and meant.id != known.id:
            continue
        if (meant is None and candidate.type == known.type) or _says_the_same(candidate, known):
            return bench.skip("exact_duplicate", f"This is known already as {known.slug!r}.", known)
    if neighbours.proposed is not None and meant is None and (candidate.propose or not bench.decides):
        proposal = neighbours.proposed
        if proposal.type == candidate.type and not candidate.slug_given:
            return bench.skip(
                "exact_duplicate", f"This waits in the inbox already as {proposal.slug!r}.", None, proposal
            )
    return None


def _says_the_same(candidate: Candidate, known: Memory) -> bool:
    """Whether storing the candidate over `known` would change nothing."""
    return (
        candidate.type == known.type
        and candidate.content == known.content
        and candidate.title == known.title
        and candidate.rationale == known.rationale
        and candidate.summary == known.summary
        and candidate.tags == known.tags
        and candidate.importance in (None, known.importance)
        and candidate.evidence == known.evidence
        and (candidate.entity, candidate.attribute) == (known.entity, known.attribute)
        and candidate.confidence == known.confidence
    )


# --- 5 --------------------------------------------------------------------------------------------


def _authority(bench: _Bench) -> None:
    candidate, actor = bench.candidate, bench.actor
    if candidate.propose:
        bench.hold("inbox", "it was handed in for review")
    if bench.out_of_bounds:
        bench.hold("authority.bound", f"it would be seen in every project, and {actor.name} is bound to one")
    elif candidate.governs and not bench.decides:
        bench.hold(
            "authority.governing", f"{candidate.type} governs everyone, and {_who(bench)} may only propose it"
        )
    if candidate.type is Type.PROFILE and not (actor.role is Role.OPERATOR and bench.trusted):
        bench.hold("authority.profile", "a fact about a person needs that person's word")
    reaches_out = candidate.scope.kind is ScopeKind.GLOBAL or candidate.scope.tier == Tier.GLOBAL
    told = bench.out_of_bounds or candidate.type is Type.PROFILE or candidate.governs
    if reaches_out and not told and not bench.decides:
        bench.hold("authority.reach", f"it would be seen in every project, and {_who(bench)} belongs to one")


def _who(bench: _Bench) -> str:
    return f"an actor of role {bench.actor.role}" if bench.trusted else "what comes through this door"


# --- 6 --------------------------------------------------------------------------------------------


def _same_identity(bench: _Bench) -> Judgement | None:
    candidate, neighbours = bench.candidate, bench.neighbours
    known = neighbours.target
    if known is None and candidate.slug_given:
        known = neighbours.identity
    if known is None:
        return None
    _aim(bench, "same_identity", known)
    return None


def _aim(bench: _Bench, rule: str, known: Memory) -> None:
    """Take `known` as what the candidate replaces: a decision is superseded, the rest updated."""
    bench.target = known
    governing = known.type in GOVERNING or bench.candidate.governs
    bench.op = Op.SUPERSEDE if governing and not bench.candidate.amends else Op.UPDATE
    bench.note(rule, bench.op, f"revision {known.revision} of {known.slug!r}", known.id)
    if known.governs and not bench.candidate.governs and not bench.decides:
        bench.hold("authority.governing", f"{known.slug!r} governs everyone", known.id)
    foreign = known.author != bench.actor.id and not bench.decides
    if foreign and not known.governs:
        bench.hold("authority.author", f"{known.slug!r} was written by {known.author}", known.id)


# --- 7 --------------------------------------------------------------------------------------------


def _entity_slot(bench: _Bench) -> Judgement | None:
    candidate = bench.candidate
    slot = [known for known in bench.neighbours.slot if known.id not in candidate.contradicts]
    if not candidate.entity or not slot:
        return None
    name = f"{candidate.entity} / {candidate.attribute}"
    if len(slot) > 1:
        bench.ambiguous = [known.id for known in slot]
        bench.hold("entity_slot.ambiguous", f"{len(slot)} memories fill the slot {name}")
        return None
    known = slot[0]
    alike = known.governs == candidate.governs
    # Who proposes what a source says did not write what another source said.
    own = known.author == bench.actor.id and bench.trusted
    if alike and (own or bench.decides):
        _aim(bench, "entity_slot", known)
        return None
    bench.contradicts.append(known.id)
    if bench.decides:
        # What informs does not replace what governs, nor the other way round: both stand, linked.
        bench.note("entity_slot.contradiction", "note", f"{known.slug!r} says otherwise of {name}", known.id)
        return None
    bench.hold("entity_slot.contradiction", f"{known.author} recorded another value for {name}", known.id)
    return None


# --- 8 --------------------------------------------------------------------------------------------


def _near_duplicate(bench: _Bench) -> Judgement | None:
    candidate, limits = bench.candidate, bench.limits
    ranked = sorted(
        ((similarity(candidate.content, known.content), known) for known in bench.neighbours.near),
        key=lambda pair: (-pair[0], pair[1].id),
    )
    ranked = [(score, known) for score, known in ranked if score >= limits.near_hold]
    if not ranked:
        return None
    score, known = ranked[0]
    said = f"{score:.0%} the same words as {known.slug!r}"
    bench.related.extend(other.id for _, other in ranked if other.id not in bench.contradicts)
    opposed = differs_in_substance(candidate.content, known.content)
    if bench.decides:
        bench.note("near_duplicate", "note", said, known.id)
        return None
    if opposed:
        if known.id not in bench.contradicts:
            bench.contradicts.append(known.id)
        bench.hold("near_duplicate.contradiction", f"{said}, but of another substance", known.id)
        return None
    if score >= limits.near_skip and known.type == candidate.type and not candidate.propose:
        if containment(candidate.content, known.content) >= 0.95:
            return bench.skip("near_duplicate", f"This is known already: {said}.", known)
        if known.author == bench.actor.id and not known.governs:
            bench.target, bench.op = known, Op.UPDATE
            bench.note("near_duplicate.merge", Op.UPDATE, f"{said}, and more", known.id)
            return None
    bench.hold("near_duplicate", said, known.id)
    return None


# --- 9, and the end ---------------------------------------------------------------------------------


def _conclude(bench: _Bench) -> Judgement:
    candidate = bench.candidate
    similar = bench.related + [
        proposal.id
        for proposal in bench.neighbours.near_proposals
        if similarity(candidate.content, proposal.content) >= bench.limits.near_hold
    ]
    would = Would(
        op=bench.op,
        target=None if bench.target is None else bench.target.id,
        contradicts=tuple(bench.contradicts),
        similar=tuple(similar),
        flags=bench.flags,
        held_because="; ".join(bench.holds),
    )
    common = {
        "target": bench.target,
        "would": would,
        "contradicts": tuple(bench.contradicts),
        "related": tuple(bench.related),
        "targets": tuple(bench.ambiguous),
        "lifts": bench.lifts,
    }
    if bench.holds:
        if bench.ambiguous:
            bench.note("ambiguous", "hold", "name the one that is meant, or give a slug")
        reason = f"Held for review: {would.held_because}."
        return Judgement(Op.HOLD, reason, tuple(bench.trace), **common)
    if bench.op is Op.ADD:
        bench.note("fresh", Op.ADD, "nothing stands against it")
    reason = {
        Op.ADD: "Added.",
        Op.UPDATE: f"Updated {bench.target.slug!r}." if bench.target else "Updated.",
        Op.SUPERSEDE: f"Supersedes {bench.target.slug!r}." if bench.target else "Supersedes.",
    }[bench.op]
    return Judgement(bench.op, reason, tuple(bench.trace), **common)
