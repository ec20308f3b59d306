"""Taking in what others keep in a repository: sources whole, entries as proposals."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

from annotated_types import MaxLen

from minutebook.call import Call, LongCall
from minutebook.controller.adoption import Verdicted, accept, adopter_id, propose
from minutebook.controller.record import claim_keys
from minutebook.ledger import adoptions, events, memories, projects, sources
from minutebook.ledger.database import Tx
from minutebook.model.actors import Origin, Role
from minutebook.model.adoption import Adopted, Form, Ground, Sheet, Survey
from minutebook.model.errors import MinutebookError
from minutebook.operations.adopting import Item, Plan, claim_of, in_order, material_of, planned, with_source
from minutebook.operations.adoption_report import Report
from minutebook.operations.registry import Access, Argument, Help, operation

T = TypeVar("T")

#: Entries that are written in one transaction, so that nobody else waits long for the writer.
_TOGETHER = 6
#: Files that are kept in one transaction, and their bytes.
_HEAP = 16
_HEAP_BYTES = 512 * 1024
_REASON = "Accepted history of the repository, adopted by an operator."


@operation(Access.PROPOSE)
def adopt(
    call: LongCall,
    path: Annotated[Path | None, Argument(), Help("a folder or file; the workspace if not given")] = None,
    form: Annotated[Form | None, Help("whose files these are, where their names do not tell")] = None,
    importer: Annotated[
        str | None, Help("an enabled importer that is to read them (minutebook providers list)"), MaxLen(64)
    ] = None,
    activate: Annotated[
        bool, Help("let accepted history in at once; only operators, for a repository of their own")
    ] = False,
    pieces: Annotated[bool, Help("list every entry, and what becomes of it")] = False,
    confirm: Annotated[bool, Help("do it; without this, only say what would happen")] = False,
) -> Adopted:
    """Take in what others keep in a repository: .squad, .ai-team, AGH, CLAUDE.md, AGENTS.md, ADRs, and others.

    First a preview, which writes nothing: what was found, how it was read, what is uncertain. With --confirm every
    file is kept whole as a source and each entry waits in the inbox, with its author, date, lines and hash. Lines
    that look like credentials are blanked in what is kept. Your files stay as they are. Twice is the same as once,
    and what was interrupted goes on. --activate lets in at once what a ledger, a history or an accepted record holds;
    drop-box files and instructions still wait.

    Example:
        minutebook adopt
        minutebook adopt --confirm
        minutebook adopt docs/adr --form adr --confirm --activate
    """
    if activate and call.actor.role is not Role.OPERATOR:
        raise MinutebookError("not_allowed", "Only an operator activates what a repository holds.")
    if form is Form.IMPORTER:
        raise MinutebookError("invalid_input", "Name the importer: --importer NAME.")
    plan = _planned(call, call.world.survey(_ground(call, path, form, importer)), activate)
    asked = " ".join(
        [
            *([shlex.quote(str(path))] if path else []),
            *(["--form", form] if form else []),
            *(["--importer", shlex.quote(importer)] if importer else []),
        ]
    )
    report = Report(plan, activate, f"minutebook adopt {asked}".rstrip())
    if not confirm:
        return report.told(plan.items, pieces=pieces)
    items, id, stopped = _apply(call, plan, activate)
    answer = report.told(items, pieces=pieces, applied=True, id=id)
    if stopped:
        left = sum(item.becomes == "left" for item in items)
        answer = replace(
            answer, sentence=f"{answer.sentence} {left} are left: ask again in a minute to go on."
        )
    return answer


def _ground(call: LongCall, path: Path | None, form: Form | None, importer: str | None) -> Ground:
    """Where to look: in the caller's workspace or another of the project; anywhere for whoever sits at the machine."""
    caller = call.caller
    with call.database.read() as tx:
        known = [Path(workspace.path) for workspace in projects.workspaces(tx, call.project.id)]
    roots = tuple(dict.fromkeys(([caller.workspace] if caller.workspace is not None else []) + known))
    at_hand = caller.token is None and caller.origin in (Origin.CLI, Origin.PYTHON)
    anywhere = at_hand and call.actor.role is Role.OPERATOR and call.actor.project is None
    return Ground(path, roots, call.project.id, anywhere, form, importer)


def _planned(call: LongCall, survey: Survey, activate: bool) -> Plan:
    with call.database.read() as tx:
        return planned(
            tx, survey, call.project.id, call.world.limits,
            now=call.now(), activate=activate, adopter=adopter_id(call.actor),
        )  # fmt: skip


# --- doing it -----------------------------------------------------------------------------------------


def _apply(call: LongCall, plan: Plan, activate: bool) -> tuple[list[Item], str | None, bool]:
    """Keep the files, then write the entries, some at a time; every step can be the last, and is found done."""
    wanted = [item for item in plan.items if item.becomes in ("proposed", "active", "archived")]
    if not wanted and not plan.new_files and not plan.interrupted:
        return list(plan.items), None, False
    lane = call.project.id
    id: str | None = None
    if plan.new_files or plan.interrupted or not all(item.before for item in wanted):
        id = call.database.write(lane, lambda tx: _begin(call, tx, plan.survey))
    kept: dict[str, str] = {}
    for some in _heaps(plan.survey.sheets):
        kept |= call.database.write(lane, lambda tx, some=some: _keep(call, tx, id, some))
    done: dict[tuple[str, int], Item] = {}
    stopped = False
    for some in _some(in_order(wanted), _TOGETHER):
        if stopped:
            break
        for item in call.database.write(
            lane, lambda tx, some=some: _take(call, tx, id, some, kept, activate)
        ):
            done[item.place] = item
            stopped = stopped or item.becomes == "left"
    if id is not None:
        call.database.write(lane, lambda tx: _end(call, tx, id, done, stopped))
    left = {item.place for item in wanted} - done.keys()
    items = [
        done.get(item.place, replace(item, becomes="left") if item.place in left else item)
        for item in plan.items
    ]
    return items, id, stopped


