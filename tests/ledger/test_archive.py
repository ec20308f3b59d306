"""Archives: the same bytes from the same content, and nothing bad comes in."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger import archive, archive_reading, backup, migrations
from minutebook.ledger.archive_reading import ArchiveLimits
from minutebook.model.errors import MinutebookError
from minutebook.model.system import Imported
from minutebook.operations import decisions, inbox, memories, projects, search, sessions, system
from tests import invariants, postgres
from tests.conftest import ENGINES, Clock, _migrate
from tests.houses import House
from tests.lived_in import EmptyHouse, canonical, empty, export, live_in

Build = Callable[[str], EmptyHouse]


@pytest.fixture
def build(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Build]:
    """Empty houses of a named engine."""
    built: list[EmptyHouse] = []

    def one(engine: str) -> EmptyHouse:
        number = len(built) + 1
        url = f"sqlite://{tmp_path}/empty-{number}/ledger.db"
        if engine == "postgres":
            cluster: postgres.Cluster = request.getfixturevalue("cluster")
            url = cluster.url(cluster.fresh(cluster.template("ledger", _migrate)))
        built.append(empty(url, tmp_path / f"empty-home-{number}", Clock(), seed=100 + number))
        return built[-1]

    yield one
    for house in built:
        house.close()


def take(house: House, file: Path, **how: Any) -> Imported:
    return house.mother(system.import_, file=file, **how)


# --- the same bytes ----------------------------------------------------------------------------------


def test_an_archive_that_went_through_every_database_is_byte_for_byte_the_same(
    house: House, build: Build, tmp_path: Path
) -> None:
    live_in(house)
    first = export(house, tmp_path / "first.zip")
    engines = ("sqlite",) if postgres.OFF else ("sqlite", "postgres", "sqlite")
    file = tmp_path / "first.zip"
    for number, engine in enumerate(engines):
        other = build(engine)
        take(other, file)
        file = tmp_path / f"again-{number}.zip"
        assert export(other, file) == first


def test_an_archive_has_every_table_and_column_of_the_schema_but_those_that_are_derived_or_local(
    house: House,
) -> None:
    derived = {
        "texts",
        "text_ranges",
        "spellings",
        "signals",
        "spaces",
        "vectors",
        "bands",
        "tags",
        "maintenance",
        "migrations",
        "tokens",
        "shelves",
    }
    # How far followers came and what lies in workspaces is of one machine.
    derived |= {"positions", "written_files", "renderings", "read_files", "looks"}
    engine = house.service.database.dialect.name
    listing = {
        "sqlite": """SELECT name FROM sqlite_schema
                      WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'fulltext%'
                        AND name NOT LIKE 'shelf_words%'""",
        "postgres": """SELECT table_name AS name FROM information_schema.tables
                        WHERE table_schema = current_schema()""",
    }[engine]
    tables = {row["name"] for row in house.rows(listing)}
    assert tables - derived == {table.name for table in archive.TABLES}
    with house.service.database.read() as tx:
        columns = {table.name: archive.columns_of(tx, table) for table in archive.TABLES}
    assert "claim" not in columns["memories"] + columns["proposals"]
    assert "state" in columns["revisions"]


def test_every_table_of_the_archive_was_lived_in(house: House, tmp_path: Path) -> None:
    live_in(house)
    house.mother.invoke(_operation("memories.tag"), {"ref": "ship", "tags": ["x"]}, key="a key")
    # What a provider is takes a package of somebody's; no archive has a row of it.
    assert {name for name, rows in canonical(house).items() if not rows} == {"providers"}


def _operation(name: str) -> Any:
    from minutebook.operations.registry import REGISTRY

    return REGISTRY.get(name)


def test_what_came_in_can_be_searched_judged_and_reverted_as_before(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    live_in(house)
    export(house, tmp_path / "a.zip")
    other = build(engine)
    take(other, tmp_path / "a.zip")
    other.project = house.project
    assert invariants.violations(invariants.state_of(other.service.database)) == []
    assert {hit.slug for hit in other.ripley(search.search, query="megabytes").hits} >= {"proxy"}
    assert other.dallas(memories.list_, tag=["cross-team"]).items
    # a tombstone under the other ledger's key holds here
    with pytest.raises(MinutebookError) as refused:
        other.ash(inbox.submit, type="scope", title="Mine only", content="ASH alone decides what is  built.")
    assert refused.value.code == "tombstoned"
    # the claim is hashed under this ledger's own key
    assert (
        other.ripley(
            memories.write, type="learning", content="The proxy drops bodies above two megabytes."
        ).op
        == "skip"
    )
    for before, after in (
        (house.ripley(memories.history, ref="proxy"), other.ripley(memories.history, ref="proxy")),
        (house.dallas(decisions.list_, status="all"), other.dallas(decisions.list_, status="all")),
        (house.dallas(sessions.list_), other.dallas(sessions.list_)),
    ):
        assert before == after


def test_the_log_goes_on_after_an_import_with_numbers_of_its_own(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    live_in(house)
    export(house, tmp_path / "a.zip")
    other = build(engine)
    take(other, tmp_path / "a.zip")
    top = other.rows("SELECT max(seq) AS top FROM events")[0]["top"]
    other.project = house.project
    done = other.ripley(memories.write, type="learning", content="A thing learnt after the import.")
    assert done.seq > top


def test_nothing_in_an_archive_tells_the_day_or_the_machine(good: Path) -> None:
    with zipfile.ZipFile(good) as file:
        entries = file.infolist()
    assert {(entry.date_time, entry.create_system, entry.external_attr) for entry in entries} == {
        ((1980, 1, 1, 0, 0, 0), 3, 0o600 << 16)
    }
    assert [entry.filename for entry in entries][-1] == "manifest.json"


def test_one_project_alone_comes_in_whole_and_gives_the_same_bytes_again(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    live_in(house)
    other_project = house.new_project("Sulaco")
    stranger = house.as_("dallas", project=other_project)
    stranger(memories.write, type="project", content="The Sulaco carries marines.", slug="marines")
    # a proposal of the project that became a global memory keeps its other half
    wide = house.ripley(
        inbox.submit, type="process", title="Everywhere", content="Times are UTC everywhere.", scope="global"
    )
    house.dallas(inbox.promote, ref=wide.slug)
    first = export(house, tmp_path / "one.zip", project="nostromo")
    assert b"marines" not in b"".join(_members(first).values())
    other = build(engine)
    take(other, tmp_path / "one.zip")
    other.project = house.project
    assert other.dallas(inbox.show, ref=wide.slug).proposal.memory is not None
    assert export(other, tmp_path / "two.zip", project="nostromo") == first


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


# --- the file ----------------------------------------------------------------------------------------


def test_an_existing_file_is_overwritten_only_when_told_so(house: House, tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    file.write_text("precious")
    with pytest.raises(MinutebookError) as refused:
        house.mother(system.export, file=file)
    assert refused.value.code == "exists"
    assert file.read_text() == "precious"
    house.mother(system.export, file=file, force=True)
    assert zipfile.is_zipfile(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_an_export_that_cannot_be_written_leaves_nothing(house: House, tmp_path: Path) -> None:
    with pytest.raises(MinutebookError) as refused:
        house.mother(system.export, file=tmp_path / "nowhere" / "a.zip")
    assert refused.value.code == "not_found"
    assert not (tmp_path / "nowhere").exists()


def test_rows_beyond_one_page_are_all_there_in_order(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(house)
    whole = export(house, tmp_path / "a.zip")
    monkeypatch.setattr(archive, "_ROWS_AT_ONCE", 2)
    assert export(house, tmp_path / "b.zip") == whole


# --- twice is once -----------------------------------------------------------------------------------


def test_an_import_into_the_ledger_it_came_from_changes_nothing(house: House, tmp_path: Path) -> None:
    live_in(house)
    first = export(house, tmp_path / "a.zip")
    before = canonical(house)
    done = take(house, tmp_path / "a.zip")
    assert (done.rows, done.conflicts, done.asides) == ({}, (), ())
    assert canonical(house) == before
    assert export(house, tmp_path / "b.zip") == first


def test_a_second_import_into_a_ledger_of_its_own_life_is_the_same_as_once(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    live_in(house)
    export(house, tmp_path / "a.zip")
    other = build(engine)
    mine = other.mother(projects.create, name="Nostromo").id  # the slug is taken, the project another
    other.as_("mother", project=mine)(memories.write, type="project", content="Here first.", slug="ship")
    first = take(other, tmp_path / "a.zip")
    assert first.rows["memories"] == len(canonical(house)["memories"])
    assert [aside.became for aside in first.asides if aside.table == "projects"] == ["nostromo-2"]
    before = canonical(other)
    again = take(other, tmp_path / "a.zip")
    assert (again.rows, again.conflicts, again.asides) == ({}, (), ())
    assert canonical(other) == before
    seqs = [row["seq"] for row in before["events"]]
    assert seqs == sorted(set(seqs))


def test_a_row_with_other_content_is_a_conflict_that_is_told_and_never_overwritten(
    house: House, tmp_path: Path
) -> None:
    live_in(house)
    export(house, tmp_path / "a.zip")
    house.ripley(memories.edit, ref="proxy", content="The proxy has no limit any more.")
    before = canonical(house)
    with pytest.raises(MinutebookError) as refused:
        take(house, tmp_path / "a.zip")
    assert refused.value.code == "exists"
    assert "memories" in refused.value.details["conflicts"][0]
    assert canonical(house) == before
    done = take(house, tmp_path / "a.zip", skip_conflicts=True)
    assert [clash.table for clash in done.conflicts] == ["memories"]
    assert "content" in done.conflicts[0].differs
    assert canonical(house) == before


def test_a_dry_run_says_what_would_happen_and_writes_nothing(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    live_in(house)
    first = export(house, tmp_path / "a.zip")
    other = build(engine)
    told = take(other, tmp_path / "a.zip", dry_run=True)
    assert not told.applied
    assert sum(map(len, canonical(other).values())) == 1  # the built-in project
    assert not other.rows("SELECT * FROM maintenance")
    done = take(other, tmp_path / "a.zip")
    assert (done.rows, done.known) == (told.rows, told.known)
    assert export(other, tmp_path / "b.zip") == first


# --- what is here stands -----------------------------------------------------------------------------


def test_an_active_memory_whose_name_is_taken_comes_in_archived(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    export(house, tmp_path / "people.zip")
    other = build(engine)
    take(other, tmp_path / "people.zip")
    other.project = house.project
    there = house.dallas(memories.write, type="project", content="The crew is seven.", slug="crew")
    here = other.dallas(memories.write, type="project", content="The crew is six.", slug="crew")
    export(house, tmp_path / "a.zip")
    done = take(other, tmp_path / "a.zip")
    assert [(aside.id, aside.became) for aside in done.asides] == [(there.memory, "archived")]
    assert other.dallas(memories.show, ref="crew").memory.id == here.memory
    assert other.dallas(memories.show, ref=str(there.memory)).memory.status == "archived"
    again = take(other, tmp_path / "a.zip")
    assert (again.rows, again.conflicts, again.asides) == ({}, (), ())


def test_a_claim_that_was_rejected_here_does_not_come_back_by_an_import(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    export(house, tmp_path / "people.zip")
    other = build(engine)
    take(other, tmp_path / "people.zip")
    other.project = house.project
    words = {"type": "process", "title": "No tests", "content": "Nobody writes tests on a Friday afternoon."}
    bad = other.ripley(inbox.submit, **words)
    other.dallas(inbox.reject, ref=bad.slug, reason="no")
    there = house.dallas(decisions.write, **words)
    export(house, tmp_path / "a.zip")
    done = take(other, tmp_path / "a.zip")
    assert [(aside.id, aside.became) for aside in done.asides] == [(there.memory, "retired")]
    assert not other.dallas(decisions.list_).items
    again = take(other, tmp_path / "a.zip")
    assert (again.rows, again.conflicts, again.asides) == ({}, (), ())


def test_an_open_session_comes_in_closed_where_another_is_open(
    house: House, build: Build, tmp_path: Path, engine: str
) -> None:
    export(house, tmp_path / "people.zip")
    other = build(engine)
    take(other, tmp_path / "people.zip")
    other.project = house.project
    house.dallas(sessions.start, focus="there", session="day")
    here = other.dallas(sessions.start, focus="here", session="day")
    export(house, tmp_path / "a.zip")
    take(other, tmp_path / "a.zip")
    assert other.dallas(sessions.current) == here
    assert {session.session for session in other.dallas(sessions.list_).items} == {"day", "day-2"}


# --- what is refused, before anything is written -----------------------------------------------------


def _rewritten(source: Path, target: Path, change: Callable[[dict[str, bytes]], None], **zip_: Any) -> Path:
    """The archive with other members, and a manifest that is right about them."""
    members = _members(source.read_bytes())
    change(members)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return target


def _edit_rows(
    name: str, change: Callable[[list[dict[str, Any]]], Any]
) -> Callable[[dict[str, bytes]], None]:
    """Change the rows of a table, and let the manifest say so: only what the rows say can be wrong then."""

    def work(members: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in members[f"{name}.jsonl"].splitlines()]
        change(rows)
        data = b"".join(
            json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for row in rows
        )
        manifest = json.loads(members["manifest.json"])
        manifest["tables"][name] |= {
            "rows": len(rows), "bytes": len(data), "sha256": sha256(data).hexdigest(),
            "columns": sorted(rows[0]) if rows else manifest["tables"][name]["columns"],
        }  # fmt: skip
        members[f"{name}.jsonl"] = data
        members["manifest.json"] = json.dumps(manifest).encode()

    return work


def _manifest(**changes: Any) -> Callable[[dict[str, bytes]], None]:
    def work(members: dict[str, bytes]) -> None:
        members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | changes).encode()

    return work


def _flip(members: dict[str, bytes]) -> None:
    members["memories.jsonl"] = members["memories.jsonl"].replace(b"Nostromo", b"Nostroma")


Spoil = Callable[[dict[str, bytes]], Any]


def _first_project(**values: Any) -> Spoil:
    return _edit_rows("projects", lambda rows: rows[0].update(values))


def _each_project(change: Callable[[dict[str, Any]], Any]) -> Spoil:
    return _edit_rows("projects", lambda rows: [change(row) for row in rows])


BAD: dict[str, tuple[Spoil, str]] = {
    "climbing path": (lambda m: m.update({"../evil.jsonl": b""}), "unknown member"),
    "absolute path": (lambda m: m.update({"/etc/passwd": b"x"}), "unknown member"),
    "unknown member": (lambda m: m.update({"notes.txt": b"x"}), "unknown member"),
    "changed bytes": (_flip, "not what the manifest says"),
    "missing member": (lambda m: m.pop("events.jsonl"), "members are not those"),
    "no manifest": (lambda m: m.pop("manifest.json"), "no manifest"),
    "foreign manifest": (_manifest(format="other"), "not one of ours"),
    "manifest that is no table": (lambda m: m.update({"manifest.json": b"[1]"}), "not one of ours"),
    "manifest without tables": (_manifest(tables={}), "missing or too many"),
    "unknown table": (lambda m: m.update({"manifest.json": _with_table(m, "spies")}), "unknown tables"),
    "unknown column": (_each_project(lambda row: row.update(x=1)), "unknown columns"),
    "missing column": (_each_project(lambda row: row.pop("name")), "lacks columns"),
    "rows of other columns": (_edit_rows("projects", lambda rows: rows[1].pop("name")), "other columns"),
    "the same row twice": (_edit_rows("projects", lambda rows: rows.append(rows[-1])), "not in order"),
    "rows out of order": (_edit_rows("projects", lambda rows: rows.reverse()), "not in order"),
    "a list for a value": (_first_project(name=["x"]), "not a plain value"),
    "a truth for a value": (_first_project(name=True), "not a plain value"),
    "a huge number": (_first_project(name=2**80), "not a plain value"),
    "a number that is none": (_first_project(name=float("nan")), "no value of a row"),
    "a NUL": (_first_project(name="a\0b"), "NUL"),
    "half a character": (_first_project(name="\ud800"), "broken"),
    "a state that is no state": (_edit_rows("revisions", lambda rows: rows[0].update(state="{}")), "broken"),
    "a trace that is no trace": (_edit_rows("verdicts", lambda rows: rows[0].update(trace="7")), "broken"),
    "events numbered by hand": (_edit_rows("events", lambda rows: rows[0].update(seq=9)), "not numbered"),
    "an unknown role": (_edit_rows("actors", lambda rows: rows[0].update(role="king")), "does not fit"),
    "an orphan": (_edit_rows("revisions", lambda rows: rows[-1].update(memory_id="7ZZZZ")), "does not fit"),
}


def _with_table(members: dict[str, bytes], name: str) -> bytes:
    manifest = json.loads(members["manifest.json"])
    manifest["tables"][name] = manifest["tables"]["actors"]
    return json.dumps(manifest).encode()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good archive of a small ledger; what is in it does not depend on the database."""
    folder = tmp_path_factory.mktemp("good")
    house = House(f"sqlite://{folder}/ledger.db", folder / "home", Clock())
    house.dallas(memories.write, type="project", content="The ship is called Nostromo.", slug="ship")
    export(house, folder / "good.zip")
    house.close()
    return folder / "good.zip"


