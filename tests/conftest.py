"""What every test may ask for: an engine, a fresh database of it, a clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minutebook.ledger.database import open_database
from minutebook.wiring import SCHEMA
from tests import postgres
from tests.houses import House

# A test owns its ledger itself. Those of the service say so, and end what they started.
os.environ["MINUTEBOOK_SERVICE"] = "never"

# The tests of what only PostgreSQL has go with it.
ONLY_POSTGRES = ["ledger/test_postgres.py", "ledger/test_followers.py", "architecture/test_schema.py"]
collect_ignore = ONLY_POSTGRES if postgres.OFF else []
ENGINES = ("sqlite",) if postgres.OFF else ("sqlite", "postgres")


#: What a workspace gets when it is bound; the checkout is none, and no test makes it one.
CHECKOUT = Path(__file__).resolve().parents[1]
BOUND = (".minutebook", ".squad", ".agentweaver")


@pytest.fixture(scope="session", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests work in a directory of nobody's: whatever writes where it stands does not write into the checkout."""
    before = [name for name in BOUND if (CHECKOUT / name).exists()]
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(here)
    assert [name for name in BOUND if (CHECKOUT / name).exists()] == before, "a test bound the checkout"


class Clock:
    """A clock that the test sets. It gives RFC 3339 UTC text, and never the same time twice."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)

    def __call__(self) -> str:
        self._now += timedelta(microseconds=1)
        return self._now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def advance(self, **span: float) -> None:
        """Let time pass: `clock.advance(days=3)`; backwards too, as real clocks do."""
        self._now += timedelta(**span)

    def set(self, text: str) -> None:
        """Make the next reading the one after `text`."""
        self._now = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each database in turn."""
    return request.param


@pytest.fixture(scope="session")
def cluster() -> Iterator[postgres.Cluster]:
    """The PostgreSQL server of this session, started when the first test asks for it."""
    try:
        running = postgres.Cluster()
    except postgres.CannotStart as error:
        pytest.fail(postgres.HOW_TO.format(why=error), pytrace=False)
    yield running
    running.stop()


@pytest.fixture
def database_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a fresh, empty ledger database of the engine."""
    if engine == "sqlite":
        yield f"sqlite://{tmp_path}/ledger/ledger.db"
        return
    cluster: postgres.Cluster = request.getfixturevalue("cluster")
    name = cluster.fresh()
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture
def ledger_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a ledger that is migrated and empty; PostgreSQL's is a copy of a template."""
    if engine == "sqlite":
        yield f"sqlite://{tmp_path}/ledger/ledger.db"
        return
    cluster: postgres.Cluster = request.getfixturevalue("cluster")
    name = cluster.fresh(cluster.template("ledger", _migrate))
    yield cluster.url(name)
    cluster.drop(name)


def _migrate(url: str) -> None:
    open_database(url, schema=SCHEMA, wait=10, clock=Clock()).close()


@pytest.fixture
def house(ledger_url: str, tmp_path: Path, clock: Clock) -> Iterator[House]:
    """A whole minutebook on a fresh ledger of the engine."""
    built = House(ledger_url, tmp_path / "home", clock)
    yield built
    built.close()
