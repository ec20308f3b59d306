"""What operations are given: the parameter types that they share, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeVar

from annotated_types import Ge, Le, MaxLen

from minutebook.call import Call
from minutebook.controller.write import check_words
from minutebook.ledger import events, past, projects, sessions
from minutebook.ledger import inbox as proposals
from minutebook.ledger import memories as kept
from minutebook.model.actors import Role
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.inbox import Proposal
from minutebook.model.memories import (
    DEFAULT_SCOPE,
    GOVERNING,
    Importance,
    Memory,
    Type,
    parse_type,
)
from minutebook.model.paging import Page
from minutebook.model.scopes import Scope, ScopeKind, Tier, parse_scope, parse_tier
from minutebook.model.text import canonical_slug, clean, fold_name, fold_tag, one_line, plain, slug_from
from minutebook.model.times import parse_time
from minutebook.operations.evidence import cited
from minutebook.operations.registry import Check, Help, LongText, Read, flags

T = TypeVar("T")


def _id_cursor(text: str) -> str:
    id = text.strip().upper()
    if not is_ulid(id):
        raise ValueError(f"{text[:40]!r} is no cursor of this listing")
    return id


Ref = Annotated[str, Help("id or slug"), MaxLen(300)]
TypeName = Annotated[Type, Read(parse_type), Help("what sort of memory it is")]
Title = Annotated[str, Help("one line that says it"), MaxLen(2_000)]
Content = Annotated[str, LongText(), Help("the text itself")]
Slug = Annotated[str, Help("its name in the project; made from the title if not given"), MaxLen(20_000)]
Reason = Annotated[str, LongText(), Help("why; kept with the verdict"), MaxLen(4_000)]
Limit = Annotated[int, Help("at most so many"), Ge(1), Le(1_000)]
After = Annotated[str, Help("continue after this cursor"), MaxLen(100)]
#: Where the cursor is the id of what was shown last: anything else would be a place nobody was at.
AfterId = Annotated[str, Help("continue after this cursor"), MaxLen(100), Check(_id_cursor)]
Agent = Annotated[str, Help("an agent's name"), MaxLen(200)]
Time = Annotated[str, Help("a time, a date, or an age such as 24h or 7d"), MaxLen(60)]

Moment = Annotated[
    str, Help("as it was then: a number of the event log, or a time such as 2026-11-16 or 7d"), MaxLen(60)
]


@flags
@dataclass(frozen=True, slots=True)
class Place:
    """Where a memory lives, and so who can see it."""

    scope: Annotated[
        ScopeKind | None, Read(parse_scope), Help("who can see it; follows from the type if not given")
    ] = None
    agent: Annotated[
        str | None, Help("whose agent scope; needed when an operator writes there"), MaxLen(200)
    ] = None
    tier: Annotated[Tier | None, Read(parse_tier), Help("agent scope: in this project, or everywhere")] = None
    repo: Annotated[str | None, Help("which repository, for scope repo"), MaxLen(300)] = None
    session: Annotated[
        str | None, Help("which session, for scope session; the open one if not given"), MaxLen(300)
    ] = None


@flags
@dataclass(frozen=True, slots=True)
class About:
    """What is said about a memory beside its words."""

    rationale: Annotated[str | None, LongText(), Help("why it is so")] = None
    summary: Annotated[str | None, LongText(), Help("a shorter form")] = None
    importance: Annotated[Importance | None, Help("how much it matters")] = None
    confidence: Annotated[float | None, Help("how sure it is, 0 to 1"), Ge(0), Le(1)] = None
    entity: Annotated[
        str | None, Help("what it is about, with an attribute: one fact per slot"), MaxLen(2_000)
    ] = None
    attribute: Annotated[str | None, Help("which property of the entity"), MaxLen(2_000)] = None
    tag: Annotated[list[str], Help("a tag; cross-team shows it to every agent"), MaxLen(1_000)] = ()  # type: ignore[assignment]
    evidence: Annotated[
        list[str], Help("what it rests on: file:PATH#10-20@COMMIT, url:…, commit:SHA"), MaxLen(1_000)
    ] = ()  # type: ignore[assignment]
    observed: Annotated[str | None, Help("when it was observed"), MaxLen(60)] = None


# --- texts --------------------------------------------------------------------------------------------------


def filled(text: str, field: str) -> str:
    """A text fit to be stored, that says something."""
    cleaned = clean(text)
    _check_filled(cleaned, field)
    return cleaned


def reason_of(text: str) -> str:
    """Why somebody did something: kept for ever with the verdict, so it is screened as what it is about is."""
    reason = filled(text, "reason")
    check_words({"reason": reason})
    return reason


def filled_line(text: str, field: str) -> str:
    line = one_line(text)
    _check_filled(line, field)
    return line


def _check_filled(text: str, field: str) -> None:
    # What draws nothing says nothing: a text of zero-width characters is blank to everybody who reads it.
    if not plain(text).strip():
        raise MinutebookError("blank_field", f"The {field} is blank; say something there.", field=field)


def filled_or_none(text: str | None) -> str | None:
    return None if text is None else clean(text).strip() or None


def tags_of(tags: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fold_tag(tag) for tag in tags))


def title_from(content: str) -> str:
    """The first line of a text, cut at a word."""
    line = one_line(content.strip().partition("\n")[0]).lstrip("# ").strip() or one_line(content)
    if len(line) <= 80:
        return line
    return line[:80].rpartition(" ")[0].rstrip(",;:.") + "…" if " " in line[:80] else line[:79] + "…"


def time_of(call: Call, text: str | None) -> str | None:
    return None if text is None else parse_time(text, call.now)


def seq_of(call: Call, moment: str | None) -> int:
    """The place in the event log that a moment names; without one, the last that is settled."""
    settled = call.tx.settled
    if moment is None:
        return settled
    given = moment.strip()
    if given.isascii() and given.isdigit() and len(given) <= 18:
        if int(given) > settled:
            raise MinutebookError(
                "invalid_input", f"The event log has reached {settled}, not {given}.", reached=settled
            )
        return int(given)
    return events.last_until(call.tx, parse_time(given, call.now), settled)


# --- candidates ----------------------------------------------------------------------------------------------


def candidate_from(
    call: Call,
    type: Type,
    title: str | None,
    content: str,
    *,
    slug: str | None = None,
    place: Place,
    about: About,
    target: str | None = None,
    contradicts: tuple[str, ...] = (),
    propose: bool = False,
) -> Candidate:
    """What a caller asks the controller to write, from what it was given."""
    content = filled(content, "content")
    title = filled_line(title, "title") if title is not None else title_from(content)
    if (about.entity is None) != (about.attribute is None):
        raise MinutebookError(
            "invalid_input", "An entity and an attribute go together: give both or neither."
        )
    return Candidate(
        scope=scope_for(call, type, place),
        type=type,
        title=title,
        content=content,
        slug=canonical_slug(slug) if slug is not None else slug_from(title, content),
        slug_given=slug is not None,
        rationale=filled_or_none(about.rationale),
        summary=filled_or_none(about.summary),
        importance=about.importance,
        confidence=about.confidence,
        entity=None if about.entity is None else fold_name(filled_line(about.entity, "entity")),
        attribute=None if about.attribute is None else fold_name(filled_line(about.attribute, "attribute")),
        tags=tags_of(about.tag),
        evidence=cited(call, about.evidence),
        observed_at=time_of(call, about.observed),
        target=target,
        contradicts=contradicts,
        propose=propose,
    )


def scope_for(call: Call, type: Type, place: Place) -> Scope:
    """The scope that a caller named, or the one that follows from the type.

    An agent's own scope is never guessed for somebody who is not that agent.
    """
    kind = place.scope
    acts_as_agent = call.actor.role is Role.AGENT
    if kind is None and (place.agent or place.tier):
        kind = ScopeKind.AGENT
    if kind is None and place.repo:
        kind = ScopeKind.REPO
    if kind is None and place.session:
        kind = ScopeKind.SESSION
    if kind is None:
        kind = DEFAULT_SCOPE[type]
        if kind is ScopeKind.AGENT and not acts_as_agent:
            kind = ScopeKind.PROJECT
    if kind is not ScopeKind.AGENT and (place.agent or place.tier):
        raise MinutebookError("unknown_scope", f"An agent or tier has no meaning in scope {kind}.")
    if type in GOVERNING and kind in (ScopeKind.AGENT, ScopeKind.SESSION):
        raise MinutebookError(
            "unknown_scope", f"A {type} decision governs everyone; it cannot live in one {kind}'s scope."
        )
    if kind is ScopeKind.GLOBAL:
        return Scope.everywhere()
    if kind is ScopeKind.PROJECT:
        return Scope.of_project(call.project.id)
    if kind is ScopeKind.AGENT:
        return Scope.of_agent(call.project.id, _agent_of(call, place.agent), place.tier or Tier.PROJECT)
    if kind is ScopeKind.REPO:
        return Scope.of_repo(call.project.id, _repo_of(call, place.repo))
    return Scope.of_session(call.project.id, _session_of(call, place.session))


def _agent_of(call: Call, agent: str | None) -> str:
    named = fold_name(agent) if agent else ""
    if call.actor.role is not Role.AGENT:
        return named
    if named and named != call.actor.id:
        raise MinutebookError("other_agent", f"{call.actor.name} cannot write into the memory of {agent!r}.")
    return call.actor.id


def _repo_of(call: Call, repo: str | None) -> str:
    if not repo:
        return ""
    found = projects.find_repo(call.tx, call.project.id, repo)
    if found is None:
        raise MinutebookError(
            "not_found", f"The project has no repository {repo[:80]!r}.", hint="minutebook projects add-repo"
        )
    return found.id


def _session_of(call: Call, session: str | None) -> str:
    if session:
        found = sessions.get(call.tx, call.project.id, session)
    else:
        found = sessions.current(call.tx, call.project.id)
    if found is None:
        raise MinutebookError("not_found", "There is no such session, or none is open.")
    return found.id


# --- finding what was named ------------------------------------------------------------------------------------


def run_of(call: Call) -> str | None:
    """The caller's own run, for what a read leaves behind; none where they have none, or named another's."""
    given = call.caller.run
    if given is None:
        return None
    from minutebook.ledger import runs  # costs more to import than a command without a run should pay
    from minutebook.model.runs import CURRENT

    if given.strip().casefold() == CURRENT:
        return next((run.id for run in runs.open_of(call.tx, call.project.id, call.actor.id, limit=1)), None)
    run = runs.get(call.tx, given.strip().upper())
    own = run is not None and (run.project, run.agent) == (call.project.id, call.actor.id)
    return run.id if run is not None and own else None


def memory_named(call: Call, ref: str, *, governing: bool | None = None, any_status: bool = False) -> Memory:
    """The memory of an id or slug that the caller may see. A deeper scope hides a shallower one."""
    wanted = "decision" if governing else "memory"
    found: Memory | None = None
    if is_ulid(ref.upper()):
        found = kept.seen_by(call.tx, ref.upper(), call.reader)
        if found is not None and governing is not None and found.governs != governing:
            found = None
    else:
        slug = canonical_slug(ref)
        several = kept.named(call.tx, slug, call.reader, governing=governing)
        if not several and any_status:
            several = kept.named(call.tx, slug, call.reader, governing=governing, active=False)[:1]
        # Who does not say whose means their own or the project's, if there is one.
        several = [m for m in several if not call.reader.foreign(m.scope)] or several
        if len(several) > 1 and several[0].scope.depth == several[1].scope.depth:
            raise MinutebookError(
                "ambiguous",
                f"{slug!r} names {len(several)} memories; give the id of the one that is meant.",
                candidates=[f"{m.id}  {m.type}  {m.scope}" for m in several],
            )
        found = several[0] if several else None
    if found is None:
        raise MinutebookError(
            "not_found",
            f"There is no {wanted} {ref[:80]!r} here.",
            hint=f"minutebook {_noun(governing)} list",
        )
    return found


def memory_then(call: Call, ref: str, moment: str, *, governing: bool | None = None) -> Memory:
    """The memory of an id or slug as it stood at a moment. A deeper scope hid a shallower one then too."""
    seq = seq_of(call, moment)
    if is_ulid(ref.upper()):
        found = past.get(call.tx, ref.upper(), call.reader, seq)
    else:
        several = past.named(call.tx, canonical_slug(ref), call.reader, seq, governing=governing)
        several = [m for m in several if not call.reader.foreign(m.scope)] or several
        if len(several) > 1 and several[0].scope.depth == several[1].scope.depth:
            raise MinutebookError(
                "ambiguous",
                f"{ref[:80]!r} named {len(several)} memories then; give the id of the one that is meant.",
                candidates=[f"{m.id}  {m.type}  {m.scope}" for m in several],
            )
        found = several[0] if several else None
    if found is None or (governing is not None and found.governs != governing):
        raise MinutebookError(
            "not_found", f"There was no {'decision' if governing else 'memory'} {ref[:80]!r} then."
        )
    return found


def _noun(governing: bool | None) -> str:
    return "decisions" if governing else "memories"


def proposal_named(call: Call, ref: str) -> Proposal:
    found: Proposal | None = None
    if is_ulid(ref.upper()):
        found = proposals.get(call.tx, ref.upper())
        if found is not None and found.project != call.project.id:
            found = None
    if found is None:
        found = proposals.by_slug(call.tx, call.project.id, ref.strip().casefold())
    if found is not None and proposals.unseen(call.tx, [found.id], call.reader):
        found = None  # its words are a memory's now, and the caller may not see that
    if found is None:
        raise MinutebookError(
            "not_found", f"The inbox has no proposal {ref[:80]!r}.", hint="minutebook inbox list --status all"
        )
    return found


def page_of(items: list[T], limit: int, cursor: str) -> Page[T]:
    """A page of `limit` items out of one more than that; `cursor` names the attribute to continue after."""
    more = len(items) > limit
    shown = tuple(items[:limit])
    return Page(shown, str(getattr(shown[-1], cursor)) if more and shown else None)


def number_of(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise MinutebookError("invalid_input", f"{cursor[:40]!r} is no cursor of this listing.")
    return int(cursor)
