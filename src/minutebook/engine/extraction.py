"""The job that reads a source and proposes what it finds, some at a time, each batch with how far it has come."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from minutebook.call import Call
from minutebook.controller.capture import EXTRACT, Tally, append_event, propose_all
from minutebook.engine.jobs import Desk, Ending, Kind, Trouble
from minutebook.engine.model_jobs import ask_for
from minutebook.ledger import actors, captures, runs, sources
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role, may_decide
from minutebook.model.candidates import Candidate
from minutebook.model.captures import CaptureState, Ingestion, Source
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, EvidenceKind
from minutebook.model.jobs import Job
from minutebook.model.memories import GOVERNING, Type
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.model.text import clean, fold_name, fold_tag, one_line, slug_from
from minutebook.model.text import words as words_of
from minutebook.model.times import parse_time
from minutebook.operations.given import title_from
from minutebook.policy.extraction.extract import Extraction, Finding, extract

#: Who proposes what a person captured: not that person, who may want to accept it.
EXTRACTOR = "extractor"
#: Findings that share a transaction: few, so that nobody's write waits long behind them (measured: bench/engine.py).
_AT_ONCE = 2
#: Texts of its own that a run is compared with, and from which share of the same words on a finding is one of them.
_OWN = 500
_SAME = 0.8
#: Who could accept by themselves: in the inbox the extractor stands for their words, so that they may.
_DECIDING = frozenset(role.value for role in Role if may_decide(role))
#: Types that are an agent's own where nobody says otherwise.
_PERSONAL = frozenset({Type.LEARNING, Type.PATTERN, Type.UPDATE, Type.CORE_CONTEXT, Type.EPISODE})


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be read, for whom, and what they have written down themselves."""

    ingestion: Ingestion
    source: Source
    lines: tuple[str, ...]
    #: whose own memory it may become, and who stands for it in the inbox
    agent: str | None
    proposer: str
    own: tuple[frozenset[str], ...]


def _work(desk: Desk) -> Ending:
    task = task_of(desk)
    if task is None:
        return lambda _tx: "There was nothing to read."
    extraction = extract("\n".join(task.lines), look=desk.pace)
    begun = task.ingestion
    # The rules may have changed since it was begun: then from the start, and what is known already is passed over.
    done = begun.done if begun.total == len(extraction.findings) else 0
    tally = Tally(_counts(begun.outcome) if done else {})
    if done == 0:
        total = len(extraction.findings)
        desk.part(lambda tx: captures.begin(tx, begun, total=total, done=0, at=desk.world.clock()))
    while done < len(extraction.findings):
        batch = _Batch(desk, task, extraction.findings[done : done + _AT_ONCE], done, tally)
        tally = desk.part(batch.write)
        done += len(batch.findings)
        if done < len(extraction.findings):
            desk.pace()
    return lambda tx: _end(desk, tx, task, extraction, tally)


def task_of(desk: Desk, *, again: bool = False) -> Task | None:
    """What a job is to read; None where it was read already, unless it is read `again`, or there is nothing left."""
    with desk.read() as tx:
        ingestion = captures.get(tx, desk.job.payload["capture"])
        source = None if ingestion is None else sources.get(tx, ingestion.source)
        if (
            ingestion is None
            or source is None
            or source.content is None
            or (ingestion.state is CaptureState.DONE and not again)
        ):
            return None
        run = None if ingestion.run is None else runs.get(tx, ingestion.run)
        said = () if run is None else captures.said_in_run(tx, run.id, limit=_OWN)
        agent = run.agent if run is not None else ingestion.by if ingestion.role == Role.AGENT else None
        known = None if agent is None else actors.get(tx, agent)
    role = ingestion.role if agent == ingestion.by else Role.AGENT if known is None else known.role
    return Task(
        ingestion,
        source,
        tuple(source.content.split("\n")),
        agent,
        EXTRACTOR if agent is None or role in _DECIDING else agent,
        tuple(frozenset(words_of(text)) for text in said),
    )


