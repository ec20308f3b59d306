"""Search: how often the right memory is found, through the product: written into a ledger, asked for by `search`.

Conversations of LoCoMo become episodes, each session one, each turn by who said it; decision documents become
decisions. The same questions by text alone, by vectors alone and by both; and FTS5 as it comes, in the same run.

    python bench/search.py                     quality; e5-small is fetched into build/, once
    MINUTEBOOK_HOME=folder                     with the models of that home instead
    python bench/search.py --tune              find weights on one half, and say what they do on the other
    CACHE=file                                 keeps vectors between two runs
    KEEP=folder                                keeps the ledger between two runs
    PEERS=mem0=/venv/bin/python,…              beside basic-memory and mem0, where they are: bench/peers.py
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from typing import Any

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import corpora, peers
from bench.corpora import Document, Question, Talk
from bench.report import Report, table
from minutebook import wiring
from minutebook.call import Meaning, NoMeaning
from minutebook.ledger.embedding import Follower
from minutebook.minds import fetching, models
from minutebook.minds.catalogue import E5
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.meaning import Space
from minutebook.model.text import fold_name, words
from minutebook.operations import memories, projects, sessions
from minutebook.operations.search import search
from minutebook.policy.fusion import Weights
from minutebook.service import LocalClient, Service
from minutebook.settings import load

#: Goals of the issue, on the conversations and queries that are here.
GOALS = {
    "LoCoMo turns, both: recall@10": ">= 0.79",
    "LoCoMo turns, both: nDCG@10": ">= 0.61",
    "LoCoMo turns, text: recall@10": ">= 0.71",
    "LoCoMo turns, text: nDCG@10": ">= 0.54",
    "LoCoMo sessions, both: any@10": ">= 0.98",
    "decisions, both: nDCG@10": ">= 0.65",
}
DEPTH = 100
MOTHER = Actor("mother", "Mother", Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Case:
    """One question, in the project where its answer lies."""

    project: str
    question: Question
    #: of each memory, what the question's gold calls it
    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class Scores:
    """What came of one question."""

    kind: str
    recall5: float
    recall10: float
    any10: float
    mrr: float
    ndcg10: float


# --- a ledger with all of it ---------------------------------------------------------------------------------


class Library:
    """A ledger of its own, and what was written into it."""

    def __init__(self, home: Path) -> None:
        settings = load({}, home=home, writes_per_minute=0, service="never", near_hold=1.0, near_skip=1.0)
        self.service: Service = wiring.open_service(settings)
        self.turns: list[Case] = []
        self.documents: list[Case] = []
        self._cases = home / "cases.pickle"
        if self._cases.exists():
            self.turns, self.documents = pickle.loads(self._cases.read_bytes())

    def save(self) -> None:
        self._cases.write_bytes(pickle.dumps((self.turns, self.documents)))

    def caller(self, actor: Actor, project: str | None) -> LocalClient:
        return LocalClient(self.service, actor=actor, origin=Origin.PYTHON, project=project)

    def take_talk(self, talk: Talk) -> None:
        """A conversation: a project; each of its sessions one, each turn an episode of who said it."""
        project = self.caller(MOTHER, None)(projects.create, name=talk.name).id
        names: dict[str, str] = {}
        session = 0
        for turn in talk.turns:
            speaker = Actor(fold_name(turn.speaker), turn.speaker, Role.AGENT)
            if turn.session != session:
                session = turn.session
                self.caller(MOTHER, project)(sessions.start, focus=f"session {session}")
            done = self.caller(speaker, project)(
                memories.write,
                type="episode",
                content=turn.text,
                title=f"{turn.speaker}, {turn.id}",
                slug=turn.id.replace(":", "-"),
                scope="session",
                observed=turn.at,
            )
            if done.memory is None:
                raise RuntimeError(f"a turn was not taken: {done}")
            # A turn that repeats another one is that other one.
            names.setdefault(done.memory, turn.id)
        same = {turn.text: turn.id for turn in reversed(talk.turns)}
        first = {turn.id: same[turn.text] for turn in talk.turns}
        for question in talk.questions:
            gold = frozenset(first[id] if first[id] in names.values() else id for id in question.gold)
            self.turns.append(Case(project, replace(question, gold=gold), names))

    def take_documents(self, documents: Iterable[Document], questions: Iterable[Question]) -> None:
        project = self.caller(MOTHER, None)(projects.create, name="decisions").id
        asker = self.caller(MOTHER, project)
        names: dict[str, str] = {}
        for one in documents:
            done = asker(
                memories.write, type="technical", title=one.title[:300], content=one.body, slug=one.id
            )
            if done.memory is None:
                raise RuntimeError(f"a document was not taken: {done}")
            names.setdefault(done.memory, one.id)
        self.documents = [Case(project, question, names) for question in questions]

    @contextmanager
    def by(self, meaning: Meaning, weights: Weights) -> Any:
        """Search with this much, for a while."""
        before = self.service.world
        limits = replace(before.limits, search=weights)
        self.service.world = replace(before, meaning=meaning, limits=limits)
        try:
            yield
        finally:
            self.service.world = before

    def ranked(self, case: Case) -> list[str]:
        """What the search operation answers, by the names that the gold has."""
        found = self.caller(MOTHER, case.project)(search, query=case.question.text, limit=DEPTH)
        return [case.names[hit.id] for hit in found.hits if hit.id in case.names]


class Remembering:
    """An embedder that keeps what it made, so that the next run of the benchmark need not make it again."""

    def __init__(self, meaning: Meaning, file: Path | None) -> None:
        self._meaning, self._file = meaning, file
        self._known: dict[tuple[str, ...], bytes] = {}
        if file is not None and file.exists():
            space, known = pickle.loads(file.read_bytes())
            self._known = known if space == meaning.space().id else {}

    def embed(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        fresh = [text for text in texts if tuple(text) not in self._known]
        if fresh:
            for text, made in zip(fresh, self._meaning.embed(fresh), strict=True):
                self._known[tuple(text)] = made
        return [self._known[tuple(text)] for text in texts]

    def forget(self, refs: Sequence[str]) -> None:
        self._meaning.forget(refs)

    def save(self) -> None:
        if self._file is not None:
            self._file.write_bytes(pickle.dumps((self._meaning.space().id, self._known)))


# --- scores --------------------------------------------------------------------------------------------------


def scored(ranked: Sequence[str], gold: frozenset[str], kind: str) -> Scores:
    top = list(dict.fromkeys(ranked))
    places = [place for place, name in enumerate(top[:10]) if name in gold]
    ideal = sum(1 / log2(place + 2) for place in range(min(10, len(gold))))
    first = next((place for place, name in enumerate(top) if name in gold), None)
    return Scores(
        kind=kind,
        recall5=len(gold & set(top[:5])) / len(gold),
        recall10=len(places) / len(gold),
        any10=float(bool(places)),
        mrr=0.0 if first is None else 1 / (first + 1),
        ndcg10=sum(1 / log2(place + 2) for place in places) / ideal,
    )


def sessions_of(ranked: Sequence[str]) -> list[str]:
    return [name.partition(":")[0] for name in ranked]


def mean(scores: Sequence[Scores], what: str) -> float:
    return sum(getattr(one, what) for one in scores) / len(scores) if scores else 0.0


def shown(name: str, scores: Sequence[Scores]) -> list[str]:
    columns = ("recall5", "recall10", "any10", "mrr", "ndcg10")
    return [name, *(f"{mean(scores, what):.3f}" for what in columns), str(len(scores))]


HEADERS = ["", "R@5", "R@10", "any@10", "MRR", "nDCG@10", "n"]


# --- FTS5 as it comes ----------------------------------------------------------------------------------------


class Bare:
    """SQLite's full text with its defaults: one table for each project, and nothing else."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        self._tables: dict[str, str] = {}
        self.texts: dict[str, list[tuple[str, str]]] = {}

    def take(self, project: str, given: Iterable[tuple[str, str]]) -> None:
        rows = self.texts[project] = list(given)
        table = self._tables[project] = f"bare{len(self._tables)}"
        self._connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(name UNINDEXED, body)")
        self._connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)

    def ranked(self, project: str, query: str, *, every: bool) -> list[str]:
        terms = [f'"{word}"' for word in words(query)]
        if not terms:
            return []
        table = self._tables[project]
        rows = self._connection.execute(
            f"SELECT name FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT {DEPTH}",
            ((" " if every else " OR ").join(terms),),
        )
        return [name for (name,) in rows]


