"""A process that was started once and forks a fresh one for each run, so that a thousand kills take a minute.

It reads one JSON order a line and answers each with the fate of the child. The children open the ledger, and
nobody else in this process ever does.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg

from minutebook.ledger.database import Database, open_database
from minutebook.ledger.sqlite_tx import SqliteSession
from minutebook.wiring import SCHEMA
from tests.crash import adopting, consolidating, pipeline, story
from tests.invariants import state_of, violations

Order = dict[str, Any]


class Steps:
    """Counts what the process does to the database, and ends it at the step that was asked for."""

    def __init__(self, kill_at: int | None, *, only_commits: bool = False) -> None:
        self.kill_at = kill_at
        self.names: list[str] = []
        self.resting = False
        self.only_commits = only_commits
        self._lock = threading.Lock()

    def reached(self, name: str) -> None:
        with self._lock:
            if self.resting or (self.only_commits and "COMMIT" not in name):
                return
            self.names.append(" ".join(name.split())[:100])
            if len(self.names) == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Every statement of either database, and the moment after each commit."""
        apsw.connection_hooks.append(
            lambda connection: connection.set_exec_trace(lambda _cursor, sql, _bindings: self._seen(sql))
        )
        commit = SqliteSession.commit

        def committed(session: SqliteSession) -> None:
            commit(session)
            self.reached("after COMMIT")

        SqliteSession.commit = committed  # type: ignore[method-assign]
        execute = psycopg.Cursor.execute

        def executed(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
            text = query.decode() if isinstance(query, bytes) else str(query)
            self.reached(text)
            answer = execute(cursor, query, *args, **options)
            if text == "COMMIT":
                self.reached("after COMMIT")
            return answer

        psycopg.Cursor.execute = executed  # type: ignore[method-assign]

    def _seen(self, sql: str) -> bool:
        self.reached(sql)
        return True


def opened(order: Order) -> Database:
    schema = Path(order.get("schema") or SCHEMA)
    clock: Callable[[], str] = (lambda: order["clock"]) if "clock" in order else story.opening_clock
    return open_database(order["url"], schema=schema, wait=20, clock=clock)


def tell(order: Order) -> dict[str, Any]:
    """Tell the story from its start, and die on the way if so ordered."""
    steps = Steps(order.get("kill_at"))
    steps.watch()
    if "kill_at_call" in order:
        # The shim in tests/crash/file_calls.c, which was loaded before everything else.
        root = os.fsencode(order["root"])
        ctypes.CDLL(None).minutebook_arm(root, ctypes.c_long(order["kill_at_call"]), bool(order.get("torn")))
    acks = os.open(order["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    states: list[Any] = []
    database = opened(order)

    def keep() -> None:
        if order.get("states"):
            steps.resting = True
            states.append(state_of(database))
            steps.resting = False

    def answered(answer: Any) -> None:
        os.write(acks, (json.dumps(answer) + "\n").encode())
        keep()

    keep()
    story.tell(story.Teller(database, Path(order["home"]), [], answered))
    database.close()
    calls = ctypes.CDLL(None).minutebook_calls() if "kill_at_call" in order else 0
    return {"steps": steps.names, "states": states, "calls": calls}


def found_in(database: Database) -> dict[str, Any]:
    state = state_of(database)
    sound = "ok"
    if database.dialect.name == "sqlite":
        with database.read() as tx:
            # FTS5 checks an index as this connection saw it last, and calls newer pages damaged; a query
            # makes it look again.
            for index in ("fulltext", "shelf_words"):
                tx.all(f"SELECT rowid FROM {index} WHERE {index} MATCH 'nothing'")
            row = tx.one("PRAGMA integrity_check")
            sound = "nothing" if row is None else str(next(iter(row.values())))
    return {
        "state": state,
        "violations": violations(state),
        "sound": sound,
        "version": database.facts().schema_version,
    }


def look(order: Order) -> dict[str, Any]:
    """Open the ledger as a restart does, and say what is in it."""
    with opened(order) as database:
        return found_in(database)


def resume(order: Order) -> dict[str, Any]:
    """Restart after a crash: say what is there, tell the story to its end, and look again."""
    with opened(order) as database:
        left = found_in(database)
        story.tell(story.Teller(database, Path(order["home"]), order["known"], lambda answer: None))
        return {"left": left, "after": found_in(database)}


def migrate(order: Order) -> dict[str, Any]:
    """Only open it, with whatever schema directory was given."""
    steps = Steps(order.get("kill_at"))
    steps.watch()
    opened(order).close()
    return {"steps": steps.names}


def crowd(order: Order) -> dict[str, Any]:
    """Several threads write at once, so that one commit carries many writes."""
    steps = Steps(order.get("kill_at"), only_commits=True)
    steps.watch()
    acks = os.open(order["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    database = opened(order)
    started = threading.Barrier(order["threads"])

    def write(name: str) -> None:
        started.wait()
        for round in range(order["rounds"]):
            key = f"{name}-{round}"
            database.write(
                "global",
                lambda tx, key=key: tx.run(
                    "INSERT INTO maintenance (id, kind, actor, detail, at) VALUES (:id, 'n', 'x', 'x', 'x')",
                    id=key,
                ),
            )
            os.write(acks, f"{key}\n".encode())

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(order["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    return {"steps": steps.names}


def capture(order: Order) -> dict[str, Any]:
    """Capture and extract, and die on the way if so ordered."""
    return pipeline.go_on(order, Steps(order.get("kill_at")))


def adopt(order: Order) -> dict[str, Any]:
    """Adopt a repository, and die on the way if so ordered."""
    steps = Steps(order.get("kill_at"))
    steps.resting = True
    steps.watch()

    def ready() -> None:
        steps.resting = False

    found = adopting.adopt(
        Path(order["home"]), Path(order["repository"]), activate=order["activate"], ready=ready
    )
    return {"steps": steps.names, **found}


def consolidate(order: Order) -> dict[str, Any]:
    """Consolidate a project and take what that suggests, and die on the way if so ordered."""
    steps = Steps(order.get("kill_at"))
    steps.resting = True
    steps.watch()

    def ready() -> None:
        steps.resting = False

    return {**consolidating.consolidate(Path(order["home"]), ready), "steps": steps.names}


DEEDS: dict[str, Callable[[Order], dict[str, Any]]] = {
    "tell": tell, "resume": resume, "look": look, "migrate": migrate, "crowd": crowd, "adopt": adopt, "capture": capture,
    "begin": pipeline.begin, "consolidate": consolidate,
}  # fmt: skip


def fate(order: Order) -> dict[str, Any]:
    """Fork, let the child do it, and say how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Path(order["out"]).write_text(json.dumps(DEEDS[order["do"]](order)))
            code = 0
        except BaseException:  # noqa: BLE001 - told to the test, which fails with it
            Path(order["out"]).with_suffix(".error").write_text(traceback.format_exc())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return {"killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, "code": status}


def main() -> None:
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(fate(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
