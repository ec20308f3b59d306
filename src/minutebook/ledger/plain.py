"""Values to JSON text and back: what the ledger keeps of a memory's state and of a verdict's material."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from minutebook.model.evidence import Evidence, EvidenceKind
from minutebook.model.inbox import Would
from minutebook.model.memories import Importance, Memory, Status, Type
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.model.verdicts import Effect, RuleHit

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def _encode(value: Any) -> str:
    return "".join(_CHUNKS(value, 0))


def _chunks() -> Callable[[Any, int], Sequence[str]]:
    """What the encoder itself makes anew for each value; without its own code in C it is asked each time."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _: (_ENCODER.encode(value),)
    return make(None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", False, False, True)


_CHUNKS = _chunks()


def dump(value: Any) -> str:
    return _encode(value)


def load(text: str) -> Any:
    return json.loads(text)


def dump_evidence(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return "[]"
    return _encode([[e.kind, e.ref, e.span, e.digest, e.commit] for e in evidence])


def load_evidence(text: str) -> tuple[Evidence, ...]:
    if text == "[]":
        return ()
    return tuple(Evidence(EvidenceKind(kind), *rest) for kind, *rest in json.loads(text))


def load_tags(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def dump_trace(trace: Sequence[RuleHit]) -> str:
    return _encode([[hit.rule, hit.outcome, hit.detail, hit.target] for hit in trace])


def load_trace(text: str) -> tuple[RuleHit, ...]:
    return tuple(RuleHit(*hit) for hit in json.loads(text))


def dump_effects(effects: Sequence[Effect]) -> str:
    return _encode([[e.kind, e.ref, e.before, e.after] for e in effects])


def load_effects(text: str) -> tuple[Effect, ...]:
    return tuple(Effect(*effect) for effect in json.loads(text))


def dump_would(would: Would) -> str:
    return _encode(
        [would.op, would.target, would.contradicts, would.similar, would.flags, would.held_because]
    )


def load_would(text: str) -> Would:
    op, target, contradicts, similar, flags, because = json.loads(text)
    return Would(op, target, tuple(contradicts), tuple(similar), tuple(flags), because)


#: The fields of a memory that a revision keeps, in this order; appended to, never reordered.
_STATE = (
    "type",
    "slug",
    "title",
    "content",
    "summary",
    "rationale",
    "status",
    "importance",
    "confidence",
    "entity",
    "attribute",
    "author",
    "author_role",
    "origin",
    "decided_by",
    "decided_role",
    "proposal",
    "source",
    "run",
    "superseded_by",
    "observed_at",
    "verified_at",
    "created_at",
    "updated_at",
)


_STATE_OF = attrgetter(*_STATE)


def dump_state(memory: Memory) -> str:
    scope = memory.scope
    state: dict[str, Any] = dict(zip(_STATE, _STATE_OF(memory), strict=True))
    state["scope"] = [scope.kind, scope.project, scope.tier, scope.agent, scope.repo, scope.session]
    state["tags"] = memory.tags
    state["evidence"] = [[e.kind, e.ref, e.span, e.digest, e.commit] for e in memory.evidence]
    return _encode(state)


def load_state(text: str, *, id: str, revision: int, seq: int) -> Memory:
    state = json.loads(text)
    kind, *place = state.pop("scope")
    evidence = tuple(Evidence(EvidenceKind(k), *rest) for k, *rest in state.pop("evidence"))
    state["type"] = Type(state["type"])
    state["status"] = Status(state["status"])
    state["importance"] = Importance(state["importance"])
    state["tags"] = tuple(state["tags"])
    return Memory(
        id=id, scope=Scope(ScopeKind(kind), *place), evidence=evidence, revision=revision, seq=seq, **state
    )
