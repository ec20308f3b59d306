"""What writes of one transaction look up once, and when they must look again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from minutebook.ledger import actors
from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Role
from tests.houses import House


def ripley(tx: Tx) -> Actor:
    found = tx.remember(("actor", "ripley"), lambda: actors.get(tx, "ripley"))
    assert found is not None
    return found


def test_a_row_is_looked_up_once_in_a_transaction(house: House) -> None:
    asked: list[int] = []

    def work(tx: Tx) -> None:
        for number in range(3):
            tx.remember(("actor", "ripley"), lambda number=number: asked.append(number))

    house.service.database.write(house.project, work)
    assert asked == [0]


def test_what_was_changed_is_looked_up_again(house: House) -> None:
    def work(tx: Tx) -> Role:
        actors.update(tx, replace(ripley(tx), role=Role.VIEWER))
        return ripley(tx).role

    assert house.service.database.write(house.project, work) is Role.VIEWER


def test_what_an_undone_write_changed_is_not_remembered_by_the_next_one_of_the_batch(house: House) -> None:
    database = house.service.database
    begun, go_on = threading.Event(), threading.Event()
    seen: list[Any] = []

    def first(_: Tx) -> None:
        begun.set()
        assert go_on.wait(20)

    def fails(tx: Tx) -> None:
        actors.update(tx, replace(ripley(tx), role=Role.OPERATOR))
        assert ripley(tx).role is Role.OPERATOR
        raise ValueError("undone")

    def looks(tx: Tx) -> None:
        seen.append(ripley(tx).role)

    def write(work: Callable[[Tx], None]) -> None:
        try:
            database.write(house.project, work)
        except ValueError as error:
            seen.append(str(error))

    threads = [threading.Thread(target=write, args=(first,))]
    threads[0].start()
    assert begun.wait(20)
    for number, work in enumerate((fails, looks), start=1):
        threads.append(threading.Thread(target=write, args=(work,)))
        threads[-1].start()
        while database.facts().writes_waiting < number:
            pass  # both must wait when the writer comes back, so that they share a transaction
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert sorted(map(str, seen)) == ["agent", "undone"]


def test_on_sqlite_the_next_transaction_remembers_what_the_committed_one_looked_up(
    house: House, engine: str
) -> None:
    asked: list[str] = []

    def work(tx: Tx) -> None:
        tx.remember(("actor", "nobody"), lambda: asked.append("asked"))

    for _ in range(3):
        house.service.database.write(house.project, work)
    assert len(asked) == (
        1 if engine == "sqlite" else 3
    )  # elsewhere another process may have written meanwhile


def test_a_transaction_that_was_undone_leaves_nothing_to_remember(house: House) -> None:
    def fails(tx: Tx) -> None:
        actors.update(tx, replace(ripley(tx), role=Role.OPERATOR))
        assert ripley(tx).role is Role.OPERATOR
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        house.service.database.write(house.project, fails)
    assert house.service.database.write(house.project, ripley).role is Role.AGENT


def test_a_savepoint_that_was_undone_leaves_nothing_to_remember(house: House) -> None:
    def work(tx: Tx) -> Role:
        with suppress(ValueError), tx.savepoint():
            actors.update(tx, replace(ripley(tx), role=Role.OPERATOR))
            assert ripley(tx).role is Role.OPERATOR
            raise ValueError("undone")
        return ripley(tx).role

    assert house.service.database.write(house.project, work) is Role.AGENT
