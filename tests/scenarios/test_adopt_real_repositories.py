"""Seeds 000 and 003: real repositories are adopted whole: no byte is lost, every entry is traceable, twice is once.

They are not ours to ship. MINUTEBOOK_SQUAD_SAMPLES names the folder; `../shared/data/squad_samples` is the default.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook import settings
from minutebook.files import workspace
from minutebook.files.adopting import survey
from minutebook.files.lines import digest_of, lines_of, sha256_of
from minutebook.ledger import inbox, sources
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.adoption import Adopted, Ground
from minutebook.operations import adopt, adoptions, files, memories, projects
from minutebook.service import LocalClient
from minutebook.wiring import open_service
from tests.files.test_squad_samples import KNOWN, LEDGERS, SAMPLES
from tests.invariants import State, difference, state_of, violations

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"no samples of real repositories at {SAMPLES.name}"
)
REPOSITORIES = sorted(path.name for path in SAMPLES.iterdir()) if SAMPLES.is_dir() else []
#: Those of the short run, where the mirror is laid over them.
SHORT = ("csharpfritz__SquadUI", "spboyer__sensei")
MOTHER = Actor("mother", "Mother", Role.OPERATOR)


@pytest.fixture
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / request.param, tmp_path / "repository"))


@pytest.fixture
def mother(repository: Path, tmp_path: Path) -> Iterator[LocalClient]:
    """An operator who sits in the repository."""
    service = open_service(settings.load({}, home=tmp_path / "home"))
    client = LocalClient(service, actor=MOTHER, origin=Origin.CLI, project=None, workspace=repository)
    made = client(projects.create, name="Nostromo")
    client.project = made.id
    workspace.create(repository, project=made.id, name="Nostromo", created_at="2026-01-01T00:00:00Z")
    client(projects.see, path=str(repository), host=socket.gethostname())
    yield client
    service.close()


def originals(repository: Path) -> dict[str, bytes]:
    """Every file of a team's folder, as it was."""
    return {
        file.relative_to(repository).as_posix(): file.read_bytes()
        for file in sorted(repository.rglob("*"))
        if file.is_file() and {".squad", ".ai-team"} & set(file.relative_to(repository).parts)
    }


def state(client: LocalClient) -> State:
    return state_of(client.service.database)


@pytest.mark.parametrize("repository", REPOSITORIES, indirect=True)
def test_a_real_repository_is_adopted_whole_and_only_once(
    repository: Path, mother: LocalClient, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    before = originals(repository)
    done = mother(adopt.adopt, confirm=True, pieces=True)
    with capsys.disabled():
        print(f"\n{request.node.callspec.id}: {row(done)}")
    assert done.becomes.get("refused", 0) == 0
    # No byte is lost: the sources rebuild every file, and the files stand as they did.
    shown = mother(adoptions.show, id=str(done.id), limit=1000)
    with mother.service.database.read() as tx:
        assert {file.path: sources.read(tx, file.source) for file in shown.files} == before
        for entry in shown.entries:
            proposal = inbox.get(tx, entry.id)
            assert proposal is not None
            assert proposal.source is not None
            (piece,) = proposal.evidence
            first, _, last = (piece.span or "").partition("-")
            data = lines_of(sources.read(tx, proposal.source) or b"")
            assert digest_of(data[int(first) - 1 : int(last or first)]) == piece.digest
    assert originals(repository) == before
    # The second time adds nothing at all.
    once = state(mother)
    again = mother(adopt.adopt, confirm=True)
    assert set(again.becomes) <= {"known", "kept"}
    assert difference(once, state(mother)) == []
    assert violations(once) == []


@pytest.mark.parametrize("repository", REPOSITORIES, indirect=True)
def test_author_and_date_are_found_as_often_as_by_the_best_rule_known(
    repository: Path, request: pytest.FixtureRequest
) -> None:
    found = survey(Ground(repository, (), "", anywhere=True))
    signed = dated = 0
    for sheet in found.sheets:
        for piece in sheet.pieces if LEDGERS.search(f"/{sheet.path}") else ():
            signed += bool(piece.authors) * (1 + len(piece.repeated))
            dated += bool(piece.date) * (1 + len(piece.repeated))
    _, authors, dates = KNOWN.get(request.node.callspec.id, (0, 0, 0))
    assert signed >= authors
    assert dated >= dates


@pytest.mark.parametrize(
    "repository",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in REPOSITORIES],
    indirect=True,
)
def test_the_mirror_takes_nothing_of_an_adopted_repository_that_is_not_kept(
    repository: Path, mother: LocalClient
) -> None:
    before = originals(repository)
    mother(adopt.adopt, confirm=True, activate=True)
    proposed = len(state(mother)["proposals"])
    mother(files.sync)
    after = originals(repository)
    with mother.service.database.read() as tx:
        kept = {one["digest"] for one in tx.all("SELECT digest FROM sources")}
    for path, data in before.items():
        assert after.get(path) == data or sha256_of(data) in kept, path
    # What stands in a ledger that others wrote stays as they wrote it, until somebody says otherwise.
    ledgers = [path for path in before if path.endswith(("/decisions.md", "/history.md"))]
    assert {path: after[path] for path in ledgers} == {path: before[path] for path in ledgers}
    mother(adopt.adopt, confirm=True, activate=True)
    assert len(state(mother)["proposals"]) == proposed
    checked = mother(memories.verify, limit=1000).items
    cited = [one for one in checked if one.evidence.startswith("file:")]
    assert cited
    assert {one.state for one in cited} == {"fresh"}


def row(done: Adopted) -> str:
    lines = [line for line in done.files if LEDGERS.search(f"/{line.path}")]
    return (
        f"{len(done.files)} files, {done.entries} entries, {done.becomes}; of the ledgers' {sum(x.entries for x in lines)} "
        f"{sum(x.authors for x in lines)} with author, {sum(x.dates for x in lines)} with date; "
        f"{sum(x.guessed for x in done.files)} types guessed, {sum(x.loose_lines for x in done.files)} loose lines, "
        f"{done.uncertain_count} uncertain, {len(done.secrets)} lines withheld"
    )
