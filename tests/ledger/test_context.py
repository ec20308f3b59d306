"""One moment of a ledger, one bundle: on two databases, in two processes, and however it is read."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.context import ContextRequest
from minutebook.operations import context, decisions, memories, sessions
from minutebook.operations.context import compile_bundle
from minutebook.policy.limits import Limits
from tests import postgres
from tests.conftest import Clock
from tests.houses import House

SUBJECTS = ("login page", "proxy", "importer", "release", "schema", "token", "日本語の設定", "Grüße", "cache")


def words(seed: int) -> str:
    """Words that nobody else uses: nothing here may pass for a duplicate."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefghilmnoprstu", k=7)) for _ in range(12))


def busy(house: House) -> None:
    """A few hundred writes of several people about overlapping things, with changes among them."""
    people = ("ripley", "bishop", "ash", "mother", "dallas")
    for number in range(120):
        who = people[number % 5]
        subject, other = SUBJECTS[number % 9], SUBJECTS[(number * 7 + 3) % 9]
        kind = ("learning", "pattern", "update", "project", "episode", "artifact")[number % 6]
        getattr(house, who)(
            memories.write, type=kind, content=f"The {subject}, the {other}: {words(number)}.",
            slug=f"m{number}", importance=("low", "medium", "high")[number % 3],
            tag=["cross-team"] if number % 4 == 0 else [],
        )  # fmt: skip
        if number % 10 == 9:
            house.mother(
                memories.edit, ref=f"m{number - 2}", content=f"The {other} alone, {words(number + 500)}."
            )
        if number % 15 == 14:
            house.mother(memories.retire, ref=f"m{number - 6}", reason="over")
        if number % 24 == 0:
            house.dallas(
                decisions.write,
                type="scope",
                title=f"Rule {number}",
                content=f"About the {subject}: {words(number + 900)}.",
            )
        if number % 40 == 0:
            house.ripley(sessions.start, focus=f"The {subject}", summary=f"From {number}.")


