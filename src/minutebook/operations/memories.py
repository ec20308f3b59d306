"""What is remembered."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Annotated, Literal

from annotated_types import Ge, MaxLen

from minutebook.call import Call, LongCall
from minutebook.controller import across, change
from minutebook.controller.write import write as judged
from minutebook.ledger import links as relations
from minutebook.ledger import listings, past, reach, revisions, snapshots
from minutebook.ledger import memories as kept
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import (
    Difference,
    Importance,
    Memory,
    MemoryLine,
    MemoryView,
    Relation,
    RevisionLine,
)
from minutebook.model.paging import Page
from minutebook.model.runs import Checked, Sighting
from minutebook.model.scopes import ScopeKind
from minutebook.model.text import fold_name
from minutebook.model.verdicts import Outcome
from minutebook.operations.evidence import checked
from minutebook.operations.given import (
    About,
    AfterId,
    Agent,
    Content,
    Limit,
    Moment,
    Place,
    Reason,
    Ref,
    Slug,
    Time,
    Title,
    TypeName,
    candidate_from,
    memory_named,
    memory_then,
    page_of,
    reason_of,
    scope_for,
    seq_of,
    tags_of,
    time_of,
)
from minutebook.operations.linked import foreign_memory, linked_memory, way_out
from minutebook.operations.registry import Access, Help, operation

AnyStatus = Literal["active", "superseded", "contradicted", "archived", "retired", "erased", "all"]


@operation(Access.PROPOSE)
def write(
    call: Call,
    type: TypeName,
    content: Content,
    title: Annotated[
        Title | None, Help("one line that says it; the first line of the text if not given")
    ] = None,
    slug: Slug | None = None,
    supersedes: Annotated[str | None, Help("the memory it replaces: id or slug")] = None,
    contradicts: Annotated[list[str], Help("what it knowingly contradicts and shall stand beside")] = (),  # type: ignore[assignment]
    place: Place = Place(),  # noqa: B008
    about: About = About(),  # noqa: B008
    dry_run: Annotated[bool, Help("only say what the verdict would be")] = False,
) -> Outcome:
    """Write a memory, and hear the controller's verdict.

    What informs is added, or updates what stands under the same name. What governs is added for those who
    may decide, and held in the inbox for everyone else. The answer says which, and why.

    Example:
        minutebook memories write learning "The staging proxy drops bodies over 1 MB." --importance high
        minutebook memories write core_context @charter.md --agent ripley
        minutebook memories write project "CI runs on Debian 12" --entity ci --attribute os
    """
    target = None if supersedes is None else memory_named(call, supersedes).id
    rivals = tuple(memory_named(call, ref).id for ref in contradicts)
    candidate = candidate_from(
        call, type, title, content, slug=slug, place=place, about=about, target=target, contradicts=rivals
    )
    done = judged(call, candidate)
    if dry_run:
        call.preview(done)
    return done


@operation(Access.READ)
def list_(
    call: Call,
    type: TypeName | None = None,
    status: Annotated[AnyStatus, Help("how they stand")] = "active",
    scope: Annotated[ScopeKind | None, Help("only this scope")] = None,
    agent: Agent | None = None,
    author: Annotated[str | None, Help("who wrote it")] = None,
    tag: Annotated[list[str], Help("only with this tag; several must all be there")] = (),  # type: ignore[assignment]
    importance: Annotated[Importance | None, Help("only of this importance")] = None,
    since: Time | None = None,
    until: Time | None = None,
    as_of: Moment | None = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[MemoryLine]:
    """List memories of every type, newest first.

    You see what is global, what is the project's, and, as an agent, your own and what others tagged
    cross-team.

    Example:
        minutebook memories list --type learning --tag cross-team
        minutebook memories list --status contradicted
    """
    wanted = listings.Filter(
        type=type,
        status=status,
        scope=scope,
        agent=None if agent is None else fold_name(agent),
        author=None if author is None else fold_name(author),
        tags=tags_of(tag),
        importance=importance,
        since=time_of(call, since),
        until=time_of(call, until),
    )
    return listed(call, wanted, as_of, after, limit)


def listed(
    call: Call, wanted: listings.Filter, as_of: str | None, after: str | None, limit: int
) -> Page[MemoryLine]:
    """A page of a listing, as it is or as it was."""
    if as_of is None:
        lines = listings.list_(call.tx, call.reader, wanted, after=after, limit=limit + 1)
    elif wanted.status == "contradicted":
        raise MinutebookError("invalid_input", "What contradicted what is not kept for the past.")
    else:
        lines = past.list_(call.tx, call.reader, wanted, seq_of(call, as_of), after=after, limit=limit + 1)
    return page_of(lines, limit, "id")


@operation(Access.READ)
def show(call: Call, ref: Ref, as_of: Moment | None = None) -> MemoryView:
    """Show a memory whole, with its links and how it stands; of the past without links, which have none.

    One of a linked project is named by its id, or by the project's short name and its own.

    Example:
        minutebook memories show staging-proxy
        minutebook memories show staging-proxy --as-of 7d
        minutebook memories show infra/upload-limit
    """
    linked = linked_memory(call, ref, as_of)
    if linked is not None:
        return view_then(linked.memory, linked.project)
    if as_of is not None:
        return view_then(memory_then(call, ref, as_of))
    return view_of(call, memory_named(call, ref, any_status=True))


def view_then(memory: Memory, project: str | None = None) -> MemoryView:
    return MemoryView(memory=memory, standing=memory.status, links=(), supersedes=(), project=project)


def view_of(call: Call, memory: Memory) -> MemoryView:
    found = relations.of(call.tx, memory.id)
    disputed = any(link.relation is Relation.CONTRADICTS for link in found)
    unseen = kept.unseen(call.tx, [end for link in found for end in (link.from_id, link.to_id)], call.reader)
    unseen -= reach.seen_of(call.tx, unseen, call.reader)
    found = [link for link in found if link.from_id not in unseen and link.to_id not in unseen]
    contested = disputed and listings.contested(call.tx, memory.id)
    return MemoryView(
        memory=memory,
        standing="contradicted" if contested else memory.status,
        links=tuple(found),
        supersedes=tuple(
            link.to_id for link in found if link.relation is Relation.SUPERSEDES and link.from_id == memory.id
        ),
    )


@operation(Access.PROPOSE)
def edit(
    call: Call,
    ref: Ref,
    content: Content | None = None,
    title: Annotated[Title | None, Help("another title")] = None,
    about: About = About(),  # noqa: B008
    revision: Annotated[int | None, Help("only if it is still at this revision"), Ge(1)] = None,
    dry_run: Annotated[bool, Help("only say what the verdict would be")] = False,
) -> Outcome:
    """Change a memory where it stands; its history keeps what it was.

    An agent's change to a decision, or to what somebody else wrote, is held for review.

    Example:
        minutebook memories edit staging-proxy --content "The staging proxy drops bodies over 2 MB."
    """
    return edit_memory(call, memory_named(call, ref), content, title, about, revision, dry_run)


def edit_memory(
    call: Call,
    memory: Memory,
    content: str | None,
    title: str | None,
    about: About,
    revision: int | None,
    dry_run: bool,
) -> Outcome:
    """The change as a candidate that amends the memory, so that it is judged like any other write."""
    if revision is not None and revision != memory.revision:
        raise MinutebookError(
            "stale_revision",
            f"{memory.slug!r} is at revision {memory.revision}, not {revision}; look at it and edit again.",
            memory=memory.id,
            revision=memory.revision,
        )
    if content is None and title is None and about == About():
        raise MinutebookError(
            "invalid_input", "Say what to change: --content, --title, --rationale, --tag, …"
        )
    asked = candidate_from(
        call,
        memory.type,
        memory.title if title is None else title,
        memory.content if content is None else content,
        place=Place(scope=ScopeKind.GLOBAL),
        about=about,
    )
    candidate: Candidate = replace(
        asked.over(memory),
        scope=memory.scope,
        slug=memory.slug,
        slug_given=True,
        target=memory.id,
        amends=True,
    )
    done = judged(call, candidate)
    if dry_run:
        call.preview(done)
    return done


@operation(Access.PROPOSE)
def retire(call: Call, ref: Ref, reason: Reason) -> Outcome:
    """Take a memory out of use, with a tombstone so that it stays away.

    Example:
        minutebook memories retire staging-proxy "the proxy was replaced"
    """
    return change.retire(call, memory_named(call, ref), reason=reason_of(reason))


@operation(Access.REVIEW)
def restore(call: Call, ref: Ref, reason: Reason) -> Outcome:
    """Bring a retired memory back.

    Example:
        minutebook memories restore 01K9… "it was right after all"
    """
    return change.restore(call, memory_named(call, ref, any_status=True), reason=reason_of(reason))


@operation(Access.PROPOSE)
def archive(call: Call, ref: Ref, reason: Reason) -> Outcome:
    """Put a memory away without a tombstone: it may be said again.

    Example:
        minutebook memories archive old-layout "superseded long ago"
    """
    return change.archive(call, memory_named(call, ref, any_status=True), reason=reason_of(reason))


@operation(Access.PROPOSE)
def supersede(
    call: Call,
    ref: Ref,
    by: Annotated[str, Help("the successor: id or slug")],
    reason: Reason = "superseded",
) -> Outcome:
    """Replace one standing memory by another that stands already.

    Example:
        minutebook memories supersede staging-proxy new-proxy
    """
    return change.supersede_with(
        call, memory_named(call, ref, any_status=True), memory_named(call, by, any_status=True),
        reason=reason_of(reason),
    )  # fmt: skip


@operation(Access.PROPOSE)
def rescope(call: Call, ref: Ref, reason: Reason = "rescoped", place: Place = Place()) -> Outcome:  # noqa: B008
    """Move a memory to another scope.

    Example:
        minutebook memories rescope staging-proxy --scope project
        minutebook memories rescope style-guide --scope global --reason "true everywhere"
    """
    memory = memory_named(call, ref)
    if place == Place():
        raise MinutebookError(
            "unknown_scope", "Say where it shall live.", hint="--scope, --agent, --tier, --repo"
        )
    return change.rescope(call, memory, scope_for(call, memory.type, place), reason=reason_of(reason))


@operation(Access.PROPOSE)
def tag(
    call: Call,
    ref: Ref,
    tags: Annotated[list[str], Help("tags to add")],
) -> Outcome:
    """Add tags to a memory. `cross-team` shows an agent's memory to every agent of the project.

    Example:
        minutebook memories tag staging-proxy cross-team infra
    """
    memory = memory_named(call, ref)
    return change.retag(call, memory, tuple(dict.fromkeys((*memory.tags, *tags_of(tags)))))


@operation(Access.PROPOSE)
def untag(
    call: Call,
    ref: Ref,
    tags: Annotated[list[str], Help("tags to take away")],
) -> Outcome:
    """Take tags away from a memory.

    Example:
        minutebook memories untag staging-proxy infra
    """
    memory = memory_named(call, ref)
    gone = set(tags_of(tags))
    return change.retag(call, memory, tuple(tag for tag in memory.tags if tag not in gone))


@operation(Access.PROPOSE)
def link(call: Call, ref: Ref, relation: Annotated[Relation, Help("how")], other: Ref) -> Outcome:
    """Say how one memory stands to another.

    The other may be of another project, if you decide in both: by its id, or by the project's short name and its
    own. From then on this project reads it; the other project learns nothing of that.

    Example:
        minutebook memories link staging-proxy supports upload-limit
        minutebook memories link port-8080 contradicts port-9090
        minutebook memories link staging-proxy related_to infra/upload-limit
    """
    memory, elsewhere = memory_named(call, ref), foreign_memory(call, other)
    if elsewhere is not None and across.is_across(memory, elsewhere):
        return across.link(call, memory, relation, elsewhere)
    return change.link(call, memory, relation, memory_named(call, other))


@operation(Access.PROPOSE)
def unlink(call: Call, ref: Ref, relation: Annotated[Relation, Help("how")], other: Ref) -> Outcome:
    """Take a link away.

    Example:
        minutebook memories unlink staging-proxy supports upload-limit
    """
    memory = memory_named(call, ref, any_status=True)
    way = way_out(call, memory, relation, other)
    if way is not None:
        return across.unlink(call, memory, way)
    return change.unlink(call, memory, relation, memory_named(call, other, any_status=True))


@operation(Access.READ)
def history(call: Call, ref: Ref) -> Page[RevisionLine]:
    """Show what a memory was, write by write.

    Example:
        minutebook memories history staging-proxy
    """
    return history_of(call, memory_named(call, ref, any_status=True))


def history_of(call: Call, memory: Memory) -> Page[RevisionLine]:
    lines = [
        RevisionLine(
            revision=revision.revision,
            op=revision.op,
            actor=revision.actor,
            at=revision.at,
            status=revision.state.status,
            title=revision.state.title,
            verdict=revision.verdict,
            seq=revision.seq,
        )
        for revision in revisions.of(call.tx, memory.id)
    ]
    return Page(tuple(lines))


@operation(Access.READ)
def seen(call: Call, ref: Ref, after: AfterId | None = None, limit: Limit = 50) -> Page[Sighting]:
    """Say which runs were shown a memory, at which revision, the newest run first.

    Example:
        minutebook memories seen staging-proxy
    """
    memory = memory_named(call, ref, any_status=True)
    found = snapshots.sightings(call.tx, memory.id, project=call.project.id, after=after, limit=limit + 1)
    return page_of(found, limit, "run")


@operation(Access.READ)
def verify(
    call: Call,
    ref: Annotated[list[str], Help("only this one: id or slug; may be given again"), MaxLen(100)] = (),  # type: ignore[assignment]
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[Checked]:
    """Look at what memories rest on: fresh, stale (the cited lines changed), missing, or unverifiable.

    Files are looked at in the workspace that you work in, and only by callers on this machine. What cannot be
    looked at (no hash was taken, an address, a link, a file too large, no workspace) is unverifiable. The limit
    counts memories; each has a line for every piece of its evidence.

    Example:
        minutebook memories verify
        minutebook memories verify --ref staging-proxy
    """
    if ref:
        return Page(tuple(checked(call, (memory_named(call, each) for each in ref))))
    found = listings.with_evidence(call.tx, call.reader, after=after, limit=limit + 1)
    more = found[limit - 1].id if len(found) > limit else None
    return Page(tuple(checked(call, found[:limit])), more)


@operation(Access.READ)
def diff(
    call: Call,
    ref: Ref,
    revision: Annotated[
        int | None, Help("the earlier revision; the one before the last if not given"), Ge(1)
    ] = None,
    to: Annotated[int | None, Help("the later revision; the newest if not given"), Ge(1)] = None,
    other: Annotated[str | None, Help("compare with this memory instead")] = None,
) -> Difference:
    """Show what changed between two revisions of a memory, or between two memories.

    Example:
        minutebook memories diff staging-proxy
        minutebook memories diff staging-proxy --revision 1 --to 3
    """
    memory = memory_named(call, ref, any_status=True)
    if other is not None:
        against = memory_named(call, other, any_status=True)
        return difference(memory, against, memory.slug, against.slug)
    return difference_of(call, memory, revision, to)


def difference_of(call: Call, memory: Memory, revision: int | None, to: int | None) -> Difference:
    known = {item.revision: item for item in revisions.of(call.tx, memory.id)}
    later = to or max(known)
    earlier = revision or max(later - 1, 1)
    for wanted in (earlier, later):
        if wanted not in known:
            raise MinutebookError(
                "not_found", f"{memory.slug!r} has no revision {wanted}; it has {min(known)} to {max(known)}."
            )
    return difference(known[earlier].state, known[later].state, f"revision {earlier}", f"revision {later}")


#: Fields whose change is worth a line; the content is shown as a diff.
_COMPARED = (
    "title", "status", "type", "slug", "rationale", "summary", "importance", "confidence", "entity", "attribute",
    "tags", "scope", "superseded_by", "author", "decided_by",
)  # fmt: skip


def difference(before: Memory, after: Memory, before_name: str, after_name: str) -> Difference:
    fields = {}
    for name in _COMPARED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            fields[name] = (_said(old), _said(new))
    lines = difflib.unified_diff(
        before.content.splitlines(), after.content.splitlines(), before_name, after_name, lineterm="", n=3
    )
    return Difference(before_name, after_name, fields, "\n".join(lines))


def _said(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@operation(Access.OPERATE)
def erase(call: LongCall, ref: Ref, reason: Reason) -> Outcome:
    """Take a memory's words away for good, for privacy.

    They go from the memory, its revisions, its proposal, the verdicts and the full text. Who wrote it and
    when stays, with a keyed hash that keeps the words from coming back, also by an import or a restore. The
    answer names what else says exactly the same.

    Example:
        minutebook memories erase customer-list "personal data"
    """
    from minutebook.controller import erase as erasing  # few commands erase, and it takes long to import

    return erasing.erase_for_good(
        call,
        lambda inside: erasing.erase_memory(
            inside, memory_named(inside, ref, any_status=True), reason=reason_of(reason)
        ),
    )