#: Only the database itself can tell these.
ROWS_THAT_DO_NOT_FIT = ("an unknown role", "an orphan")


@pytest.mark.parametrize(
    ("case", "where"),
    [(case, "sqlite") for case in BAD] + [(case, ENGINES[-1]) for case in ROWS_THAT_DO_NOT_FIT],
)
def test_a_bad_archive_is_refused_and_nothing_is_written(
    good: Path, build: Build, tmp_path: Path, case: str, where: str
) -> None:
    change, said = BAD[case]
    bad = _rewritten(good, tmp_path / "bad.zip", change)
    other = build(where)
    with pytest.raises(MinutebookError, match=said) as refused:
        take(other, bad)
    assert refused.value.code == "bad_archive"
    assert sum(map(len, canonical(other).values())) == 1
    assert sorted(path.name for path in tmp_path.parent.glob("evil*")) == []


def test_an_archive_of_a_newer_minutebook_is_refused(good: Path, reader: House, tmp_path: Path) -> None:
    for number, change in enumerate((_manifest(schema=99), _manifest(version=2))):
        bad = _rewritten(good, tmp_path / f"bad-{number}.zip", change)
        with pytest.raises(MinutebookError) as refused:
            take(reader, bad)
        assert refused.value.code == "ledger_newer"