def requests(house: House) -> list[ContextRequest]:
    last = house.rows("SELECT max(seq) AS seq FROM events")[0]["seq"]
    return [
        ContextRequest(house.project, agent, seq, task)
        for agent in ("ripley", "ash")
        for seq in (last // 3, 2 * last // 3, last)
        for task in ("", "fix the login page", "the importer and the proxy", "日本語の設定 cache")
    ]


def bundles(house: House) -> list[dict[str, Any]]:
    from minutebook.operations.plain import to_plain

    with house.service.database.read() as tx:
        return [to_plain(compile_bundle(tx, request, Limits())) for request in requests(house)]


def test_both_databases_compile_the_same_bytes_of_the_same_history(
    tmp_path: Path, cluster: postgres.Cluster
) -> None:
    name = cluster.fresh()
    answers = []
    for place, url in (("a", f"sqlite://{tmp_path}/a/ledger.db"), ("b", cluster.url(name))):
        house = House(url, tmp_path / place / "home", Clock())
        busy(house)
        house.restart()
        answers.append(bundles(house))
        house.close()
    cluster.drop(name)
    assert answers[0] == answers[1]
    assert len({json.dumps(bundle) for bundle in answers[0]}) == len(answers[0])


ELSEWHERE = """
import sys
from pathlib import Path
from tests.conftest import Clock
from tests.houses import House
from minutebook.operations import context
house = House(sys.argv[1], Path(sys.argv[2]), Clock())
hashes = [house.mother(context.context, agent="ripley", task="fix the login page", as_of=sys.argv[3]).hash
          for _ in range(int(sys.argv[4]))]
house.close()
print(*hashes)
"""


@pytest.mark.parametrize("times", [80, pytest.param(1_000, marks=pytest.mark.slow)])
def test_many_compilations_by_two_databases_and_two_processes_have_one_hash(
    tmp_path: Path, cluster: postgres.Cluster, times: int
) -> None:
    """Of a moment in the past, so that what changed since is put back each time."""
    name = cluster.fresh()
    hashes: list[str] = []
    for place, url in (("a", f"sqlite://{tmp_path}/a/ledger.db"), ("b", cluster.url(name))):
        house = House(url, tmp_path / place / "home", Clock())
        busy(house)
        seq = house.rows("SELECT max(seq) AS seq FROM events")[0]["seq"] - 40
        for _ in range(times // 4):
            found = house.mother(context.context, agent="ripley", task="fix the login page", as_of=str(seq))
            assert found is not None
            hashes.append(found.hash)
        house.close()
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, url, str(house.home), str(seq), str(times // 4)],
            cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=250, check=False,
            env={"PYTHONHASHSEED": "4711", "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        hashes += done.stdout.split()
    cluster.drop(name)
    assert len(hashes) == times
    assert len(set(hashes)) == 1


def test_an_imported_ledger_compiles_the_same_block(house: House, tmp_path: Path) -> None:
    """The shelves are derived: an archive does not hold them, and they stand again where it comes in."""
    from minutebook.operations import system
    from tests.lived_in import empty

    busy(house)
    house.mother(system.export, file=tmp_path / "all.zip")
    other = empty(f"sqlite://{tmp_path}/other/ledger.db", tmp_path / "other-home", Clock())
    other.as_("Mother", project="global")(system.import_, file=tmp_path / "all.zip")
    for task in ("", "fix the login page"):
        one = house.mother(context.context, agent="ripley", task=task)
        two = other.as_("Mother", project=house.project)(context.context, agent="ripley", task=task)
        assert one is not None
        assert two is not None
        assert (one.text, one.hash) == (two.text, two.hash)
    other.close()


def test_a_ledger_from_before_the_shelves_is_shelved_when_it_is_opened(house: House) -> None:
    busy(house)
    before = house.mother(context.context, agent="ripley", task="fix the login page")
    assert before is not None

    def as_it_was(tx: Any) -> None:
        tx.run("DELETE FROM shelves")
        tx.run(
            """INSERT INTO maintenance (id, kind, actor, detail, at)
               VALUES ('shelves', 'unshelved', 'minutebook', '{}', '1970-01-01T00:00:00.000000Z')"""
        )

    house.service.database.write("global", as_it_was)
    house.restart()
    after = house.mother(context.context, agent="ripley", task="fix the login page")
    assert after is not None
    assert after.hash == before.hash
    assert house.rows("SELECT id FROM maintenance WHERE id = 'shelves'") == []


def test_the_statements_use_their_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No layer walks through the memories: what is asked is found by an index, whatever else is there."""
    from minutebook.ledger.sqlite_tx import SqliteTx

    house = House(f"sqlite://{tmp_path}/ledger/ledger.db", tmp_path / "home", Clock())
    busy(house)
    asked: list[tuple[str, dict[str, Any]]] = []
    plain = SqliteTx.all

    def noted(tx: SqliteTx, sql: str, /, **params: Any) -> list[dict[str, Any]]:
        asked.append((sql, params))
        return plain(tx, sql, **params)

    monkeypatch.setattr(SqliteTx, "all", noted)
    house.mother(context.context, agent="ripley", task="fix the login page")
    now = len(asked)
    house.mother(context.context, agent="ripley", task="fix the login page", as_of="20")
    monkeypatch.undo()
    plans, past = (
        [row["detail"] for sql, params in some for row in house.rows(f"EXPLAIN QUERY PLAN {sql}", **params)]
        for some in (asked[:now], asked[now:])
    )
    house.close()
    assert now >= 6
    # Of what was written since, nothing is looked at on the shelves.
    shelves = [plan for plan in past if "shelves_by_layer" in plan or "VIRTUAL TABLE INDEX" in plan]
    assert len(shelves) > 10
    assert [plan for plan in shelves if not plan.endswith(("doc<?)", "<"))] == []
    walks = [
        plan for plan in plans if plan.startswith("SCAN") and "VIRTUAL TABLE" not in plan and " b" not in plan
    ]
    assert walks == []
    assert any("memories_boundaries" in plan for plan in plans)
    assert any("shelves_by_layer" in plan for plan in plans)
    assert any("VIRTUAL TABLE INDEX" in plan for plan in plans)
    assert not any("TEMP B-TREE" in plan for plan in plans)
