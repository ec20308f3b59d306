"""The inbox of the sample house."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, parse_evidence
from minutebook.model.inbox import (
    Promotion,
    Proposal,
    ProposalLine,
    ProposalStatus,
    ProposalView,
    Risk,
    Would,
)
from minutebook.model.memories import Importance, Type, parse_type
from minutebook.model.paging import Page
from minutebook.model.scopes import Scope
from minutebook.operations.registry import Access, Help, Read, Text, flags
from sample_house import registry

operation = registry.operation
TypeName = Annotated[Type, Read(parse_type), Help("what sort of memory it would be")]
#: What a hostile author may have stored.
NASTY = "[bold red]now[/] \x1b[31mred\x1b[0m \u202eevil\u202c \u2028 end"


def ulid(number: int) -> str:
    return f"01JD2Q8ZK4M0000000000000{number:02}"


def line(number: int) -> ProposalLine:
    slug, title = f"use-postgres-{number}", f"Keep the shared ledger on PostgreSQL for teams, part {number}"
    if number == 2:
        title = NASTY
    return ProposalLine(
        slug=slug,
        type=Type.ARCHITECTURAL,
        title=title,
        agent="ripley",
        status=ProposalStatus.PENDING,
        risk=Risk.HIGH,
        would="supersede",
        age="3 h",
        flags=("claims-authority",) if number == 3 else (),
        id=ulid(number),
        created_at="2026-11-16T13:05:42.123Z",
    )


@flags
@dataclass(frozen=True, slots=True)
class Filters:
    status: Annotated[ProposalStatus | None, Help("only proposals of this status")] = None
    type: TypeName | None = None
    tag: Annotated[tuple[str, ...], Help("only with all of these tags")] = ()
    limit: Annotated[int, Ge(0), Le(200), Help("how many to show")] = 50
    after: Annotated[str | None, Help("the cursor of the page before")] = None


@operation(Access.READ)
def list_(call: object, filters: Filters) -> Page[ProposalLine]:
    """List the proposals, the riskiest first.

    Example:
        minutebook inbox list --status pending
    """
    items = tuple(line(number) for number in range(1, min(filters.limit, 6) + 1))
    return Page(items, "c3" if filters.limit < 6 and filters.limit else None)


@operation(Access.READ)
def show(call: object, slug: Annotated[str, Help("the proposal's slug")]) -> ProposalView:
    """Show one proposal as its reviewer sees it."""
    if slug == "nothing":
        raise MinutebookError("not_found", f"there is no proposal {slug!r}", hint="minutebook inbox list")
    proposal = Proposal(
        id=ulid(1),
        project="atlas",
        slug=slug,
        requested_slug="use-postgres",
        agent="ripley",
        author_role="agent",
        origin="cli",
        type=Type.ARCHITECTURAL,
        title="Keep the shared ledger on PostgreSQL",
        content="One database for the team.\n\n- measured twice\n- " + NASTY,
        scope=Scope.of_project("atlas"),
        status=ProposalStatus.PENDING,
        risk=Risk.HIGH,
        would=Would(
            "supersede", target=ulid(9), similar=("use-mysql",), held_because="an agent may not decide"
        ),
        created_at="2026-11-16T13:05:42.123Z",
        updated_at="2026-11-16T13:05:42.123Z",
        importance=Importance.HIGH,
        tags=("cross-team", "storage"),
        evidence=(Evidence(parse_evidence("file:a.py#1-2").kind, "a.py", "1-2"),),
    )
    return ProposalView(
        proposal, True, "the decision has a newer revision", "--- old\n+++ new\n@@ -1 +1 @@\n-MySQL\n+PG"
    )


@operation(Access.PROPOSE)
def submit(
    call: object,
    title: Annotated[str, Help("one line that says it")],
    content: Annotated[Text, Help("the whole text")],
    type_: TypeName = Type.LEARNING,
    rationale: Annotated[Text | None, Help("why")] = None,
    evidence: Annotated[tuple[Annotated[Evidence, Read(parse_evidence)], ...], Help("what it rests on")] = (),
    near: Annotated[dict[str, int] | None, Help("distances")] = None,
    notify: Annotated[bool, Help("tell the reviewers")] = True,
    dry_run: Annotated[bool, Help("only say what would happen")] = False,
) -> dict[str, object]:
    """Propose something to remember.

    Nothing is remembered before somebody promotes it. A retry with the same
    text changes nothing.

    Example:
        minutebook inbox submit "Use PostgreSQL" @why.md --type architectural
        git log -1 --format=%B | minutebook inbox submit "Last change" -
    """
    return {
        "title": title,
        "content": content,
        "type": type_,
        "rationale": rationale,
        "evidence": [item.ref for item in evidence],
        "near": near,
        "notify": notify,
        "dry_run": dry_run,
    }


@operation(Access.REVIEW)
def promote(call: object, slug: str, reason: Text | None = None) -> Promotion:
    """Accept a pending proposal as an active memory."""
    return Promotion(
        slug, ulid(1), ulid(2), Type.ARCHITECTURAL, "supersede", ulid(9), False, "hicks", ulid(3)
    )


@operation(Access.REVIEW)
def tag(call: object, slug: str, tags: tuple[str, ...]) -> list[str]:
    """Put tags on a proposal."""
    return [slug, *tags]
