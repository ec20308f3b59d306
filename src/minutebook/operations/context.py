"""What an agent is told when it starts."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import context as material
from minutebook.ledger.context import States, unverifiable
from minutebook.ledger.database import Tx
from minutebook.model.actors import may_decide
from minutebook.model.context import Bundle, BundleDifference, ChangedItem, ContextRequest, Item
from minutebook.model.errors import MinutebookError
from minutebook.model.text import clean, fold_name
from minutebook.operations.given import Agent, Moment, seq_of
from minutebook.operations.registry import Access, Help, LongText, operation
from minutebook.policy.compilation import compile_context
from minutebook.policy.limits import Limits

if TYPE_CHECKING:
    from minutebook.model.runs import RunView

Task = Annotated[str, LongText(), Help("what the agent is about to do"), MaxLen(16_000)]
_RUN = "run:"
View = Annotated[str, Help("run:ID, agent:NAME, @MOMENT, or agent:NAME@MOMENT"), MaxLen(300)]


@operation(Access.READ)
def context(
    call: Call,
    agent: Annotated[Agent | None, Help("through whose eyes; your own if not given")] = None,
    task: Task = "",
    child: Annotated[bool, Help("for a child run: the boundaries alone")] = False,
    inbox: Annotated[bool, Help("say what waits for a review, if you may review")] = False,
    as_of: Moment | None = None,
) -> Bundle | None:
    """Compile what an agent is told when it starts: boundaries, memory, the current session.

    Boundaries come first and are never left out. Memory shares one budget; what has no room is listed with
    the reason. The same moment of the ledger gives the same bytes, whenever it is asked for. Where there is
    nothing to say, there is no block.

    Example:
        minutebook context --agent ripley --task "fix the login page"
        minutebook context --as-of 2026-11-16 -o json
    """
    return compile_bundle(
        call.tx,
        ContextRequest(
            project=call.project.id,
            agent=eyes_of(call, agent),
            seq=seq_of(call, as_of),
            task=clean(task).strip(),
            child=child,
            inbox=inbox and may_decide(call.actor.role),
        ),
        call.limits,
        # The ledger does not know what the files were then: of the past, no file is looked at.
        call.witness.state if as_of is None else unverifiable,
    )


def compile_bundle(
    tx: Tx, request: ContextRequest, limits: Limits, states: States = unverifiable
) -> Bundle | None:
    """The bundle of a request: read, then decided. `states` says what a piece of evidence is worth."""
    return compile_context(request, material.gather(tx, request, limits, states), limits)


def eyes_of(call: Call, agent: str | None) -> str:
    """The agent through whose eyes somebody reads. Only who may review takes another's."""
    who = fold_name(agent) if agent else call.actor.id
    if who != call.actor.id and (call.caller.as_agent or not may_decide(call.actor.role)):
        raise MinutebookError("other_agent", f"{call.actor.name} cannot look through the eyes of {agent!r}.")
    return who


@operation(Access.READ)
def diff(
    call: Call,
    before: Annotated[View, Help("one view: run:ID, agent:NAME, @MOMENT, or agent:NAME@MOMENT")],
    after: Annotated[View, Help("the other one")],
    agent: Annotated[Agent | None, Help("through whose eyes, where a view does not say")] = None,
    task: Task = "",
) -> BundleDifference:
    """Compare what two agents are told, one agent at two moments, or what two runs were told.

    What a run was told is compared with what would be told for its own task, unless another is given.

    Example:
        minutebook context diff agent:ripley agent:bishop
        minutebook context diff run:01K9… agent:ripley
        minutebook context diff @7d @1h --agent ripley --task "fix the login page"
    """
    of_runs = {
        view: _of_run(call, view.strip().removeprefix(_RUN))
        for view in (before, after)
        if view.strip().startswith(_RUN)
    }
    task = task or next((view.run.task for view in of_runs.values()), "")
    one, two = (
        _told(of_runs[view]) if view in of_runs else _view(call, view, agent, task)
        for view in (before, after)
    )
    return difference(one, two, before, after)


def _view(call: Call, view: str, agent: str | None, task: str) -> Bundle | None:
    """The bundle that a view names: whose eyes, and which moment."""
    who, at, moment = view.strip().partition("@")
    if who and not who.startswith("agent:"):
        raise MinutebookError(
            "invalid_input",
            f"{view[:80]!r} names no view.",
            hint="run:ID, agent:NAME, @MOMENT or agent:NAME@MOMENT; a moment is a number of the log or a time",
        )
    named = who.removeprefix("agent:").strip() or agent
    return context(call, named, task, as_of=moment if at else None)


def _of_run(call: Call, ref: str) -> RunView:
    """A run with what it was told, word for word; of another agent's run, what everybody is told."""
    from minutebook.operations.runs import show  # it compiles contexts itself

    return show(call, ref)


def _told(view: RunView) -> Bundle | None:
    return None if view.snapshot is None else view.snapshot.bundle


def difference(one: Bundle | None, two: Bundle | None, before: str, after: str) -> BundleDifference:
    """How two bundles differ: what is in one alone, what changed, and the text line by line."""
    mine, others = _by_id(one), _by_id(two)
    changed = [
        ChangedItem(id, item.slug, _said(item), _said(others[id]))
        for id, item in mine.items()
        if id in others and _said(item) != _said(others[id])
    ]
    lines = difflib.unified_diff(_lines(one), _lines(two), before, after, lineterm="", n=3)
    return BundleDifference(
        before=before,
        after=after,
        same=(one and one.hash) == (two and two.hash),
        only_before=tuple(item for id, item in mine.items() if id not in others),
        only_after=tuple(item for id, item in others.items() if id not in mine),
        changed=tuple(changed),
        diff="\n".join(lines),
    )


def _by_id(bundle: Bundle | None) -> dict[str, Item]:
    return {} if bundle is None else {item.id: item for item in bundle.items}


def _said(item: Item) -> str:
    """What of an item can change."""
    evidence = f", evidence {item.evidence}" if item.evidence else ""
    return f"revision {item.revision}, {item.layer}, {item.form}{evidence}"


def _lines(bundle: Bundle | None) -> list[str]:
    return [] if bundle is None else bundle.text.splitlines()
