"""Random operations on both databases side by side, against a plain model of the rules.

`MINUTEBOOK_EXAMPLES=500` makes it a longer run, each time of other operations; without it, the same
twenty-five histories are lived through each time.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from minutebook.model.errors import MinutebookError
from minutebook.operations import inbox, memories, sessions, verdicts
from minutebook.operations.registry import REGISTRY, to_plain
from minutebook.policy.limits import Limits
from tests import postgres
from tests.conftest import Clock, _migrate
from tests.houses import House
from tests.invariants import difference, state_of, violations
from tests.operations.reference import ROLES, Refused, Words
from tests.operations.reference_rules import Reference

EXAMPLES = int(os.environ.get("MINUTEBOOK_EXAMPLES", "25"))
STEPS = int(os.environ.get("MINUTEBOOK_STEPS", "30"))

#: Who may is drawn more often than who may not: a refusal leads nowhere.
PEOPLE = st.sampled_from([*["Ripley", "Bishop", "Dallas", "Mother"] * 4, "Jones"])
REVIEWERS = st.sampled_from([*["Dallas", "Mother"] * 5, "Ripley", "Jones"])
TYPES = st.sampled_from(["architectural", "process", "learning", "project"])
SLUGS = st.sampled_from(["store", "store", "queue", "cache", None])
TITLES = st.sampled_from(["One store", "Small queue", "Warm cache"])
#: Three long words each: too few for a near duplicate, enough for a claim of their own. Case does not count.
TEXTS = st.sampled_from(
    [
        "Photosynthesis interferometry reconstruction",
        "photosynthesis INTERFEROMETRY reconstruction",
        "Characteristically misunderstood circumstances",
        "Electromagnetism notwithstanding bibliographies",
        "Counterrevolutionary acknowledgements",
    ]
)
TAGS = st.sampled_from([(), (), ("infra",), ("cross-team",)])
NAMES = st.sampled_from([None, "monday", "tuesday"])
PICK = st.integers(0, 10_000)


def plain(answer: Any) -> Any:
    """An answer without the event numbers, in which PostgreSQL leaves holes."""
    if isinstance(answer, dict):
        return {name: plain(value) for name, value in answer.items() if name != "seq"}
    return [plain(value) for value in answer] if isinstance(answer, list) else answer


class Hands(Clock):
    """A clock that stands while it is read: how often an engine asks for the time must not show."""

    def __call__(self) -> str:
        return self._now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class SideBySide(RuleBasedStateMachine):
    """The same requests to a house on each database and to the model; the same answers from all of them."""

    #: Opens the houses of one history; set by the test.
    houses_for: Callable[[], list[House]]

    def __init__(self) -> None:
        super().__init__()
        self.houses = type(self).houses_for()
        self.model = Reference()
        self.requests: list[tuple[str, Any, dict[str, Any], str, Any]] = []
        self.count = 0

    # ── asking all of them ─────────────────────────────────────────────────────────────────────────

    def ask(self, house: House, who: str, operation: Any, arguments: dict[str, Any], key: str) -> Any:
        """The answer, or the code of the error."""
        client = house.as_(who)
        try:
            return client.invoke(REGISTRY.of(operation), arguments, key=key)
        except MinutebookError as error:
            return error.code

    def step(
        self, who: str, operation: Any, foretell: Callable[[Any], dict[str, Any]], **arguments: Any
    ) -> None:
        self.count += 1
        key = f"request-{self.count}"
        self.turn_clocks(seconds=1)
        answers = [self.ask(house, who, operation, arguments, key) for house in self.houses]
        first = answers[0]
        assert all(plain(to_plain(answer)) == plain(to_plain(first)) for answer in answers)
        before = copy.deepcopy(self.model)
        try:
            foretold = foretell(None if isinstance(first, str) else first)
        except Refused as no:
            self.model = before
            self.agree(first, no.code)
        except AttributeError:
            # The model went on to the ids of an answer that is an error.
            assert not isinstance(first, str), f"the ledger refused with {first}, the model did not"
            raise
        else:
            assert not isinstance(first, str), f"the ledger refused with {first}, the model did not"
            told = {name: getattr(first, name) for name in foretold if hasattr(first, name)}
            assert told == {name: foretold[name] for name in told}
        if not isinstance(first, str) or first == "tombstoned":
            self.requests.append((who, operation, arguments, key, plain(to_plain(first))))

    def turn_clocks(self, **span: float) -> None:
        for house in self.houses:
            assert isinstance(house.clock, Hands)
            house.clock.advance(**span)

    def agree(self, code: Any, expected: str) -> None:
        assert code == expected, f"the model refuses with {expected}, the ledger answered {code!r}"

    # ── choosing: mostly what the deed fits, at times anything ─────────────────────────────────────

    def memory(self, pick: int, *statuses: str) -> str:
        fit = [memory.id for memory in self.model.memories.values() if memory.status in statuses]
        ids = fit if fit and pick % 9 else list(self.model.memories)
        return ids[pick % len(ids)]

    def proposal(self, pick: int, *not_of: str) -> str:
        pending = [p for p in self.model.proposals.values() if p.status == "pending"]
        fit = [p.id for p in pending if p.agent not in not_of]
        ids = fit if fit and pick % 9 else list(self.model.proposals)
        return ids[pick % len(ids)]

    # ── the rules ──────────────────────────────────────────────────────────────────────────────────

    @initialize(
        entries=st.lists(st.tuples(PEOPLE, TYPES, SLUGS, TITLES, TEXTS, TAGS), min_size=4, max_size=9)
    )
    def begin(self, entries: list[Any]) -> None:
        """A ledger in which something stands and something waits already."""
        for number, entry in enumerate(entries):
            self.say(
                entry[0],
                inbox.submit if number % 2 else memories.write,
                *entry[1:],
                1,
                propose=number % 2 == 1,
            )

    @rule(who=PEOPLE, type=TYPES, slug=SLUGS, title=TITLES, content=TEXTS, tags=TAGS, pick=PICK)
    def submit(
        self, who: str, type: str, slug: str | None, title: str, content: str, tags: Any, pick: int
    ) -> None:
        self.say(who, inbox.submit, type, slug, title, content, tags, pick, propose=True)

    @rule(who=PEOPLE, type=TYPES, slug=SLUGS, title=TITLES, content=TEXTS, tags=TAGS, pick=PICK)
    def write(
        self, who: str, type: str, slug: str | None, title: str, content: str, tags: Any, pick: int
    ) -> None:
        self.say(who, memories.write, type, slug, title, content, tags, pick, propose=False)

    def say(
        self, who: str, operation: Any, type: str, slug: str | None, title: str, content: str, tags: Any,
        pick: int, *, propose: bool,
    ) -> None:  # fmt: skip
        target = self.memory(pick, "active") if pick % 5 == 0 and self.model.memories else None
        words = Words(type, title, content, tags, self.model.place_of(who, type))
        arguments: dict[str, Any] = {"type": type, "title": title, "content": content, "tag": list(tags)}
        arguments |= {} if slug is None else {"slug": slug}
        arguments |= {} if target is None else {"supersedes": target}
        self.step(
            who,
            operation,
            lambda answer: self.model.write(who, words, slug, answer, target=target, propose=propose),
            **arguments,
        )

    @precondition(lambda self: self.model.proposals)
    @rule(who=REVIEWERS, pick=PICK, accept_stale=st.booleans())
    def promote(self, who: str, pick: int, accept_stale: bool) -> None:
        ref = self.proposal(pick, who)
        foretell = lambda answer: self.model.promote(who, ref, accept_stale, answer)  # noqa: E731
        self.step(who, inbox.promote, foretell, ref=ref, accept_stale=accept_stale)

    @precondition(lambda self: self.model.proposals)
    @rule(who=REVIEWERS, pick=PICK)
    def reject(self, who: str, pick: int) -> None:
        ref = self.proposal(pick, who)
        self.step(
            who, inbox.reject, lambda answer: self.model.reject(who, ref, answer), ref=ref, reason="not so"
        )

    @precondition(lambda self: self.model.proposals)
    @rule(who=PEOPLE, pick=PICK)
    def withdraw(self, who: str, pick: int) -> None:
        ref = self.proposal(pick, *(ROLES.keys() - {who}))
        self.step(who, inbox.withdraw, lambda answer: self.model.withdraw(who, ref, answer), ref=ref)

    @precondition(lambda self: self.model.memories)
    @rule(
        who=PEOPLE, pick=PICK, title=TITLES | st.none(), content=TEXTS, back=st.sampled_from([None, 0, 0, 1])
    )
    def edit(self, who: str, pick: int, title: str | None, content: str, back: int | None) -> None:
        ref = self.memory(pick, "active")
        revision = None if back is None else max(1, self.model.memories[ref].revision - back)
        arguments = {"title": title, "revision": revision}
        self.step(
            who,
            memories.edit,
            lambda answer: self.model.edit(who, ref, title, content, revision, answer),
            ref=ref,
            content=content,
            **{name: value for name, value in arguments.items() if value is not None},
        )

    @precondition(lambda self: self.model.memories)
    @rule(who=PEOPLE, pick=PICK, tag=st.sampled_from(["infra", "Cross-Team", "billing"]), add=st.booleans())
    def tag(self, who: str, pick: int, tag: str, add: bool) -> None:
        ref = self.memory(pick)
        foretell = lambda answer: self.model.tag(who, ref, tag.lower(), answer, add=add)  # noqa: E731
        self.step(who, memories.tag if add else memories.untag, foretell, ref=ref, tags=[tag])

    @precondition(lambda self: self.model.memories)
    @rule(who=PEOPLE, pick=PICK, deed=st.sampled_from(["retire", "retire", "restore", "restore", "archive"]))
    def take_out_or_bring_back(self, who: str, pick: int, deed: str) -> None:
        ref = self.memory(
            pick, *(["retired"] if deed == "restore" else ["active", "superseded"][: 1 + pick % 2])
        )
        foretell = lambda answer: getattr(self.model, deed)(who, ref, answer)  # noqa: E731
        self.step(who, getattr(memories, deed), foretell, ref=ref, reason="because")

    @precondition(lambda self: self.model.memories)
    @rule(who=PEOPLE, old=PICK, new=PICK)
    def supersede(self, who: str, old: int, new: int) -> None:
        ref, by = self.memory(old, "active"), self.memory(new, "active")
        foretell = lambda answer: self.model.supersede(who, ref, by, answer)  # noqa: E731
        self.step(who, memories.supersede, foretell, ref=ref, by=by)

    @precondition(lambda self: self.model.rulings)
    @rule(who=REVIEWERS, pick=PICK)
    def revert(self, who: str, pick: int) -> None:
        ids = list(self.model.rulings)
        last = [ruling.id for ruling in self.model.rulings.values() if ruling.effects][-6:]
        ref = last[pick % len(last)] if last and pick % 9 else ids[pick % len(ids)]
        self.step(who, verdicts.revert, lambda answer: self.model.revert(who, ref, answer), id=ref)

    @rule(who=PEOPLE, deed=st.sampled_from(["start", "update", "close"]), name=NAMES, words=TITLES)
    def session(self, who: str, deed: str, name: str | None, words: str) -> None:
        if deed == "start":
            arguments = {"focus": words} if name is None else {"focus": words, "session": name}
            foretell = lambda answer: self.model.start(who, name, words, answer)  # noqa: E731
            self.step(who, sessions.start, foretell, **arguments)
        else:
            foretell = lambda answer: self.model.update(who, words, answer, close=deed == "close")  # noqa: E731
            self.step(who, getattr(sessions, deed), foretell, append=words)

    @precondition(lambda self: self.requests)
    @rule(pick=PICK)
    def send_again(self, pick: int) -> None:
        """A retry gets the first answer, and changes nothing."""
        who, operation, arguments, key, first = self.requests[pick % len(self.requests)]
        for house in self.houses:
            again = plain(to_plain(self.ask(house, who, operation, arguments, key)))
            assert without_replayed(again) == without_replayed(first)

    @rule(hours=st.integers(-72, 72))
    def restart_at_another_time(self, hours: int) -> None:
        for house in self.houses:
            house.restart()
        self.turn_clocks(hours=hours)

    # ── the end ────────────────────────────────────────────────────────────────────────────────────

    def teardown(self) -> None:
        try:
            states = [state_of(house.service.database) for house in self.houses]
            for state in states:
                assert violations(state) == []
                assert not (lines := difference(states[0], state)), "\n".join(lines[:20])
            self.compare(states[0])
        finally:
            for house in self.houses:
                house.close()

    def compare(self, state: dict[str, list[dict[str, Any]]]) -> None:
        """The rows say what the model says."""
        model = self.model
        assert {
            (r["id"], r["slug"], r["type"], r["title"], r["content"], tuple(json.loads(r["tags"])),
             r["status"], r["author"], r["revision"], r["proposal_id"], r["superseded_by"],
             (r["scope"], r["agent"]))
            for r in state["memories"]
        } == {
            (m.id, m.slug, m.words.type, m.words.title, m.words.content, m.words.tags, m.status,
             m.author.lower(), m.revision, m.proposal, m.successor, scope_of(m.words))
            for m in model.memories.values()
        }  # fmt: skip
        assert {
            (r["id"], r["slug"], r["requested_slug"], r["agent"], r["type"], r["title"], r["content"],
             r["status"], r["revision"], r["memory_id"], r["base_id"], r["base_revision"],
             tuple(json.loads(r["tags"])))
            for r in state["proposals"]
        } == {
            (p.id, p.slug, p.requested, p.agent.lower(), p.words.type, p.words.title, p.words.content,
             p.status, p.revision, p.memory, p.base, p.base_revision, p.words.tags)
            for p in model.proposals.values()
        }  # fmt: skip
        links = {(r["from_id"], r["to_id"]) for r in state["memory_links"] if r["relation"] == "supersedes"}
        assert links == model.links
        laid = sorted((stone.cause, stone.lifted) for stone in model.stones)
        assert sorted((r["cause"], r["lifted_at"] is not None) for r in state["tombstones"]) == laid
        told = sorted((s.name, s.focus, s.summary, s.open) for s in model.sessions)
        found = [(r["session"], r["focus"], r["summary"], r["ended_at"] is None) for r in state["sessions"]]
        assert sorted(found) == told
        ruled = {
            ruling.id: (ruling.op, ruling.reverts, ruling.reverted_by) for ruling in model.rulings.values()
        }
        given = {r["id"]: (r["op"], r["reverts"], r["reverted_by"]) for r in state["verdicts"]}
        assert {id: given.get(id) for id in ruled} == ruled
        # Beyond those, only refusals, which leave nothing but the record of them.
        assert {op for id, (op, _, _) in given.items() if id not in ruled} <= {"refuse"}


def scope_of(words: Words) -> tuple[str, str]:
    kind, owner = words.scope
    return kind, owner.lower()


def without_replayed(answer: Any) -> Any:
    return {k: v for k, v in answer.items() if k != "replayed"} if isinstance(answer, dict) else answer


def test_both_databases_and_the_model_agree(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    cluster: postgres.Cluster | None = None if postgres.OFF else request.getfixturevalue("cluster")
    made: list[str] = []

    def houses_for() -> list[House]:
        directory = tmp_path_factory.mktemp("history", numbered=True)
        urls = [f"sqlite://{directory}/ledger.db"]
        if cluster is not None:
            while made:
                cluster.drop(made.pop())
            made.append(cluster.fresh(cluster.template("ledger", _migrate)))
            urls.append(cluster.url(made[-1]))
        return [house(url, directory / f"home{n}") for n, url in enumerate(urls)]

    def house(url: str, home: Path) -> House:
        return House(url, home, Hands(), limits=Limits(writes_per_minute=0))

    machine = type("History", (SideBySide,), {"houses_for": staticmethod(houses_for)})
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize="MINUTEBOOK_EXAMPLES" not in os.environ,
        # Finding the shortest history takes minutes; who asked for a longer run has them.
        phases=[Phase.generate, Phase.shrink] if "MINUTEBOOK_EXAMPLES" in os.environ else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    try:
        run_state_machine_as_test(machine, settings=profile)
    finally:
        while cluster is not None and made:
            cluster.drop(made.pop())


def test_a_memory_restored_after_its_promotion_was_reverted_does_not_block_the_proposal(house: House) -> None:
    """Found by the machine: the two would have shared the one memory that a proposal may have."""
    words = {"type": "process", "title": "Look twice", "content": "Look twice before every release."}
    proposal = house.ripley(inbox.submit, slug="look", **words)
    first = house.dallas(inbox.promote, ref=proposal.id)
    house.dallas(verdicts.revert, id=first.verdict)
    house.dallas(memories.restore, ref=first.memory, reason="by hand")
    house.dallas(memories.archive, ref=first.memory, reason="and away")
    second = house.dallas(inbox.promote, ref=proposal.id)
    assert second.memory != first.memory
    assert violations(state_of(house.service.database)) == []


def test_what_waits_already_is_known_by_each_type_apart(house: House) -> None:
    """Found by the machine: of two pending proposals with one claim, the databases looked at different ones."""
    words = {"title": "Look twice", "content": "Look twice before every release."}
    house.ripley(
        inbox.submit, type="architectural", slug="other", **{**words, "content": "Not this at all, yet."}
    )
    first = house.ripley(inbox.submit, type="process", **words)
    house.ripley(inbox.submit, type="architectural", slug="other", **words)
    again = house.ripley(inbox.submit, type="process", **words)
    assert (again.outcome, again.id) == ("unchanged", first.id)


def test_the_model_knows_every_person_of_the_house() -> None:
    from tests.houses import PEOPLE as HOUSE

    assert {name: HOUSE[name].value for name in ROLES} == ROLES
