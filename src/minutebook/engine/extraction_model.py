"""The job that has a model read a source, after the rules have read it: whatever becomes of it costs nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from minutebook.call import Mind
from minutebook.controller.capture import Tally, append_event, propose_all
from minutebook.engine.extraction import Task, call_for, candidate_of, is_own, task_of
from minutebook.engine.jobs import Desk, Ending, Kind
from minutebook.engine.model_jobs import EXTRACT_MODEL, mind_of
from minutebook.ledger import captures
from minutebook.ledger.database import Tx
from minutebook.policy.extraction import transcripts
from minutebook.policy.extraction.asking import Piece, believed, pieces, question
from minutebook.policy.extraction.turns import Turn


@dataclass(slots=True)
class _Cost:
    """What was asked and what it cost."""

    asked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    found: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    #: pieces that were not asked about: the budget was spent
    unasked: int = 0

    def detail(self, tally: Tally, model: str) -> dict[str, object]:
        return {
            "model": model,
            "asked": self.asked,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "found": self.found,
            "refused_lines": sum(self.refused.values()),
            "unasked": self.unasked,
            **tally.counts,
        }

    def sentence(self, tally: Tally) -> str:
        said = (
            f"{self.asked} questions, {self.tokens_in} tokens in and {self.tokens_out} out: "
            f"{self.found} found, {tally.counts.get('proposed', 0)} proposed."
        )
        if self.refused:
            why = ", ".join(f"{count} × {reason}" for reason, count in sorted(self.refused.items()))
            said += f" Not believed: {why}."
        if self.unasked:
            said += f" {self.unasked} parts were not asked about: the budget was spent."
        return said


def _work(desk: Desk) -> Ending:
    task, mind = task_of(desk, again=True), mind_of(desk)
    if task is None:
        return lambda _tx: "There was nothing to read."
    if mind is None:
        return lambda _tx: "Whoever was to read it is not set up here any more."
    limits = desk.world.limits
    _, turns = transcripts.read("\n".join(task.lines))
    cost, tally = _Cost(), Tally({})
    for piece in pieces(turns, limits.model_chars):
        desk.check()
        if cost.tokens_in + cost.tokens_out >= limits.model_budget:
            cost.unasked += 1
            continue
        tally = _one(desk, task, turns, piece, mind, cost, tally)
    name = mind.name

    def end(tx: Tx) -> str:
        detail = cost.detail(tally, name)
        _note_cost(tx, task, cost)
        append_event(
            call_for(desk, tx, task), "capture.read_by_model", task.ingestion.id, detail, task.ingestion.run
        )
        return cost.sentence(tally)

    return end


def _note_cost(tx: Tx, task: Task, cost: _Cost) -> None:
    """Add what was asked and what it cost to what became of the capture: whoever looks there is to see it."""
    ingestion = captures.get(tx, task.ingestion.id)
    if ingestion is None:
        return
    spent = {
        "model_questions": cost.asked,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "found_by_model": cost.found,
    }
    before = ingestion.outcome
    outcome = {**before, **{what: before.get(what, 0) + count for what, count in spent.items()}}
    captures.advance(tx, ingestion.id, done=ingestion.done, outcome=outcome)


def _one(
    desk: Desk, task: Task, turns: list[Turn], piece: Piece, mind: Mind, cost: _Cost, tally: Tally
) -> Tally:
    """Ask about one piece, outside any transaction, and propose what is believed of the answer."""
    answer = mind.ask(question(piece))
    cost.asked += 1
    cost.tokens_in += answer.tokens_in
    cost.tokens_out += answer.tokens_out
    found = believed(answer.text, piece, turns)
    cost.found += len(found.findings)
    for reason in found.refused:
        cost.refused[reason] = cost.refused.get(reason, 0) + 1
    now = desk.world.clock()
    candidates = [
        candidate_of(task, finding, desk.job.project, now)
        for finding in found.findings
        if not is_own(finding, task)
    ]

    def write(tx: Tx) -> Tally:
        counted = Tally(dict(tally.counts))
        propose_all(call_for(desk, tx, task), candidates, counted)
        return counted

    return desk.part(write) if candidates else tally


READING = Kind(EXTRACT_MODEL, _work, most_seconds=3_600.0)
