"""How healthy the memory of a project is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minutebook.call import LongCall
from minutebook.controller.consolidate import Task, give_way, look_through
from minutebook.ledger import auditing, consolidations, tidying
from minutebook.ledger.database import Row
from minutebook.model.audit import Audit, AuditLine, AuditPage
from minutebook.model.consolidation import Kind, Noticed
from minutebook.model.times import seconds_before
from minutebook.operations.registry import Access, operation
from minutebook.policy.auditing import page as page_of
from minutebook.policy.screening import Family, Tier, screen

#: Examples that a check names, and days that are long.
_EXAMPLES = 3
_LONG_WAIT = 7
#: Memories that are looked through before others get their turn.
_PAGE = 50


@operation(Access.REVIEW)
def audit(call: LongCall) -> Audit:
    """Report on the health of a project's memory: what repeats, disagrees, leaks, is dead, unused or unfounded.

    Nothing is changed. What can be done about each finding is said beside it.

    Example:
        minutebook audit
        minutebook audit -o json
    """
    return report(call)


@operation(Access.REVIEW)
def page(call: LongCall) -> AuditPage:
    """The same as a page of Markdown, with a plot of growth and use.

    Example:
        minutebook audit page
    """
    return AuditPage(page_of(report(call)))


def report(call: LongCall) -> Audit:
    """Look at everything once."""
    project = call.project
    task = Task(
        database=call.database,
        world=call.world,
        project=project.id,
        actor=call.actor,
        origin=call.caller.origin,
        cause="asked",
        workspace=call.caller.workspace,
    )
    looked, noticed = look_through(task)
    with call.database.read() as tx:
        left = consolidations.left(tx, project.id)
    # What a reviewer left as it is needs nobody's attention, until it changes.
    noticed = [each for each in noticed if consolidations.key_of(each) not in left]
    checks = [*_noticed(call, noticed), _secrets(call), *_counted(call)]
    worst = [check for check in checks if check.count and check.weight in ("high", "medium")]
    with call.database.read() as tx:
        standing, months = auditing.standing(tx, project.id), auditing.months(tx, project.id)
    said = ", ".join(f"{check.check} ({check.count:,})" for check in worst)
    return Audit(
        project=project.slug,
        at=call.now(),
        sentence=f"Worth a look: {said}." if worst else "Nothing needs attention.",
        looked=looked,
        standing=standing,
        checks=tuple(checks),
        months=months,
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """What a check is called, how much it matters, what it means and what to do."""

    name: str
    weight: str
    means: str
    hint: str

    def line(self, count: int, examples: Iterable[str]) -> AuditLine:
        named = tuple(dict.fromkeys(examples))[:_EXAMPLES]
        return AuditLine(self.name, count, self.weight if count else "ok", self.means, named, self.hint)


_RUN = "minutebook consolidation run, then take or leave what it suggests"
_NOTICED: dict[tuple[Kind, ...], _Check] = {
    (Kind.DUPLICATE, Kind.NEAR_DUPLICATE, Kind.SHARED): _Check(
        "duplicates", "low", "say the same, or nearly", _RUN
    ),
    (Kind.CONTRADICTION,): _Check("contradictions", "high", "disagree, and nothing says so", _RUN),
    (Kind.OUTDATED,): _Check("outdated", "medium", "say that their time is over", _RUN),
    (Kind.STALE_EVIDENCE,): _Check("stale evidence", "medium", "rest on what has changed or is gone", _RUN),
    (Kind.UNUSED,): _Check("unused", "low", "were shown to nobody for a long time", _RUN),
    (Kind.OVERLONG,): _Check("overlong", "low", "are long and repeat themselves", _RUN),
}


def _noticed(call: LongCall, noticed: Sequence[Noticed]) -> list[AuditLine]:
    lines = []
    for kinds, check in _NOTICED.items():
        found = [each for each in noticed if each.kind in kinds]
        with call.database.read() as tx:
            known = tidying.by_ids(tx, [each.refs[0][0] for each in found[:_EXAMPLES]])
        lines.append(check.line(len(found), [memory.slug for memory in known.values()]))
    return lines


def _secrets(call: LongCall) -> AuditLine:
    """Memories that hold what today's rules take for a credential; by name, and never the value."""
    found: list[str] = []
    after: tuple[str, str] | None = ("", "")
    while after is not None:
        with call.database.read() as tx:
            part = tidying.standing(tx, call.project.id, after, _PAGE)
        for memory, _ in part.memories:
            fields = {"title": memory.title, "content": memory.content, "rationale": memory.rationale or ""}
            if any(hit.tier is Tier.REFUSE and hit.family is Family.SECRET for hit in screen(fields)):
                found.append(memory.slug)
        give_way()
        after = part.after
    check = _Check(
        "secrets", "high", "hold what looks like a credential", "minutebook memories erase SLUG REASON"
    )
    return check.line(len(found), found)


def _counted(call: LongCall) -> list[AuditLine]:
    project = call.project.id
    long_ago = seconds_before(call.now(), _LONG_WAIT * 86_400)
    with call.database.read() as tx:
        found: dict[_Check, list[Row]] = {
            _Check(
                "contested", "medium", "stand in open contradiction",
                "minutebook memories list --status contradicted",
            ): auditing.contested(tx, project, _EXAMPLES),
            _Check(
                "dead references", "medium", "came from a source that is not here any more",
                "minutebook memories verify --ref SLUG",
            ): auditing.lost_sources(tx, project, _EXAMPLES),
            _Check(
                "never used", "low", "were never shown to a run or found by a search",
                "minutebook memories archive SLUG REASON",
            ): auditing.never_shown(tx, project, _EXAMPLES),
            _Check(
                "never verified", "low", "have no evidence, and nobody who decides let them in",
                "minutebook memories edit SLUG --evidence file:PATH#LINES",
            ): auditing.never_verified(tx, project, _EXAMPLES),
            _Check(
                "boundaries without evidence", "medium", "bind everyone and cite nothing",
                "minutebook decisions edit SLUG --evidence file:PATH#LINES",
            ): auditing.unfounded_boundaries(tx, project, _EXAMPLES),
            _Check(
                "inbox age", "medium", f"wait for a review for more than {_LONG_WAIT} days",
                "minutebook inbox list",
            ): auditing.waiting(tx, project, long_ago, _EXAMPLES),
        }  # fmt: skip
    return [
        check.line(rows[0]["many"] if rows else 0, [row["slug"] for row in rows])
        for check, rows in found.items()
    ]
