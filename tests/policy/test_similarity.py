from __future__ import annotations

import random
import string
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.policy.similarity import (
    bits_shared,
    containment,
    differs_in_substance,
    outline,
    similarity,
    sketch,
)

LONG = "Every service writes to Postgres through the ledger, because two stores drifted apart last year."
FIRST_BANDS = (8491728595147975204, 2974911923420386786)


def vocabulary(rng: random.Random) -> list[str]:
    return [
        "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randrange(2, 9))) for _ in range(3_000)
    ]


def edited(rng: random.Random, said: list[str], pool: list[str], edits: int) -> list[str]:
    said = list(said)
    for _ in range(edits):
        place = rng.randrange(len(said))
        kind = rng.randrange(3)
        if kind == 0:
            said[place] = rng.choice(pool)
        elif kind == 1 and len(said) > 5:
            del said[place]
        else:
            said.insert(place, rng.choice(pool))
    return said


# --- the sketch


def test_a_sketch_is_four_numbers_that_fit_a_signed_column() -> None:
    bands = sketch(LONG)
    assert len(bands) == len(set(bands)) == 4
    assert all(0 <= band < 2**63 for band in bands)


def test_text_of_fewer_than_four_words_has_no_sketch() -> None:
    assert sketch("") == sketch("use postgres now") == sketch("🚀🚀 🚀") == ()
    assert len(sketch("use postgres right now")) == 4


def test_a_sketch_is_the_same_in_every_process() -> None:
    code = f"from minutebook.policy.similarity import sketch; print(sketch({LONG!r}))"
    for seed in ("1", "2"):
        answer = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        )
        assert answer.stdout.strip() == str(sketch(LONG))


def test_the_numbers_that_ledgers_hold_do_not_change() -> None:
    assert sketch(LONG)[:2] == FIRST_BANDS


def test_a_sketch_does_not_depend_on_case_width_or_punctuation() -> None:
    assert sketch(LONG) == sketch(LONG.upper().replace(",", " -- ") + "!!") == sketch(LONG.replace("o", "о"))


