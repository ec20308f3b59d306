"""What of the memory is about a task: words, their worth, and where a memory is found by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minutebook.model.context import Layer
from minutebook.model.memories import Importance, Memory, Status, Type
from minutebook.model.scopes import Scope, Tier
from minutebook.policy.relevance import (
    COMMON,
    MEMORY_WORDS,
    TASK_WORDS,
    Sought,
    checksums,
    enough_from_afar,
    is_titled,
    likeliest,
    score,
    stem,
    task_words,
    weight_of,
    word_key,
)
from minutebook.policy.shelving import ABROAD, shelf_of


@pytest.mark.parametrize(
    "family",
    [
        ("deploy", "deploys", "deployed", "deploying"),
        ("cache", "caches", "cached", "caching"),
        ("run", "runs", "running"),
        ("query", "queries"),
        ("class", "classes"),
        ("log", "logs", "logged", "logging"),
        ("fix", "fixes", "fixed", "fixing"),
    ],
)
def test_the_forms_of_a_word_are_one(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("login", "log"), ("string", "str"), ("bus", "bu"), ("status", "statu"), ("red", "r")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_the_words_of_a_task_are_folded_distinct_and_bounded() -> None:
    assert task_words("Please fix the LOGIN page, and the login-page's Cache!") == [
        "fix",
        "login",
        "page",
        "cach",
    ]
    assert task_words("to be or not to be") == []
    assert task_words("修复登录页面") == ["修复", "复登", "登录", "录页", "页面"]
    assert len(task_words(" ".join(f"word{n}" for n in range(100)))) == TASK_WORDS


def test_rarer_words_are_worth_more() -> None:
    worths = [weight_of(found) for found in (0, 1, 2, 6, 12, 24, 40, COMMON, 96)]
    assert worths == [6, 6, 5, 4, 3, 2, 1, 1, 1]


def test_a_word_counts_twice_in_the_name() -> None:
    a, b, c = (Sought(frozenset({sum_}), weight) for sum_, weight in (("aa", 3), ("bb", 1), ("cc", 6)))
    assert score("aa | bb", [a, b, c]) == 7
    assert score("| aa bb cc", [a, b, c]) == 10
    assert score("aa | aa", [a]) == 6
    assert score("|", [a, b, c]) == 0
    assert score("aa | bb", [a, b, c], titled=False) == 4


@pytest.mark.parametrize(
    ("title", "content", "given"),
    [
        ("Login", "The login page is slow.", True),
        ("The login page is slow.", "The login page is slow.", False),
        ("The login page…", "The login page is slow.", False),
        ("The login page", "# The login page\nIt is slow.", False),
    ],
)
def test_the_beginning_of_a_text_is_no_title_of_its_own(title: str, content: str, given: bool) -> None:
    assert is_titled(title, content) is given


def test_the_likeliest_have_the_most_weight_and_are_the_newest() -> None:
    found = {0: [9, 7, 5], 1: [7, 3], 2: [5]}
    assert likeliest(found, [1, 2, 1], 4) == [7, 5, 3, 9]


def test_a_checksum_is_another_one_on_another_shelf() -> None:
    sums = {
        checksums(word_key(p, r), ["login"])[0] for p in ("P", "Q", "global") for r in ("", "ripley", "ash")
    }
    assert len(sums) == 9
    assert all(len(each) == 8 and each.isalnum() for each in sums)


# --- shelves ----------------------------------------------------------------------------------------------------

MEMORY = Memory(
    id="M", scope=Scope.of_agent("P", "ripley"), type=Type.LEARNING, slug="proxy-limit", title="Proxy",
    content="The staging proxy drops bodies.", status=Status.ACTIVE, author="ripley", author_role="agent",
    origin="cli", decided_by="ripley", decided_role="agent", created_at="", updated_at="",
)  # fmt: skip


@pytest.mark.parametrize(
    ("more", "reader", "layer"),
    [
        ({}, "ripley", None),
        ({"importance": Importance.HIGH}, "ripley", Layer.LESSON),
        ({"importance": Importance.HIGH, "tags": ("cross-team",)}, "", Layer.LESSON),
        ({"importance": Importance.HIGH, "type": Type.UPDATE}, "ripley", None),
        ({"type": Type.PATTERN, "importance": Importance.HIGH}, "ripley", Layer.LESSON),
        ({"type": Type.CORE_CONTEXT, "tags": ("cross-team",)}, "ripley", Layer.CORE),
        ({"type": Type.PROFILE, "scope": Scope.everywhere()}, "", Layer.PROFILE),
        ({"type": Type.EPISODE}, "ripley", Layer.EPISODE),
        ({"type": Type.TECHNICAL, "scope": Scope.of_project("P")}, "", None),
        ({"scope": Scope.of_agent("P", "ripley", Tier.GLOBAL), "tags": ("cross-team",)}, "ripley", None),
        ({"scope": Scope.of_session("P", "S1")}, "session:S1", None),
        ({"scope": Scope.of_repo("P", "R1")}, "", None),
        ({"scope": Scope.of_project("P"), "type": Type.SCOPE}, ABROAD, None),
        ({"scope": Scope.of_project("P"), "type": Type.ARCHITECTURAL}, ABROAD, None),
    ],
)
def test_a_memory_is_found_by_those_it_is_for(
    more: dict[str, object], reader: str, layer: Layer | None
) -> None:
    shelf = shelf_of(replace(MEMORY, **more))  # type: ignore[arg-type]
    assert shelf is not None
    assert (shelf.reader, shelf.layer) == (reader, layer)


@pytest.mark.parametrize(
    "more", [{"status": Status.RETIRED}, {"status": Status.SUPERSEDED}, {"status": Status.ERASED},
             {"type": Type.SCOPE, "scope": Scope.everywhere()},
             {"type": Type.ARCHITECTURAL, "scope": Scope.of_repo("P", "R1")}]
)  # fmt: skip
def test_what_does_not_stand_and_what_is_always_there_has_no_shelf(more: dict[str, object]) -> None:
    assert shelf_of(replace(MEMORY, **more)) is None  # type: ignore[arg-type]


def test_a_shelf_holds_the_words_of_the_name_first_and_no_more_than_its_limit() -> None:
    shelf = shelf_of(replace(MEMORY, tags=("infra",), content=" ".join(f"w{n}x" for n in range(500))))
    assert shelf is not None
    name, _, text = shelf.words.partition(" | ")
    key = word_key("P", "ripley")
    assert name.split() == checksums(key, ["proxy", "limit", "infra"])
    assert len(text.split()) == MEMORY_WORDS - 3


@pytest.mark.parametrize(
    ("words", "sought", "enough"),
    [("aa bb", 3, True), ("aa", 3, False), ("aa | zz", 3, False), ("zz | aa bb", 2, True), ("aa", 1, True), ("", 1, False)],
)  # fmt: skip
def test_from_another_project_one_shared_word_is_not_enough(words: str, sought: int, enough: bool) -> None:
    wanted = [Sought(frozenset({sum}), 1) for sum in ("aa", "bb", "cc")[:sought]]
    assert enough_from_afar(words, wanted) is enough
