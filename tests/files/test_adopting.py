"""Looking through a repository for what can be adopted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from minutebook.files import workspace
from minutebook.files.adopting import survey
from minutebook.files.lines import digest_of, lines_of
from minutebook.model.adoption import Form, Ground, Piece, Sheet, Survey
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type
from tests.files.adoptable import adrs, others, squad, write

PROJECT = "01K9ZZZZZZZZZZZZZZZZZZZZZZ"
TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def look(place: Path, form: Form | None = None) -> Survey:
    return survey(Ground(place, (), PROJECT, anywhere=True, form=form))


def sheets(found: Survey) -> dict[str, Sheet]:
    return {sheet.path: sheet for sheet in found.sheets}


def piece(found: Survey, title: str) -> Piece:
    (one,) = [piece for sheet in found.sheets for piece in sheet.pieces if piece.title == title]
    return one


def bound(root: Path, project: str = PROJECT) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    workspace.create(root, project=project, name="Nostromo", created_at="2026-01-01T00:00:00Z")
    return root


def test_every_form_is_found_and_what_is_nobodys_memory_is_not(tmp_path: Path) -> None:
    found = look(others(adrs(squad(squad(tmp_path), ".ai-team"))))
    forms = {path: sheet.form.value for path, sheet in sheets(found).items()}
    assert {path: form for path, form in forms.items() if "squad" not in path and "ai-team" not in path} == {
        "CLAUDE.md": "instructions",
        "packages/web/AGENTS.md": "instructions",
        ".agh/memory/user_style.md": "agh",
        ".agh/agents/ash/memory/feedback_logs.md": "agh",
        "notes/coffee.md": "basic-memory",
        "memory.jsonl": "knowledge-graph",
        "docs/adr/0001-use-mysql.md": "adr",
        "docs/adr/0002-use-postgresql.md": "adr",
        "docs/adr/0003-graphql.md": "adr",
        "docs/adr/0004-events.md": "adr",
    }
    assert {form for path, form in forms.items() if path.startswith(".squad/")} == {"squad"}
    assert len([path for path in forms if path.startswith(".ai-team/")]) == 10
    assert [left.path for left in found.left_out] == [".ai-team/templates", ".squad/templates"]


def test_every_file_is_there_byte_for_byte_and_every_entry_has_the_hash_of_its_lines(tmp_path: Path) -> None:
    root = others(adrs(squad(tmp_path)))
    found = look(root)
    assert found.sheets
    for sheet in found.sheets:
        data = (root / sheet.path).read_bytes()
        assert sheet.data == data
        assert sheet.digest == hashlib.sha256(data).hexdigest()
        for one in sheet.pieces:
            assert one.digest == digest_of(lines_of(data)[one.first - 1 : one.last])


def test_a_ledger_a_history_and_a_drop_box_say_who_when_and_what(tmp_path: Path) -> None:
    found = look(squad(tmp_path))
    use = piece(found, "Use PostgreSQL for the ledger")
    assert (use.authors, use.date, use.rationale) == (
        ("Ripley",),
        "2026-02-14T00:00:00Z",
        "Many machines write to it.",
    )
    assert use.accepted
    assert not use.archived
    assert piece(found, "Tabs").archived
    dropped = piece(found, "Retry three times")
    assert (dropped.accepted, dropped.slug, dropped.authors) == (False, "ash-retry-three-times", ("Ash",))
    learned = [
        one for one in sheets(found)[".squad/agents/ripley/history.md"].pieces if one.type is Type.LEARNING
    ]
    assert [(one.agent, one.accepted) for one in learned] == [("ripley", True)] * 2
    assert sheets(found)[".squad/team.md"].dialect == "raw"
    assert sheets(found)[".squad/decisions.md"].loose == 1


def test_an_entry_knows_which_one_it_replaces_wherever_that_stands(tmp_path: Path) -> None:
    found = look(adrs(squad(tmp_path)))
    newer, older = piece(found, "Keep SQLite for one machine"), piece(found, "Never use SQLite")
    assert newer.replaces == (".squad/decisions.md", older.first)
    assert older.outlived
    mysql, postgres = piece(found, "Use MySQL"), piece(found, "Use PostgreSQL")
    assert postgres.replaces == ("docs/adr/0001-use-mysql.md", 1)
    assert (mysql.outlived, mysql.accepted, postgres.accepted) == (True, True, True)
    rejected, proposed = piece(found, "GraphQL everywhere"), piece(found, "An event bus")
    assert (rejected.accepted, rejected.withheld) == (False, "it says that it does not hold any more")
    assert (proposed.accepted, proposed.withheld) == (False, "")


def test_a_record_says_in_its_status_what_it_replaces_and_what_came_after(tmp_path: Path) -> None:
    body = "# {0}. {1}\n\nDate: 2025-09-01\n\n## Status\n\nAccepted\n\n{2}\n\n## Decision\n\nSo be it: {1}.\n"
    write(
        tmp_path,
        {
            "adr/0001-rest.md": body.format(1, "Plain REST", "Amended by nobody"),
            "adr/0002-rpc.md": body.format(2, "Remote calls", "Supersedes [1. Plain REST](0001-rest.md)"),
            "adr/0003-soap.md": body.format(3, "SOAP", "Superseded by [9. Not here](0009-not-here.md)"),
        },
    )
    found = look(tmp_path)
    rest, rpc, soap = (piece(found, title) for title in ("Plain REST", "Remote calls", "SOAP"))
    assert (rpc.replaces, rest.outlived) == (("adr/0001-rest.md", 1), True)
    assert (soap.accepted, soap.withheld) == (False, "it says that it does not hold any more")


def test_two_records_that_replace_each_other_are_not_believed(tmp_path: Path) -> None:
    body = "# {0}. Record {0}\n\nDate: 2025-01-01\n\n## Status\n\nSuperseded by ADR-{1}\n\n## Decision\n\nNumber {0}.\n"
    write(tmp_path, {"adr/0001-a.md": body.format(1, 2), "adr/0002-b.md": body.format(2, 1)})
    found = look(tmp_path)
    assert [one.replaces for sheet in found.sheets for one in sheet.pieces] == [None, None]


def test_what_programs_keep_beside_notes_is_kept_and_holds_no_entry(tmp_path: Path) -> None:
    found = look(write(tmp_path, {".agh/memory/_system/dreaming/run.md": "# Run\n\nAlways dream.\n"}))
    assert [(sheet.dialect, sheet.pieces) for sheet in found.sheets] == [("raw", ())]


def test_lines_with_a_credential_are_blanked_and_their_entry_is_withheld(tmp_path: Path) -> None:
    text = (
        "# Decisions\n\n### 2026-02-14: Use the API\r\n**By:** Ash\r\n**What:** Send it with "
        f"{TOKEN} as the token.\r\n\n### 2026-02-15: Cache\n**By:** Ash\n**What:** Keep answers for an hour.\n"
    )
    found = look(write(tmp_path, {".squad/decisions.md": text}))
    (sheet,) = found.sheets
    assert TOKEN.encode() not in sheet.data
    assert sheet.data.count(b"\n") == text.count("\n")
    assert [(mark.line, mark.what) for mark in sheet.secrets] == [(5, "github_token")]
    assert sheet.digest == hashlib.sha256(text.encode()).hexdigest()
    assert piece(found, "Use the API").withheld == "it holds what looks like a credential"
    assert piece(found, "Cache").withheld == ""
    assert TOKEN not in repr(found)


def test_what_is_not_text_is_kept_whole_and_told(tmp_path: Path) -> None:
    write(tmp_path, {".squad/decisions.md": b"# A\n\xff\xfe\n", ".squad/casting/x.bin": b"\0\1\2\xff"})
    found = sheets(look(tmp_path))
    assert found[".squad/decisions.md"].data == b"# A\n\xff\xfe\n"
    assert [mark.line for mark in found[".squad/decisions.md"].doubts] == [2]
    assert found[".squad/casting/x.bin"].data == b"\0\1\2\xff"


def test_a_binary_file_with_a_credential_is_not_kept_at_all(tmp_path: Path) -> None:
    found = look(write(tmp_path, {".squad/dump.bin": b"\xff" + TOKEN.encode() + b"\n"}))
    assert found.sheets == ()
    assert [left.path for left in found.left_out] == [".squad/dump.bin"]


def test_links_are_listed_and_never_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere", {"secret.md": "# Mine\n"})
    root = squad(tmp_path / "repo")
    os.symlink(outside / "secret.md", root / ".squad" / "decisions" / "inbox" / "x.md")
    os.symlink(outside, root / ".squad" / "agents" / "eve")
    os.link(outside / "secret.md", root / ".squad" / "shared.md")
    found = look(root)
    assert {left.path for left in found.left_out} >= {
        ".squad/decisions/inbox/x.md",
        ".squad/agents/eve",
        ".squad/shared.md",
    }
    assert not any(b"Mine" in sheet.data for sheet in found.sheets)


def test_a_folder_that_is_named_with_its_form_is_read_as_that_whatever_its_names_are(tmp_path: Path) -> None:
    write(tmp_path, {"records/one.md": "# One way\n\n## Status\n\nAccepted\n\n## Decision\n\nGo one way.\n"})
    assert look(tmp_path).sheets == ()
    (sheet,) = look(tmp_path / "records", Form.ADR).sheets
    assert (sheet.form, sheet.dialect) == (Form.ADR, "adr")
    (graph,) = look(
        write(
            tmp_path / "g",
            {"store.json": '{"type":"entity","name":"A","entityType":"x","observations":["b"]}\n'},
        ),
        Form.KNOWLEDGE_GRAPH,
    ).sheets
    assert [one.text for one in graph.pieces] == ["b"]


def test_a_form_leaves_the_others_out(tmp_path: Path) -> None:
    found = look(others(adrs(squad(tmp_path))), Form.INSTRUCTIONS)
    assert [sheet.path for sheet in found.sheets] == ["CLAUDE.md", "packages/web/AGENTS.md"]


def test_one_file_can_be_named(tmp_path: Path) -> None:
    root = squad(tmp_path)
    (sheet,) = look(root / ".squad" / "decisions.md", None).sheets
    assert sheet.pieces
    (whole,) = {look(root / ".squad").root}
    assert whole == str(root)


def test_only_workspaces_of_the_project_are_read_for_who_may_not_name_any_place(tmp_path: Path) -> None:
    mine, other = (
        bound(squad(tmp_path / "mine")),
        bound(squad(tmp_path / "other"), "01K9YYYYYYYYYYYYYYYYYYYYYY"),
    )

    def ask(place: Path | None, *roots: Path) -> Survey:
        return survey(Ground(place, roots, PROJECT, anywhere=False))

    assert ask(mine, mine).inside
    assert ask(None, other, mine).root == str(mine)
    assert [sheet.path for sheet in ask(mine / ".squad" / "decisions.md", mine).sheets] == [
        ".squad/decisions.md"
    ]
    for place, roots in ((other, (other,)), (tmp_path, (mine,)), (mine / ".." / "other", (mine,))):
        with pytest.raises(MinutebookError) as told:
            ask(place, *roots)
        assert told.value.code == "not_allowed"
    with pytest.raises(MinutebookError) as told:
        ask(None, other)
    assert told.value.code == "not_found"
    os.symlink(other, mine / "way-out")
    with pytest.raises(MinutebookError) as told:
        ask(mine / "way-out" / ".squad", mine)
    assert told.value.code == "unsafe_file"
