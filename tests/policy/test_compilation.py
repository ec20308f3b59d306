"""The compiler: layers, order, budgets, what is left out and why. Tables, no database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minutebook.model.context import Bundle, ContextRequest, EvidenceState, Form, Layer, LayerFault, Reason
from minutebook.model.memories import Memory, Status, Type
from minutebook.model.scopes import Scope
from minutebook.model.sessions import Session
from minutebook.policy import rendering
from minutebook.policy.compilation import Material, Waiting, compile_context
from minutebook.policy.limits import Limits
from minutebook.policy.token_counts import estimate

REQUEST = ContextRequest("P", "ripley", 9, task="fix the login page")
BOUNDS = [Type.ARCHITECTURAL, Type.SCOPE]


def memory(id: str, type: Type = Type.LEARNING, content: str = "", **more: Any) -> Memory:
    base = Memory(
        id=id, scope=Scope.of_project("P"), type=type, slug=id.lower(), title=f"Title {id}",
        content=content or f"Content {id}.", status=Status.ACTIVE, author="ripley", author_role="agent",
        origin="cli", decided_by="mother", decided_role="operator", created_at="", updated_at="",
    )  # fmt: skip
    return replace(base, **more)


SESSION = Session(
    "S", "P", "s", "Harden the importer", ("#12", "#14"), "Parser done.", None, "ripley", "", ""
)
FULL = Material(
    boundaries=[memory("B1", Type.SCOPE), memory("B2", Type.ARCHITECTURAL)],
    core=[memory("C1", Type.CORE_CONTEXT), memory("C2", Type.CORE_CONTEXT)],
    lessons=[memory("L1"), memory("L2", Type.PATTERN)],
    profile=[memory("F1", Type.PROFILE)],
    relevant=[(memory("R1", Type.PROJECT), 9), (memory("R2", Type.TECHNICAL), 5)],
    episodes=[memory("E1", Type.EPISODE)],
    session=SESSION,
    waiting=Waiting(7, 2),
)


def compiled(material: Material, limits: Limits | None = None, **request: Any) -> Bundle:
    bundle = compile_context(replace(REQUEST, **request), material, limits or Limits())
    assert bundle is not None
    return bundle


def ids(bundle: Bundle) -> list[str]:
    return [item.id for item in bundle.items]


def left(bundle: Bundle) -> dict[str, str]:
    return {out.id: out.reason.value for out in bundle.left_out}


def test_the_layers_stand_in_their_strict_order() -> None:
    bundle = compiled(FULL)
    assert ids(bundle) == ["B1", "B2", "C1", "C2", "L1", "L2", "F1", "R1", "R2", "E1"]
    places = [bundle.text.index(word) for word in
              (rendering.BOUNDARIES, "Title B1", "Title B2", rendering.MEMORY, "Title C1", "Title C2", "Title L1", "Title L2",
               "Title F1", "Title R1", "Title R2", "Title E1", rendering.SESSION, "Harden", "#12", "#14", "Parser done.",
               "7 proposals wait for a review, 2 of them boundaries")]  # fmt: skip
    assert places == sorted(places)
    assert bundle.text.endswith("`minutebook inbox list`.\n")
    assert [item.score for item in bundle.items if item.layer is Layer.RELEVANT] == [9, 5]
    assert all(item.tokens > 0 for item in bundle.items)


def test_nothing_to_say_is_no_block() -> None:
    assert compile_context(REQUEST, Material(), Limits()) is None
    assert compile_context(REQUEST, Material(waiting=Waiting(0, 0)), Limits()) is None


@pytest.mark.parametrize("missing", ["boundaries", "core", "session"])
def test_an_empty_layer_has_no_heading(missing: str) -> None:
    empty: dict[str, Any] = {missing: None if missing == "session" else ()}
    if missing == "core":
        empty |= dict.fromkeys(("lessons", "profile", "relevant", "episodes"), ())
    text = compiled(replace(FULL, **empty)).text
    heading = {"boundaries": rendering.BOUNDARIES, "core": rendering.MEMORY, "session": rendering.SESSION}[
        missing
    ]
    assert heading not in text
    assert sum(text.count(f"\n{each}") + text.startswith(each) for each in
               (rendering.BOUNDARIES, rendering.MEMORY, rendering.SESSION)) == 2  # fmt: skip


def test_a_child_gets_the_boundaries_alone() -> None:
    child = compiled(FULL, child=True)
    assert ids(child) == ["B1", "B2"]
    assert rendering.MEMORY not in child.text
    assert compiled(FULL).text.startswith(child.text.rstrip("\n"))
    assert compile_context(replace(REQUEST, child=True), replace(FULL, boundaries=()), Limits()) is None


def test_boundaries_beyond_their_budget_keep_title_and_id_and_the_bundle_says_so() -> None:
    many = [memory(f"B{n}", BOUNDS[n % 2], content="words " * 200) for n in range(5)] + [
        memory("B9", Type.SCOPE)
    ]
    bundle = compiled(Material(boundaries=many), Limits(context_boundary_tokens=500))
    assert [item.form for item in bundle.items] == [
        Form.WHOLE, Form.TITLE, Form.TITLE, Form.TITLE, Form.TITLE, Form.WHOLE,
    ]  # fmt: skip
    assert "> 4 boundaries are shortened" in bundle.text
    for n in (1, 2, 3, 4):
        assert f"shortened: B{n}\n| Title B{n}" in bundle.text
    assert bundle.left_out == ()


def test_the_memory_budget_is_shared_and_a_smaller_item_takes_the_room_that_a_larger_one_cannot() -> None:
    large = memory("X", Type.CORE_CONTEXT, content="words " * 5_000)
    bundle = compiled(replace(FULL, core=[large, memory("C2", Type.CORE_CONTEXT)]))
    assert ids(bundle)[2:4] == ["C2", "L1"]
    assert left(bundle) == {"X": "no_room"}
    assert "> 1 more was left out" in bundle.text
    items = compiled(FULL, Limits(context_items=3))
    assert ids(items) == ["B1", "B2", "C1", "C2", "L1"]
    assert left(items) == dict.fromkeys(("L2", "F1", "R1", "R2", "E1"), "over_items")


@pytest.mark.parametrize("budget", [0, 60, 100, 150, 250, 1_000])
def test_the_memory_section_never_exceeds_its_tokens(budget: int) -> None:
    sizes = [3, 40, 7, 90, 12, 1, 60, 25]
    core = [memory(f"C{n}", Type.CORE_CONTEXT, content="many words " * size) for n, size in enumerate(sizes)]
    bundle = compile_context(REQUEST, Material(core=core), Limits(context_tokens=budget))
    assert bundle is not None
    assert len(bundle.items) + bundle.left_out_count == len(sizes)
    if bundle.items:
        assert estimate(bundle.text) <= budget


def test_each_layer_takes_only_so_many_and_says_which_it_left_out() -> None:
    lessons = [memory(f"L{n}") for n in range(8)]
    bundle = compiled(Material(lessons=lessons))
    assert ids(bundle) == ["L0", "L1", "L2", "L3", "L4"]
    assert left(bundle) == dict.fromkeys(("L5", "L6", "L7"), "over_count")
    again = compiled(Material(lessons=lessons, relevant=[(lessons[6], 8)]))
    assert ids(again) == ["L0", "L1", "L2", "L3", "L4", "L6"]
    assert set(left(again)) == {"L5", "L7"}


def test_the_list_of_what_was_left_out_is_bounded_and_counted() -> None:
    core = [memory(f"C{n}", Type.CORE_CONTEXT) for n in range(40)]
    bundle = compiled(Material(core=core), Limits(context_listed=4))
    assert (len(bundle.items), len(bundle.left_out), bundle.left_out_count) == (20, 4, 20)


def test_a_memory_is_in_a_bundle_once() -> None:
    lesson, episode = memory("L1"), memory("E1", Type.EPISODE)
    bundle = compiled(Material(lessons=[lesson], relevant=[(lesson, 9), (episode, 8)], episodes=[episode]))
    assert ids(bundle) == ["L1", "E1"]
    assert [item.layer for item in bundle.items] == [Layer.LESSON, Layer.RELEVANT]


def test_what_a_deeper_scope_hides_is_left_out_and_said() -> None:
    bundle = compiled(replace(FULL, hidden=frozenset({"B1", "C2"})))
    assert left(bundle) == {"B1": "shadowed", "C2": "shadowed"}
    assert "Title B1" not in bundle.text


def test_shaky_evidence_is_shown_after_its_equals_and_never_hidden() -> None:
    states = {"L1": EvidenceState.STALE, "R1": EvidenceState.MISSING, "B1": EvidenceState.STALE}
    bundle = compiled(
        replace(
            FULL,
            relevant=[(memory("R1"), 9), (memory("R2"), 9), (memory("R3"), 5)],
            evidence={**states, "L2": EvidenceState.FRESH},
        )
    )
    assert [id for id in ids(bundle) if id[0] in "LR"] == ["L2", "L1", "R2", "R1", "R3"]
    assert ids(bundle)[:2] == ["B1", "B2"]  # a boundary keeps its place whatever it rests on
    assert {item.id: item.evidence for item in bundle.items if item.evidence} == {
        **states, "L2": EvidenceState.FRESH,
    }  # fmt: skip
    assert "evidence stale\n| Title L1" in bundle.text


def test_another_task_changes_only_what_comes_after_the_stable_part() -> None:
    one = compiled(FULL)
    two = compiled(replace(FULL, relevant=[(memory("R7"), 4)], episodes=()), task="something else")
    bare = compiled(replace(FULL, relevant=(), episodes=()), task="")
    assert one.stable == two.stable == bare.stable
    prefix = one.text.encode()[: one.stable]
    assert two.text.encode()[: one.stable] == bare.text.encode()[: one.stable] == prefix
    assert prefix.decode().endswith("Content F1.")
    only_boundaries = compiled(Material(boundaries=FULL.boundaries, relevant=FULL.relevant))
    assert only_boundaries.text.encode()[: only_boundaries.stable].decode().endswith("Content B2.")


def test_a_fault_is_told_in_the_bundle_and_costs_nothing_else() -> None:
    fault = LayerFault(Layer.RELEVANT, "ledger_damaged", "no")
    bundle = compiled(replace(FULL, relevant=(), faults=(fault,)))
    assert bundle.faults == (fault,)
    assert bundle.text.endswith("> Not everything could be compiled; missing: relevant.\n")
    alone = compiled(Material(faults=(fault,)))
    assert (alone.faults, alone.items) == ((fault,), ())


def test_the_hash_is_of_the_text_and_of_the_revisions_it_came_from() -> None:
    one = compiled(FULL)
    assert compiled(FULL).hash == one.hash
    assert compiled(FULL, seq=10).hash == one.hash  # where nothing changed, the moment does not count
    again = compiled(replace(FULL, lessons=[replace(FULL.lessons[0], revision=2), FULL.lessons[1]]))
    assert again.text == one.text
    assert again.hash != one.hash


def test_of_a_long_summary_the_end_stays() -> None:
    summary = "\n".join(f"Day {n}: something happened that took a while." for n in range(400))
    bundle = compiled(Material(session=replace(SESSION, summary=summary)), Limits(context_session_tokens=200))
    assert "**summary**, its end" in bundle.text
    assert "Day 399" in bundle.text
    assert "Day 1:" not in bundle.text
    assert estimate(bundle.text) < 250
    one_line = replace(SESSION, summary="word " * 5_000 + "the end")
    assert "the end" in compiled(Material(session=one_line), Limits(context_session_tokens=200)).text


def test_what_was_erased_is_said_to_be_missing() -> None:
    from minutebook.model.context import LeftOut

    gone = LeftOut("B0", Layer.BOUNDARY, "scope", "erased-b0", Reason.ERASED)
    assert left(compiled(replace(FULL, missing=[gone])))["B0"] == "erased"