# --- the run -------------------------------------------------------------------------------------------------


def asked(cases: Sequence[Case], answer: Callable[[Case], Sequence[str]]) -> list[tuple[Case, list[str]]]:
    return [(case, list(answer(case))) for case in cases]


def told(
    title: str, answers: dict[str, list[tuple[Case, list[str]]]], *, grouped: bool
) -> dict[str, list[Scores]]:
    """Print the tables of one corpus; the scores of each way."""
    found = {}
    rows = []
    for name, given in answers.items():
        found[name] = [scored(ranked, case.question.gold, case.question.kind) for case, ranked in given]
        rows.append(shown(name, found[name]))
    print(f"\n{title}")
    table(HEADERS, rows)
    best = list(answers)[-1]
    kinds = sorted({one.kind for one in found[best]})
    print(f"\n  {best}, by kind of question")
    table(HEADERS, [shown(kind, [one for one in found[best] if one.kind == kind]) for kind in kinds])
    if grouped:
        rows = []
        for name, given in answers.items():
            whole = [
                scored(
                    sessions_of(ranked), frozenset(sessions_of(list(case.question.gold))), case.question.kind
                )
                for case, ranked in given
            ]
            found[f"sessions {name}"] = whole
            rows.append(shown(name, whole))
        print("\n  whole sessions")
        table(HEADERS, rows)
    return found