class _Batch:
    """Some findings of a source. Everything is made ready before the transaction that proposes them begins."""

    def __init__(
        self, desk: Desk, task: Task, findings: tuple[Finding, ...], done: int, before: Tally
    ) -> None:
        self._desk = desk
        self._task = task
        self.findings = findings
        self._done = done + len(findings)
        self._before = before
        now, project = desk.world.clock(), desk.job.project
        self._own = sum(is_own(finding, task) for finding in findings)
        self._candidates = [
            candidate_of(task, finding, project, now) for finding in findings if not is_own(finding, task)
        ]

    def write(self, tx: Tx) -> Tally:
        """Propose them, and say how far it has come, together or not at all."""
        tally = Tally(dict(self._before.counts))
        if self._own:
            tally.counts["own"] = tally.counts.get("own", 0) + self._own
        propose_all(call_for(self._desk, tx, self._task), self._candidates, tally)
        captures.advance(tx, self._task.ingestion.id, done=self._done, outcome=tally.counts)
        return tally


def call_for(desk: Desk, tx: Tx, task: Task) -> Call:
    """As the agent whose words they are, through the door of extraction; a person's words as the extractor's."""
    actor = Actor(id=task.proposer, name=task.proposer, role=Role.SCRIBE)
    return desk.call(tx, actor, Origin.EXTRACTION, run=task.ingestion.run)


def is_own(finding: Finding, task: Task) -> bool:
    """Whether a run wrote down by itself what was found in its transcript."""
    said = frozenset(words_of(finding.content))
    return bool(said) and any(len(said & own) >= _SAME * len(said) for own in task.own)


def candidate_of(task: Task, finding: Finding, project: str, now: str) -> Candidate:
    content = clean(finding.content)
    title = one_line(finding.title)[:300] if finding.title else title_from(content)
    return Candidate(
        scope=_scope(task, finding.type, project),
        type=finding.type,
        title=title,
        content=content,
        slug=slug_from(title, content),
        slug_given=False,
        rationale=None if finding.rationale is None else clean(finding.rationale),
        confidence=round(finding.confidence, 2),
        entity=None if finding.entity is None else fold_name(one_line(finding.entity)),
        attribute=None if finding.attribute is None else fold_name(finding.attribute),
        tags=tuple(dict.fromkeys(fold_tag(tag) for tag in finding.tags)),
        evidence=(_evidence(task, finding),),
        observed_at=_time(finding.at, now),
        source=task.source.id,
        propose=True,
    )


def _evidence(task: Task, finding: Finding) -> Evidence:
    lines = task.lines[finding.first - 1 : finding.last]
    return Evidence(
        EvidenceKind.SOURCE,
        task.source.id,
        f"{finding.first}-{finding.last}",
        hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )


def _scope(task: Task, type: Type, project: str) -> Scope:
    """Where a finding is to live: where whoever captured it said, as far as its type can live there."""
    asked = task.ingestion.scope
    here = Scope.of_project(project)
    if asked is not None:
        narrow = asked.kind in (ScopeKind.AGENT, ScopeKind.SESSION)
        return here if narrow and type in GOVERNING else asked
    if type is Type.PROFILE:
        return Scope.everywhere()
    if type in _PERSONAL and task.agent is not None:
        return Scope.of_agent(project, task.agent)
    return here


def _time(text: str | None, now: str) -> str | None:
    """When something was said, if the source tells it in a form that we know."""
    if text is None:
        return None
    try:
        return parse_time(text, now)
    except MinutebookError:
        return None


def _end(desk: Desk, tx: Tx, task: Task, extraction: Extraction, tally: Tally) -> str:
    outcome = {
        "form": extraction.form.value,
        "turns": extraction.turns,
        "found": len(extraction.findings),
        **tally.counts,
    }
    captures.finish(tx, task.ingestion.id, outcome=outcome, at=desk.world.clock())
    append_event(
        call_for(desk, tx, task), "capture.extracted", task.ingestion.id, outcome, task.ingestion.run
    )
    ask_for(tx, desk, task.ingestion.id)
    return f"{len(extraction.findings)} found, {tally.counts.get('proposed', 0)} proposed."


def _counts(outcome: dict[str, object]) -> dict[str, int]:
    return {name: value for name, value in outcome.items() if isinstance(value, int)}


def _troubled(tx: Tx, job: Job, trouble: Trouble, now: str) -> None:
    captures.fail(tx, job.payload["capture"], error=trouble.error, dead=trouble.dead, at=now)


EXTRACTION = Kind(EXTRACT, _work, troubled=_troubled)