@pytest.fixture
def reader(build: Build) -> House:
    """Whoever reads archives, where the database makes no difference."""
    return build("sqlite")


def _read(file: Path, house: House, limits: ArchiveLimits | None = None) -> None:
    with house.service.database.read() as tx:
        known, schema = backup.columns_here(tx), migrations.version_of(tx)
    with archive_reading.opened(file, known, schema=schema, limits=limits):
        pass


@pytest.mark.parametrize(
    "limits", [{"member_bytes": 50}, {"total_bytes": 50}, {"line_bytes": 50}, {"manifest_bytes": 50}]
)
def test_an_archive_above_a_limit_is_refused(good: Path, reader: House, limits: dict[str, int]) -> None:
    _read(good, reader)
    with pytest.raises(MinutebookError) as refused:
        _read(good, reader, ArchiveLimits(**limits))
    assert refused.value.code == "bad_archive"
    assert refused.value.details["limit"] == 50


def test_an_archive_that_unpacks_to_far_more_than_it_is_is_refused(
    good: Path, reader: House, tmp_path: Path
) -> None:
    bomb = _rewritten(good, tmp_path / "bomb.zip", lambda m: m.update({"events.jsonl": b" " * 4_000_000}))
    with pytest.raises(MinutebookError, match="200 times"):
        take(reader, bomb)


