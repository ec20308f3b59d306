"""What governs: memories of a governing type."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge

from minutebook.call import Call
from minutebook.controller import change
from minutebook.controller.write import write as judged
from minutebook.ledger import listings
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import GOVERNING, Difference, MemoryLine, MemoryView, RevisionLine, Type
from minutebook.model.paging import Page
from minutebook.model.scopes import ScopeKind
from minutebook.model.text import fold_name
from minutebook.model.verdicts import Outcome
from minutebook.operations.given import (
    About,
    AfterId,
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
    reason_of,
    tags_of,
    time_of,
)
from minutebook.operations.memories import difference_of, edit_memory, history_of, listed, view_of, view_then
from minutebook.operations.registry import Access, Help, operation


@operation(Access.PROPOSE)
def write(
    call: Call,
    type: TypeName,
    title: Title,
    content: Content,
    slug: Slug | None = None,
    supersedes: Annotated[str | None, Help("the decision it replaces: id or slug")] = None,
    contradicts: Annotated[list[str], Help("what it knowingly contradicts and shall stand beside")] = (),  # type: ignore[assignment]
    place: Place = Place(),  # noqa: B008
    about: About = About(),  # noqa: B008
    dry_run: Annotated[bool, Help("only say what the verdict would be")] = False,
) -> Outcome:
    """Decide something, at once if you may, else as a proposal.

    Operators and coordinators decide directly and the record says so. From anybody else it is held in
    the inbox. A decision of the same type and slug is superseded, not overwritten.

    Example:
        minutebook decisions write architectural "Use PostgreSQL" "One database for all." --slug database
        minutebook decisions write process "Review first" @review.md --rationale "two bad releases in May"
    """
    _check_governs(type)
    target = None if supersedes is None else memory_named(call, supersedes, governing=True).id
    rivals = tuple(memory_named(call, ref).id for ref in contradicts)
    candidate = candidate_from(
        call, type, title, content, slug=slug, place=place, about=about, target=target, contradicts=rivals
    )
    done = judged(call, candidate)
    if dry_run:
        call.preview(done)
    return done


def _check_governs(type: Type) -> None:
    if type not in GOVERNING:
        known = ", ".join(sorted(GOVERNING))
        raise MinutebookError(
            "unknown_type",
            f"A {type} informs and does not govern; a decision is one of {known}.",
            hint="minutebook memories write",
        )


@operation(Access.READ)
def list_(
    call: Call,
    type: TypeName | None = None,
    status: Annotated[
        Literal["active", "superseded", "contradicted", "archived", "retired", "erased", "all"],
        Help("how they stand"),
    ] = "active",
    scope: Annotated[ScopeKind | None, Help("only this scope")] = None,
    author: Annotated[str | None, Help("who wrote it")] = None,
    tag: Annotated[list[str], Help("only with this tag; several must all be there")] = (),  # type: ignore[assignment]
    since: Time | None = None,
    until: Time | None = None,
    as_of: Moment | None = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[MemoryLine]:
    """List decisions, newest first: the project's and the global ones.

    Example:
        minutebook decisions list
        minutebook decisions list --type architectural --status all
        minutebook decisions list --as-of 2026-11-16
    """
    if type is not None:
        _check_governs(type)
    wanted = listings.Filter(
        governing=True,
        type=type,
        status=status,
        scope=scope,
        author=None if author is None else fold_name(author),
        tags=tags_of(tag),
        since=time_of(call, since),
        until=time_of(call, until),
    )
    return listed(call, wanted, as_of, after, limit)


@operation(Access.READ)
def show(call: Call, ref: Ref, as_of: Moment | None = None) -> MemoryView:
    """Show a decision whole: its words, who accepted it, what it replaced; or as it stood at a moment.

    Example:
        minutebook decisions show database
    """
    if as_of is not None:
        return view_then(memory_then(call, ref, as_of, governing=True))
    return view_of(call, memory_named(call, ref, governing=True, any_status=True))


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
    """Correct a decision where it stands; its history keeps what it was.

    To decide otherwise, write a decision that supersedes it. From somebody who may not decide, the change
    is held for review.

    Example:
        minutebook decisions edit database --title "Use PostgreSQL 18"
    """
    return edit_memory(
        call, memory_named(call, ref, governing=True), content, title, about, revision, dry_run
    )


@operation(Access.REVIEW)
def supersede(
    call: Call,
    ref: Ref,
    by: Annotated[str, Help("the successor, which stands already: id or slug")],
    reason: Reason = "superseded",
) -> Outcome:
    """Replace a decision by another one of the same project.

    The old one stays on record and points to its successor.

    Example:
        minutebook decisions supersede use-mysql use-postgres
    """
    return change.supersede_with(
        call,
        memory_named(call, ref, governing=True, any_status=True),
        memory_named(call, by, governing=True, any_status=True),
        reason=reason_of(reason),
    )


@operation(Access.REVIEW)
def archive(call: Call, ref: Ref, reason: Reason) -> Outcome:
    """Put a decision away: it governs no more, and stays on record.

    Example:
        minutebook decisions archive use-mysql "the service is gone"
    """
    return change.archive(
        call, memory_named(call, ref, governing=True, any_status=True), reason=reason_of(reason)
    )


@operation(Access.REVIEW)
def retire(call: Call, ref: Ref, reason: Reason) -> Outcome:
    """Take a decision out of force because it was wrong; a tombstone keeps it from coming back.

    Example:
        minutebook decisions retire use-mongo "it lost data"
    """
    return change.retire(call, memory_named(call, ref, governing=True), reason=reason_of(reason))


@operation(Access.READ)
def history(call: Call, ref: Ref) -> Page[RevisionLine]:
    """Show what a decision was, write by write.

    Example:
        minutebook decisions history database
    """
    return history_of(call, memory_named(call, ref, governing=True, any_status=True))


@operation(Access.READ)
def diff(
    call: Call,
    ref: Ref,
    revision: Annotated[
        int | None, Help("the earlier revision; the one before the last if not given"), Ge(1)
    ] = None,
    to: Annotated[int | None, Help("the later revision; the newest if not given"), Ge(1)] = None,
) -> Difference:
    """Show what changed between two revisions of a decision.

    Example:
        minutebook decisions diff database
    """
    return difference_of(call, memory_named(call, ref, governing=True, any_status=True), revision, to)