def _some(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), most):
        yield items[start : start + most]


def _begin(call: LongCall, tx: Tx, survey: Survey) -> str:
    new = call.world.ids.new()
    adopter = adopter_id(call.actor)
    id = adoptions.begin(tx, new, project=call.project.id, root=survey.root, actor=adopter, at=call.now())
    if id == new:
        _event(call.inside(tx), "adoption.started", id, {"files": len(survey.sheets)})
    return id


def _heaps(sheets: Sequence[Sheet]) -> Iterator[list[Sheet]]:
    """Files that are kept in one transaction: few, and not many bytes."""
    heap: list[Sheet] = []
    for sheet in sheets:
        if heap and (
            len(heap) == _HEAP or sum(len(one.data) for one in heap) + len(sheet.data) > _HEAP_BYTES
        ):
            yield heap
            heap = []
        heap.append(sheet)
    if heap:
        yield heap


def _keep(call: LongCall, tx: Tx, id: str | None, sheets: Sequence[Sheet]) -> dict[str, str]:
    """Keep files whole; the source of each comes back, by path."""
    return {sheet.path: _keep_one(call, tx, id, sheet) for sheet in sheets}


def _keep_one(call: LongCall, tx: Tx, id: str | None, sheet: Sheet) -> str:
    material = material_of(sheet, call.project.id)
    source = sources.erased(tx, material)
    if source is None:
        # One that is known already stays as it is.
        source, _ = sources.keep(tx, call.world.ids.new(), material, by=call.actor.id, at=call.now())
    if id is not None and not adoptions.has_file(tx, call.project.id, sheet.path, source):
        adoptions.add_file(tx, id, path=sheet.path, source=source, dialect=sheet.dialect, digest=sheet.digest)
    return source


def _take(
    long: LongCall, tx: Tx, id: str | None, items: Sequence[Item], kept: dict[str, str], activate: bool
) -> list[Item]:
    """Write some entries in one transaction. It may run again from the start, and so changes nothing else."""
    call = long.inside(tx)
    found: list[Item] = []
    for item in items:
        taken = _one(call, id, item, kept, activate)
        if taken.stop:
            found.append(replace(item, becomes="left", why=taken.why))
            break
        found.append(replace(item, becomes=taken.becomes, why=taken.why, slug=taken.slug))
    return found


def _one(call: Call, id: str | None, item: Item, kept: dict[str, str], activate: bool) -> Verdicted:
    piece, candidate = item.piece, item.candidate
    assert candidate is not None
    source = kept[item.sheet.path]
    before = adoptions.entry(call.tx, source, piece.first)
    if before is not None and not before.waits:
        return Verdicted("known", "it was adopted before")
    if before is None:
        known = _known(call, item)
        if known is not None:
            return known
        taken = propose(call, with_source(candidate, source))
        if id is not None and taken.becomes in ("proposed", "refused") and not taken.stop:
            adoptions.add_entry(
                call.tx, id, source=source, lines=(piece.first, piece.last), certainty=piece.certainty,
                proposal=taken.proposal,
            )  # fmt: skip
    else:
        taken = Verdicted("proposed", "", None, before.proposal)
    if not (activate and piece.accepted) or taken.proposal is None:
        return taken
    return accept(
        call, taken.proposal, reason=_REASON, archived=piece.archived, guessed=piece.certainty == "guessed",
        target=_target(call, item, kept),
    )  # fmt: skip


def _known(call: Call, item: Item) -> Verdicted | None:
    """Whether the ledger has learned of the same words since the plan was made."""
    claim = claim_of(claim_keys(call), item)
    assert claim is not None
    assert item.candidate is not None
    if (claim, item.candidate.scope.agent) in adoptions.ever_proposed(call.tx, call.project.id, [claim]):
        return Verdicted("known", "it was proposed before")
    if memories.of_claim(call.tx, item.candidate.scope, claim):
        return Verdicted("known", "it is remembered already")
    return None


def _target(call: Call, item: Item, kept: dict[str, str]) -> str | None:
    """The memory that the entry became which this one says it replaces."""
    if item.piece.replaces is None:
        return None
    path, line = item.piece.replaces
    older = adoptions.entry(call.tx, kept[path], line)
    return None if older is None else older.memory


def _end(call: LongCall, tx: Tx, id: str, done: dict[tuple[str, int], Item], stopped: bool) -> None:
    counts = Counter(item.becomes for item in done.values())
    if not stopped:
        adoptions.finish(tx, id, call.now())
    kind = "adoption.interrupted" if stopped else "adoption.finished"
    _event(call.inside(tx), kind, id, dict(sorted(counts.items())))


def _event(call: Call, kind: str, id: str, detail: dict[str, int]) -> None:
    events.append(
        call.tx,
        kind=kind,
        subject=id,
        project=call.project.id,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        run=call.caller.run,
        detail=dict(detail),
    )