def _with_entry(source: Path, target: Path, **fields: Any) -> Path:
    members = _members(source.read_bytes())
    with zipfile.ZipFile(target, "w") as file:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            for field, value in (fields if name == "actors.jsonl" else {}).items():
                setattr(entry, field, value)
            file.writestr(entry, data)
    return target


def test_links_and_members_that_are_there_twice_are_refused(
    good: Path, reader: House, tmp_path: Path
) -> None:
    link = _with_entry(good, tmp_path / "link.zip", external_attr=(stat.S_IFLNK | 0o777) << 16)
    with pytest.raises(MinutebookError, match="a link"):
        take(reader, link)
    twice = tmp_path / "twice.zip"
    twice.write_bytes(good.read_bytes())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(twice, "a") as file:
        file.writestr("actors.jsonl", b"")
    with pytest.raises(MinutebookError, match="twice"):
        take(reader, twice)


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_is_refused(reader: House, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(data)
    with pytest.raises(MinutebookError) as refused:
        take(reader, file)
    assert refused.value.code == "bad_archive"


def test_every_cut_of_an_archive_is_refused(good: Path, reader: House, tmp_path: Path) -> None:
    data = good.read_bytes()
    file = tmp_path / "cut.zip"
    for length in range(0, len(data), max(len(data) // 40, 1)):
        file.write_bytes(data[:length])
        with pytest.raises(MinutebookError) as refused:
            _read(file, reader)
        assert refused.value.code == "bad_archive"


def test_every_flipped_byte_is_refused_or_changes_nothing(good: Path, reader: House, tmp_path: Path) -> None:
    """A ZIP has bytes that mean nothing to a reader; whichever is flipped, no other content comes in."""
    data = good.read_bytes()
    content = _members(data)
    file = tmp_path / "flipped.zip"
    refused: set[str] = set()
    for place in range(0, len(data), max(len(data) // 300, 1)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            _read(file, reader)
        except MinutebookError as error:
            refused.add(error.code)
        else:
            assert _members(file.read_bytes()) == content
    assert refused <= {"bad_archive", "ledger_newer"}


def test_a_directory_and_a_missing_file_are_no_archives(reader: House, tmp_path: Path) -> None:
    with pytest.raises(MinutebookError, match="not a file"):
        take(reader, tmp_path)
    with pytest.raises(MinutebookError) as refused:
        take(reader, tmp_path / "nowhere.zip")
    assert refused.value.code == "not_found"