def main() -> int:
    if not corpora.DATA.exists():
        print(f"The corpora are not at {corpora.DATA}: set MINUTEBOOK_DATA. Nothing was measured.")
        return 0
    try:
        meaning = wiring.make_meaning(load({}, home=home_of_models()))
        space = meaning.space()
    except MinutebookError as error:
        meaning = space = None
        print(f"By text alone: {error.message}")
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder:
        library = Library(Path(os.environ.get("KEEP") or folder))
        try:
            bare = filled(library)
            if meaning is not None and space is not None:
                embedded(library, meaning, space)
            if "--tune" in sys.argv and meaning is not None:
                from bench import tuning

                return tuning.main(library, meaning)
            return measured(library, bare, meaning)
        finally:
            library.service.close()


def home_of_models() -> Path:
    """A home that has a model: the one that is named, else one of our own, into which it is fetched."""
    named = os.environ.get("MINUTEBOOK_HOME")
    if named:
        return Path(named)
    home = Path(__file__).resolve().parent.parent / "build" / "bench"
    if not models.names_in_use(home):
        print(f"fetching e5-small into {home} …", flush=True)
        fetching.add_known(home, [E5], lambda _what, _done, _total: None, os.environ)
    return home


def filled(library: Library) -> Bare:
    bare = Bare()
    talks = corpora.talks()
    documents, questions = corpora.decisions()
    if not library.documents:
        began = time.perf_counter()
        for talk in talks:
            library.take_talk(talk)
        library.take_documents(documents, questions)
        library.save()
        print(f"{sum(len(talk.turns) for talk in talks)} turns and {len(documents)} documents, ", end="")
        print(f"written in {time.perf_counter() - began:.0f} s")
    print(f"{len(library.turns)} questions on talks, {len(questions)} on decisions")
    for project, talk in zip(dict.fromkeys(case.project for case in library.turns), talks, strict=True):
        bare.take(project, ((turn.id, f"{turn.speaker}: {turn.text}") for turn in talk.turns))
    bare.take(library.documents[-1].project, ((one.id, f"{one.title}\n{one.body}") for one in documents))
    return bare


def embedded(library: Library, meaning: Meaning, space: Space) -> None:
    cache = os.environ.get("CACHE")
    keeping = Remembering(meaning, Path(cache) if cache else None)
    began = time.perf_counter()
    follower = Follower(library.service.database, space, keeping, wiring.utc_now)
    follower.step(threading.Event())
    keeping.save()
    print(f"{follower.done} memories embedded in {time.perf_counter() - began:.0f} s, in {space.id}")


def measured(library: Library, bare: Bare, meaning: Meaning | None) -> int:
    usual = Weights()
    ways: dict[str, tuple[Meaning, Weights]] = {"text": (NoMeaning(), usual)}
    if meaning is not None:
        ways["vectors"] = meaning, replace(usual, text=1e-9, trigram=0.0)
        ways["both"] = meaning, usual
    report = Report("search")
    for title, cases in (("LoCoMo turns", library.turns), ("decisions", library.documents)):
        answers = {
            "FTS5, all words": asked(
                cases, lambda case: bare.ranked(case.project, case.question.text, every=True)
            ),
            "FTS5, any word": asked(
                cases, lambda case: bare.ranked(case.project, case.question.text, every=False)
            ),
        }
        answers |= beside(bare, cases, meaning is not None)
        for name, (how, weights) in ways.items():
            with library.by(how, weights):
                began = time.perf_counter()
                answers[name] = asked(cases, library.ranked)
                took = (time.perf_counter() - began) / len(cases) * 1000
            print(f"{title}, {name}: {took:.1f} ms a question")
        found = told(title, answers, grouped=title.startswith("LoCoMo"))
        for name in ways:
            for what, label in (("recall10", "recall@10"), ("ndcg10", "nDCG@10")):
                note(report, f"{title}, {name}: {label}", mean(found[name], what))
            if f"sessions {name}" in found:
                note(report, f"LoCoMo sessions, {name}: any@10", mean(found[f"sessions {name}"], "any10"))
    print()
    for name in sorted(GOALS.keys() - report.names):
        report.unmeasured(name, GOALS[name])
    return report.end()


def beside(bare: Bare, cases: Sequence[Case], meaning: bool) -> dict[str, list[tuple[Case, list[str]]]]:
    """What others answer, who were named and have what they need."""
    of: dict[str, list[Case]] = {}
    for case in cases:
        of.setdefault(case.project, []).append(case)
    groups = [
        {
            "texts": [(id, text.partition("\n")[0][:300], text) for id, text in bare.texts[project]],
            "questions": [case.question.text for case in mine],
        }
        for project, mine in of.items()
    ]
    found = {}
    for peer, python in peers.named().items():
        vectors = peers.vectors_of(home_of_models(), groups) if peer == "mem0" and meaning else None
        if peer == "mem0" and vectors is None:
            continue
        answered = peers.ranked(peer, python, groups, vectors)
        found[peer] = [
            (case, ranked)
            for mine, ranking in zip(of.values(), answered, strict=True)
            for case, ranked in zip(mine, ranking, strict=True)
        ]
    return found


def note(report: Report, name: str, value: float) -> None:
    if name in GOALS:
        report.goal(name, value, GOALS[name])


if __name__ == "__main__":
    raise SystemExit(main())