def test_texts_of_similarity_seven_tenths_share_a_band_almost_always() -> None:
    rng = random.Random(20)
    pool = vocabulary(rng)
    met = pairs = 0
    while pairs < 3_000:
        said = [rng.choice(pool) for _ in range(rng.choice([6, 10, 20, 40, 100]))]
        one, other = (
            " ".join(said),
            " ".join(edited(rng, said, pool, rng.randrange(1, max(2, len(said) // 5)))),
        )
        if 0.7 <= similarity(one, other) < 0.85:
            pairs += 1
            met += bool(set(sketch(one)) & set(sketch(other)))
    print(f"\nshared a band: {met} of {pairs}")
    assert met / pairs > 0.98


def test_strangers_seldom_share_a_band() -> None:
    rng = random.Random(21)
    pool = vocabulary(rng)
    texts = [" ".join(rng.choice(pool) for _ in range(30)) for _ in range(2_000)]
    met = sum(bool(set(sketch(a)) & set(sketch(b))) for a, b in zip(texts[::2], texts[1::2], strict=True))
    assert met <= 10


def test_texts_in_a_script_without_spaces_are_compared_by_pairs_of_characters() -> None:
    one, other = (
        "所有服务都通过账本写入数据库，因为去年两个存储不一致",
        "所有服务都通过账本写入数据库，因为去年两个存储有分歧",
    )
    assert set(sketch(one)) & set(sketch(other))
    assert similarity(one, other) > 0.6


# --- the measure


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        (LONG, LONG, 1.0, 1.0),
        (LONG, LONG.lower().replace(",", ""), 1.0, 1.0),
        (LONG, LONG.replace("last year", "last spring"), 0.7, 0.99),
        (LONG, "Tabs are four columns wide in all generated code.", 0.0, 0.1),
        ("", "", 1.0, 1.0),
        ("", "word", 0.0, 0.0),
        ("one two", "two one", 0.3, 0.6),
    ],
)
def test_similarity_counts_shared_words_and_neighbours(one: str, other: str, low: float, high: float) -> None:
    assert low <= similarity(one, other) <= high
    assert similarity(one, other) == similarity(other, one)


def test_containment_asks_how_much_of_the_first_is_in_the_second() -> None:
    assert containment("writes to Postgres through the ledger", LONG) == 1.0
    assert containment(LONG, "writes to Postgres through the ledger") < 0.5
    assert containment("nothing of this", LONG) < 0.2
    assert containment("", LONG) == 1.0


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_the_measures_stay_between_nought_and_one(one: str, other: str) -> None:
    assert 0.0 <= similarity(one, other) <= 1.0
    assert 0.0 <= containment(one, other) <= 1.0
    assert similarity(one, one) == containment(one, one) == 1.0
    assert not differs_in_substance(one, one)
    assert differs_in_substance(one, other) == differs_in_substance(other, one)


# --- the substance

DIFFERENT = [
    ("Always deploy on Fridays", "Never deploy on Fridays"),
    ("Deploy on Fridays", "Do not deploy on Fridays"),
    ("Deploy on Fridays", "Don't deploy on Fridays"),
    ("Deploy on Fridays", "Don’t deploy on Fridays"),
    ("Deploy on Fridays", "Deploy on Mondays"),
    ("Retry 3 times", "Retry 5 times"),
    ("Retry three times", "Retry five times"),
    ("Use Python 3.11", "Use Python 3.12"),
    ("Use version 1.10", "Use version 1.1"),
    ("Time out after 5 ms", "Time out after 5 s"),
    ("Alert when load > 80%", "Alert when load < 80%"),
    ("Offset is -1", "Offset is 1"),
    ("Allow anonymous reads", "Forbid anonymous reads"),
    ("Enable the cache in tests", "Disable the cache in tests"),
    ("Enable caching and disable tracing", "Disable caching and enable tracing"),
    ("Use global state in handlers", "Avoid global state in handlers"),
    ("Run lint before the tests", "Run lint after the tests"),
    ("Increase the pool size", "Decrease the pool size"),
    ("Clients must send a key", "Clients may send a key"),
    ("Clients must send a key", "Clients should send a key"),
    ("The header is required", "The header is optional"),
    ("Keep at least ten backups", "Keep at most ten backups"),
    ("Use Postgres, not MySQL", "Use MySQL, not Postgres"),
    ("Use Postgres instead of MySQL", "Use MySQL instead of Postgres"),
    ("Prefer rebase over merge", "Prefer merge over rebase"),
    ("Windows is supported", "Windows is unsupported"),
    ("Build with the cache", "Build without the cache"),
    ("Immer am Freitag ausliefern", "Nie am Freitag ausliefern"),
    ("Wir nutzen den Cache", "Wir nutzen keinen Cache"),
    ("Desplegar siempre los viernes", "Desplegar nunca los viernes"),
    ("Déployez le vendredi", "Ne déployez pas le vendredi"),
    ("周五可以部署", "周五不可以部署"),
    ("启用缓存", "禁用缓存"),
    ("重试三次", "重试五次"),
    ("金曜日にデプロイする", "金曜日にデプロイしない"),
    ("Мы деплоим в пятницу", "Мы не деплоим в пятницу"),
    ("✅ deploy on Fridays", "❌ deploy on Fridays"),
]

SAME = [
    ("Never deploy on Fridays", "never  DEPLOY on fridays!"),
    ("Never deploy on Fridays", "Do not deploy on Fridays"),
    ("Don't deploy on Fridays", "Do not deploy on Fridays"),
    ("We use Postgres for the ledger", "Postgres is used for the ledger"),
    ("Time out after 5 ms", "Time out after 5ms"),
    ("Keep 30 seconds of history", "Keep 30 sec of history"),
    ("Use Postgres instead of MySQL", "Use Postgres rather than MySQL"),
    ("Run lint before tests", "Lint is run before tests"),
    ("We must use Postgres", "Use Postgres"),
    ("Enable the cache and disable tracing", "Disable tracing and enable the cache"),
    ("所有服务写入账本", "全部服务写入账本"),
    (LONG, LONG.replace("Every service writes", "All services write")),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_disagree_are_never_called_the_same(one: str, other: str) -> None:
    assert differs_in_substance(one, other)
    assert differs_in_substance(f"{LONG} {one}", f"{LONG} {other}")


@pytest.mark.parametrize(("one", "other"), SAME)
def test_another_wording_of_the_same_claim_is_no_difference(one: str, other: str) -> None:
    assert not differs_in_substance(one, other)
    assert not differs_in_substance(other, one)


WORDS = st.lists(st.sampled_from([f"word{number}" for number in range(60)]), min_size=4, max_size=80)


@given(WORDS, st.data())
def test_what_is_nearly_the_same_is_so_at_a_glance(said: list[str], data: st.DataObject) -> None:
    other = list(said)
    for place in data.draw(st.lists(st.integers(0, len(said) - 1), max_size=len(said) // 8)):
        other[place] = data.draw(st.sampled_from(["alpha", "beta", "gamma", "delta"]))
    one, two = " ".join(said), " ".join(other)
    if similarity(one, two) >= 0.7:
        assert bits_shared(outline(one), outline(two)) >= 0.4


def test_strangers_are_known_at_a_glance() -> None:
    one = outline("The renderer writes every page twice to warm the cache of the proxy.")
    other = outline("Ana prefers short commit messages; the parser keeps nothing in memory.")
    assert bits_shared(one, other) < 0.4
    assert bits_shared(outline(""), outline("")) == 1.0
