"""What a consolidation notices: tables of texts, trust, gates and promotion rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from minutebook.model.consolidation import Kind
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import parse_evidence
from minutebook.model.inbox import Proposal, ProposalStatus, Risk, Would
from minutebook.model.memories import Memory, Status, Type
from minutebook.model.scopes import Scope
from minutebook.policy.consolidation import (
    Light,
    Tie,
    Trust,
    ended,
    merges,
    overlong,
    pairs_in,
    shortened,
    tie,
    trust_of,
)
from minutebook.policy.gates import Seen, all_open, gates_of
from minutebook.policy.limits import Limits
from minutebook.policy.promotion_rules import parse_rules, rule_for

AT = "2026-01-01T00:00:00.000000Z"
HERE = Scope.of_project("P")
MEMORY = Memory(
    id="M", scope=HERE, type=Type.PROJECT, slug="m", title="M", content="", status=Status.ACTIVE, author="ripley",
    author_role="agent", origin="cli", decided_by="ripley", decided_role="agent", created_at=AT, updated_at=AT,
)  # fmt: skip
LONG = "The staging proxy of the shop drops every upload that is larger than the limit"


def memory(id: str, content: str = LONG, **more: object) -> Memory:
    return replace(MEMORY, id=id, slug=id.lower(), title=id, content=content, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (LONG, f"{LONG} indeed", Kind.NEAR_DUPLICATE),
        (f"{LONG} of 10 MB", f"{LONG} of 20 MB", Kind.CONTRADICTION),
        (f"never {LONG}", f"{LONG}", Kind.CONTRADICTION),
        (LONG, "Kim wants short answers to long questions, and no emoji at all.", None),
        (
            LONG,
            "The staging proxy of the shop is written in Go and was measured by Ripley last spring.",
            None,
        ),
    ],
)
def test_what_two_texts_are_to_each_other(one: str, other: str, kind: Kind | None) -> None:
    found = tie(memory("A", one), memory("B", other), Limits())
    assert (None if found is None else found.kind) == kind


def test_two_that_say_what_they_are_about_differ_without_disagreeing() -> None:
    one = memory("A", f"{LONG} of 10 MB", entity="proxy-a", attribute="limit")
    other = memory("B", f"{LONG} of 20 MB", entity="proxy-b", attribute="limit")
    assert tie(one, other, Limits()) is None
    assert tie(one, replace(other, entity="proxy-a"), Limits()) is not None


def test_what_governs_and_what_informs_are_never_merged() -> None:
    assert tie(memory("A"), memory("B", type=Type.SCOPE), Limits()) is None


def test_of_agents_the_same_is_shared_and_the_own_of_one_and_of_a_session_never_meet() -> None:
    ripley, bishop = Scope.of_agent("P", "ripley"), Scope.of_agent("P", "bishop")
    found = tie(memory("A", scope=ripley), memory("B", f"{LONG} indeed", scope=bishop), Limits())
    assert found is not None
    assert found.kind is Kind.SHARED


def test_the_widest_the_most_trusted_and_the_longest_stays() -> None:
    known = {
        "A": memory("A", scope=Scope.of_agent("P", "ripley")),
        "B": memory("B", decided_role="operator"),
        "C": memory("C", content=f"{LONG} and more"),
    }
    ties = [Tie(Kind.NEAR_DUPLICATE, one, other, "", 0.9) for one, other in pairwise(sorted(known))]
    [group] = merges(ties, known)
    assert [id for id, _ in group.refs] == ["B", "C", "A"]
    assert group.kind is Kind.NEAR_DUPLICATE


def test_a_group_of_thousands_is_compared_in_linear_time_and_by_length() -> None:
    many = [Light(f"{number:05d}", 1, HERE, False, 100 + number % 7) for number in range(5_000)]
    assert len(list(pairs_in(many))) < 4 * len(many)
    assert len(list(pairs_in(many[:5]))) == 10
    long = Light("long", 1, HERE, False, 500)
    assert all("long" not in pair for pair in pairs_in([*many[:5], long]))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The promo works until 2025-06-30.", "2025-06-30"),
        ("Valid through 2025-06, then it ends.", "2025-06-31"),
        ("It expires on 2025-01-02", "2025-01-02"),
        ("Written on 2025-01-02.", None),
        ("Until 2025-01-02 this, until 2026-01-02 that.", None),
        ("Until Friday.", None),
    ],
)
def test_a_text_may_say_how_long_it_holds(text: str, day: str | None) -> None:
    assert ended(text) == day


def test_shortening_takes_what_was_said_before_and_nothing_else() -> None:
    text = "First line of some length here.\n\n\n\nSecond line of some length.\nFirst line of some length here.\nok\nok\n"
    assert shortened(text) == "First line of some length here.\n\nSecond line of some length.\nok\nok"
    assert shortened(shortened(text)) == shortened(text)
    assert overlong(memory("A", "x y z\n" * 10), Limits()) is None
    assert (
        overlong(memory("A", "\n".join(f"Line {n} is another line." for n in range(400))), Limits()) is None
    )


@pytest.mark.parametrize(
    ("origin", "decided", "trust"),
    [
        ("cli", "operator", Trust.PERSON), ("extraction", "coordinator", Trust.PERSON), ("mcp", "agent", Trust.AGENT),
        ("extraction", "scribe", Trust.MACHINE), ("file", "agent", Trust.MACHINE), ("import", "agent", Trust.MACHINE),
    ],
)  # fmt: skip
def test_trust_follows_from_the_door_and_from_who_stands_for_it(
    origin: str, decided: str, trust: int
) -> None:
    assert trust_of(memory("A", origin=origin, decided_role=decided)) == trust


# --- gates -------------------------------------------------------------------------------------------------------

READY = Seen(now="2026-01-03T00:00:00.000000Z", last=AT, runs=3, signals=5, running=None)


@pytest.mark.parametrize(
    ("change", "shut"),
    [
        ({}, []),
        ({"last": None}, []),
        ({"last": "2026-01-02T12:00:00.000000Z"}, ["hours"]),
        ({"runs": 2}, ["runs"]),
        ({"signals": 4}, ["signals"]),
        ({"running": "R"}, ["lock"]),
        ({"runs": 0, "signals": 0, "running": "R"}, ["runs", "signals", "lock"]),
    ],
)
def test_every_gate_must_be_open(change: dict[str, object], shut: list[str]) -> None:
    gates = gates_of(replace(READY, **change), Limits())  # type: ignore[arg-type]
    assert [gate.name for gate in gates if not gate.open] == shut
    assert all_open(gates) is (not shut)


# --- promotion rules ---------------------------------------------------------------------------------------------

PROPOSAL = Proposal(
    id="Q", project="P", slug="q", requested_slug="q", agent="ripley", author_role="agent", origin="extraction",
    type=Type.LEARNING, title="Q", content=LONG, scope=HERE, status=ProposalStatus.PENDING, risk=Risk.LOW,
    would=Would(similar=("X",)), created_at=AT, updated_at=AT, confidence=0.9,
    evidence=(parse_evidence("url:https://example.org"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reached"),
    [
        ({}, True),
        ({"confidence": 0.7}, False),
        ({"evidence": ()}, False),
        ({"would": Would()}, False),
        ({"would": Would(similar=("X",), contradicts=("Y",))}, False),
        ({"would": Would(similar=("X",), flags=("authority",))}, False),
        ({"type": Type.SCOPE}, False),
        ({"type": Type.PROFILE}, False),
    ],
)
def test_a_rule_reaches_what_is_well_founded_and_never_what_takes_a_person(
    change: dict[str, object], reached: bool
) -> None:
    rules = parse_rules(Limits().promotion_rules)
    assert (rule_for(replace(PROPOSAL, **change), rules, AT) is not None) is reached  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["scope: confidence>=0.1", "profile: days>=0", "learning", "learning: love>=1", "learning: confidence>0.5",
     "nonsense: days>=1", ": days>=1", "learning:"],
)  # fmt: skip
def test_a_rule_that_cannot_be_read_or_reaches_too_far_is_refused(text: str) -> None:
    with pytest.raises(MinutebookError) as refused:
        parse_rules(text)
    assert refused.value.code == "bad_setting"


def test_rules_are_told_apart_by_semicolons_and_no_text_is_no_rule() -> None:
    assert parse_rules(" ; ") == ()
    one, other = parse_rules("learning pattern: days>=3; update: confidence>=1 evidence>=2")
    assert one.types == {Type.LEARNING, Type.PATTERN}
    assert other.needs == (("confidence", 1.0), ("evidence", 2.0))
