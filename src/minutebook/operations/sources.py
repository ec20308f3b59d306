"""Raw captured material: what is kept, and letting it go."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, MaxLen

from minutebook.call import Call, LongCall
from minutebook.controller.erase import erase_for_good
from minutebook.controller.erase_source import erase_source
from minutebook.ledger import sources as kept
from minutebook.model.actors import may_decide
from minutebook.model.captures import Source, SourceLine, SourceView
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.text import one_line
from minutebook.model.times import age
from minutebook.model.verdicts import Outcome
from minutebook.operations.captures import sees
from minutebook.operations.given import AfterId, Limit, Reason, page_of, reason_of
from minutebook.operations.registry import Access, Help, operation

SourceRef = Annotated[str, Help("the id of a source"), MaxLen(300)]
#: Characters of a source that are shown at once.
_MOST_SHOWN = 200_000


@operation(Access.READ)
def list_(
    call: Call,
    kind: Annotated[str | None, Help("manual, conversation, run, document or import"), MaxLen(20)] = None,
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[SourceLine]:
    """List raw material, newest first. An agent sees what it brought, and what its runs said.

    Example:
        minutebook sources list --kind conversation
    """
    found = kept.list_(
        call.tx, call.project.id, kind=kind, agent=call.reader.agent, after=after, limit=limit + 1
    )
    lines = [
        SourceLine(
            id=source.id,
            kind=source.kind,
            title=one_line(source.title)[:200],
            bytes=source.size,
            by=source.created_by,
            age=age(source.created_at, call.now),
            state=_state(source),
            run=source.run,
        )
        for source in found
    ]
    return page_of(lines, limit, "id")


@operation(Access.READ)
def show(
    call: Call,
    ref: SourceRef,
    first: Annotated[int, Help("the first line to show, counted from 1"), Ge(1)] = 1,
    last: Annotated[int | None, Help("the last line to show"), Ge(1)] = None,
) -> SourceView:
    """Show the words of a source, whole or some lines: what evidence such as source:ID#12-14 points to.

    Example:
        minutebook sources show 01K9… --first 12 --last 14
    """
    source = _found(call, ref)
    if call.reader.agent is None and not may_decide(call.actor.role) and source.created_by != call.actor.id:
        raise MinutebookError(
            "not_allowed", "The words of a source are for who brought it and for reviewers."
        )
    lines = [] if source.content is None else source.content.split("\n")
    shown = "\n".join(lines[first - 1 : last])
    if len(shown) > _MOST_SHOWN:
        raise MinutebookError(
            "too_large",
            f"That is {len(shown):,} characters; at most {_MOST_SHOWN:,} are shown at once.",
            hint="give --first and --last",
        )
    return SourceView(
        id=source.id,
        kind=source.kind,
        title=source.title,
        locator=source.locator,
        capture_mode=source.capture_mode,
        consent=source.consent,
        run=source.run,
        bytes=source.size,
        digest=source.digest,
        by=source.created_by,
        created_at=source.created_at,
        state=_state(source),
        first=first,
        last=min(last or len(lines), len(lines)),
        lines=len(lines),
        text=shown,
    )


@operation(Access.OPERATE)
def erase(call: LongCall, ref: SourceRef, reason: Reason) -> Outcome:
    """Take a source away for good, for privacy, with everything that came out of it.

    Its words, its title, every proposal and every memory that was made from it lose their words; who, when and
    keyed hashes stay, so that none of it comes back. Tell a run's transcript by `minutebook runs show`.

    Example:
        minutebook sources erase 01K9… "they withdrew their consent"
    """
    why = reason_of(reason)
    return erase_for_good(call, lambda inside: erase_source(inside, _found(inside, ref), reason=why))


def _state(source: Source) -> str:
    return "erased" if source.erased_at else "pruned" if source.pruned_at else "kept"


def _found(call: Call, ref: str) -> Source:
    id = ref.strip().upper()
    source = kept.get(call.tx, id) if is_ulid(id) else None
    if source is None or source.project != call.project.id or not sees(call, source, source.created_by):
        raise MinutebookError(
            "not_found", f"The project has no source {ref[:80]!r}.", hint="minutebook sources list"
        )
    return source
