"""A short life of a ledger, one acknowledged operation after the other, that can be taken up again.

Every operation has a world of its own: ids, secrets and times follow from its number. A retry after a crash
therefore makes the very rows that the first try would have made, and two ledgers can be compared row by row.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from minutebook.call import World
from minutebook.ledger.database import Database
from minutebook.model.actors import Actor, Origin
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import Ids
from minutebook.model.text import fold_name
from minutebook.operations import actors, decisions, inbox, memories, projects, runs, sessions, verdicts
from minutebook.operations.registry import REGISTRY, from_plain, to_plain
from minutebook.policy.limits import Limits
from minutebook.service import LocalClient, Service
from tests.houses import PEOPLE

_START = datetime(2026, 1, 1, tzinfo=UTC)


def opening_clock() -> str:
    """When the ledger is opened, always: what a restart does must not differ by its time."""
    return "2026-01-01T00:00:00.000000Z"


class Teller:
    """Asks one operation after the other, and hands on each answer, which is to be kept.

    What was answered before the crash is not asked again; what was not is, with the same key.
    """

    def __init__(
        self,
        database: Database,
        home: Path,
        known: list[Any],
        answered: Callable[[Any], None],
    ) -> None:
        self.database = database
        self.home = home
        self.known = known
        self.answered = answered
        self.project: str | None = None
        self.number = 0

    def ask(
        self,
        who: str,
        function: Any,
        /,
        *,
        refused: str | None = None,
        within: str | None = None,
        **arguments: Any,
    ) -> Any:
        """The answer, also to a retry; `refused` is the code of the error that is to come instead.

        `within` is the run that it belongs to.
        """
        self.number += 1
        operation = REGISTRY.of(function)
        if self.number <= len(self.known):
            plain = self.known[self.number - 1]
            return None if plain is None else from_plain(operation.returns, plain)
        service = Service(self.database, _world(self.number, self.home))
        actor = Actor(fold_name(who), who, PEOPLE[who])
        client = LocalClient(service, actor=actor, origin=Origin.PYTHON, project=self.project, run=within)
        answer = None
        try:
            answer = client.invoke(operation, arguments, key=f"story-{self.number}")
        except MinutebookError as error:
            if error.code != refused:
                raise
        self.answered(to_plain(answer))
        return answer


def _world(number: int, home: Path) -> World:
    chance = random.Random(number)
    ticks = itertools.count(1_767_225_600_000 + number * 10_000)
    readings = itertools.count()

    def clock() -> str:
        now = _START + timedelta(seconds=number, microseconds=next(readings))
        return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    return World(
        clock=clock,
        ids=Ids(lambda: next(ticks), chance.getrandbits),
        secret=lambda: f"{chance.getrandbits(256):064x}",
        limits=Limits(),
        home=home,
    )


def tell(teller: Teller) -> None:
    """Submit, collide, promote, reject, refuse, supersede, edit, revert, retire, restore, run, erase."""
    ask = teller.ask
    teller.project = ask("Mother", projects.create, name="Nostromo").id
    ask("Mother", actors.add, name="Ripley", role="agent")
    store = ask(
        "Ripley", inbox.submit, type="architectural", title="One store",
        content="All services keep their state in one PostgreSQL database.", slug="store", tag=["data"],
    )  # fmt: skip
    rival = ask(
        "Bishop", inbox.submit, type="architectural", title="Many stores", slug="store",
        content="Every service brings a document database of its own choice.",
    )  # fmt: skip
    ask(
        "Ripley", inbox.submit, type="architectural", title="One store", slug="store", tag=["data", "infra"],
        content="All services keep their state in one PostgreSQL 17 database.",
    )  # fmt: skip
    first = ask("Dallas", inbox.promote, ref=store.id, reason="measured")
    ask("Dallas", inbox.reject, ref=rival.id, reason="nobody can back that up")
    ask(
        "Bishop", inbox.submit, type="architectural", title="Once more", slug="again", refused="tombstoned",
        content="Every service brings a document database of its own choice.",
    )  # fmt: skip
    ask(
        "Mother", decisions.write, type="architectural", title="One store, replicated", slug="store",
        content="All services keep their state in one replicated PostgreSQL cluster.",
    )  # fmt: skip
    lesson = ask(
        "Bishop", memories.write, type="learning", title="Proxy limit", slug="proxy", tag=["infra"],
        content="The staging proxy drops every request body over one megabyte.",
    )  # fmt: skip
    edited = ask(
        "Bishop", memories.edit, ref=lesson.memory,
        content="The staging proxy drops every request body over two megabytes.",
    )  # fmt: skip
    ask("Dallas", verdicts.revert, id=edited.verdict, reason="one it was")
    pattern = ask(
        "Ash", inbox.submit, type="pattern", title="Retries", slug="retries",
        content="Wrap calls of the billing service into three retries with jitter.",
    )  # fmt: skip
    accepted = ask(
        "Dallas", inbox.promote, ref=pattern.id, content="Three retries with jitter, then give up."
    )
    ask("Dallas", verdicts.revert, id=accepted.verdict, reason="too early")
    ask("Ripley", sessions.start, focus="Harden the importer", issue=["12"])
    ask("Bishop", sessions.start, focus="Release")
    ask("Mother", memories.retire, ref=lesson.memory, reason="the proxy is gone")
    ask("Dallas", memories.restore, ref=lesson.memory, reason="it is not")
    ask("Dallas", decisions.archive, ref=first.memory, reason="history")
    private = ask(
        "Ripley", memories.write, type="learning", title="Customer", slug="customer-acme",
        content="The customer's phone number stands in the old ticket system.",
    )  # fmt: skip
    run = ask("Ripley", runs.start, task="look at the old ticket system").id
    ask(
        "Ripley", inbox.submit, within=run, type="learning", title="Tickets", slug="tickets", importance="high",
        content="The old ticket system answers only between eight and ten.",
    )  # fmt: skip
    ask(
        "Ripley", inbox.submit, within=run, type="scope", title="No tickets", slug="no-tickets",
        content="Nothing new is built on the old ticket system.",
    )  # fmt: skip
    ask("Ripley", runs.finish, ref=run, summary="Looked.", transcript="Ripley: it sleeps.")
    led = ask("Dallas", runs.start, task="lead").id
    ask("Dallas", runs.start, agent="Bishop", parent=led)
    ask(
        "Dallas", inbox.submit, within=led, type="scope", title="No faxes", slug="no-faxes",
        content="Nothing is sent by fax any more, whoever asks for it.",
    )  # fmt: skip
    ask("Dallas", runs.reload, ref=led)
    ask("Dallas", runs.finish, ref=led)
    # The one operation that takes no key: its retry is told that it is done.
    ask("Mother", memories.erase, ref=private.memory, reason="personal", refused="erased")
    ask("Ripley", inbox.submit, type="process", title="Two eyes", content="Two people look at every release.")
