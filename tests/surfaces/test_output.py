"""What an answer looks like: JSON that is safe to print, tables that fit, words that cannot deceive."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sample_house
from hypothesis import given
from hypothesis import strategies as st

import minutebook.model
import minutebook.surfaces
from minutebook.model.audit import Audit, AuditLine
from minutebook.model.captures import Stage
from minutebook.model.context import Bundle, BundleDifference
from minutebook.model.errors import MinutebookError
from minutebook.model.inbox import Digest, ProposalLine, ProposalStatus, Rejection, Risk, Submission, Would
from minutebook.model.memories import Difference, Type
from minutebook.model.paging import Page
from minutebook.model.projects import Project, ProjectView
from minutebook.model.runs import Run, RunStatus, RunView, Snapshot
from minutebook.model.search import Found, Hit, Layer, State
from minutebook.model.verdicts import Blocked, Op, Outcome, Reverted
from minutebook.surfaces.cli import output, tables
from minutebook.surfaces.cli.output import Screen
from minutebook.surfaces.cli.program import run

HERE = Path(__file__).parent
Printed = Callable[..., str]


def printed(value: Any, form: str = "human", *, width: int = 100, quiet: bool = False) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    output.show(
        value, None, form, quiet, "minutebook inbox list", Screen(out, err, width, False, False, False)
    )
    return out.getvalue(), err.getvalue()


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Printed:
    def type_(*words: str, **environment: str) -> str:
        run(sample_house.program(), words, environment)
        return capsys.readouterr().out

    return type_


# JSON


def test_json_is_one_indented_document_that_leaves_nothing_out(say: Printed) -> None:
    text = say("inbox", "list", "--limit", "1", "-o", "json")
    assert text.startswith('{\n  "items": [\n    {\n      "slug": "use-postgres-1"')
    assert text.endswith('\n  "next": "c3"\n}\n')


def test_json_lines_are_one_compact_line_per_item_and_the_cursor_goes_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(sample_house.program(), ["inbox", "list", "--limit", "2", "-o", "jsonl"], {})
    captured = capsys.readouterr()
    assert [json.loads(line)["slug"] for line in captured.out.splitlines()] == [
        "use-postgres-1",
        "use-postgres-2",
    ]
    assert json.loads(captured.err) == {"next": "c3"}
    run(sample_house.program(), ["inbox", "list", "--limit", "2", "-o", "jsonl", "-q"], {})
    assert capsys.readouterr().err == ""
    assert printed(Page(()), "jsonl") == ("", "")
    assert printed({"a": None}, "jsonl") == ('{"a":null}\n', "")


@given(st.text(alphabet=st.characters()))
def test_json_holds_no_character_that_steers_or_hides_and_means_the_same(text: str) -> None:
    for written in (output.document(text), output.line(text), output.line(text, unicode=False)):
        assert json.loads(written) == text
        hidden = "\x1b\x7f\x85\x9b\u2028\u2029\u202e\u2066\u200b\ufeff\U000e0041"
        assert not set(written) & set(hidden)
        written.encode("utf-8")
    output.line(text, unicode=False).encode("ascii")


# Listings


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100, 140])
def test_a_table_fits_every_width_and_keeps_what_names_the_item(say: Printed, width: int) -> None:
    for words in (("inbox", "list"), ("events", "list", "--count", "3")):
        lines = say(*words, COLUMNS=str(width)).splitlines()
        assert max(map(len, lines)) <= width
        assert all(line == line.rstrip() for line in lines)
    lines = say("inbox", "list", COLUMNS=str(width)).splitlines()
    assert len(lines) == 2 + 6
    assert lines[0].startswith("SLUG")
    assert lines[2].startswith("use-postgres-1")


def test_a_wide_table_shows_more_than_a_narrow_one(say: Printed) -> None:
    wide = say("inbox", "list", COLUMNS="140").splitlines()[0].split()
    narrow = say("inbox", "list", COLUMNS="60").splitlines()[0].split()
    # Of those that wait nobody needs to be told that they wait: the room is for what a reviewer decides by.
    assert narrow == ["SLUG", "TYPE", "TITLE", "AGENT"]
    assert wide == ["SLUG", "TYPE", "TITLE", "AGENT", "RISK", "WOULD", "FLAGS", "AGE"]


def test_how_sure_a_proposal_is_and_what_stands_beside_it_is_seen_on_a_common_terminal() -> None:
    line = ProposalLine(
        "use-sqlite-instead-of-mysql-for-the-ledger", Type.TECHNICAL, "We decided to use SQLite", "extractor",
        ProposalStatus.PENDING, Risk.MEDIUM, "add", "3 h", (), "01JD", "2026-11-16T13:05:42Z",
        confidence=0.85, evidence="source:01JD#2-2", contradicts=("01JE",),
    )  # fmt: skip
    header, _, row, *_ = printed((line,))[0].splitlines()
    assert "0.85  1 against" in row
    assert "STATUS" not in header
    merged = dataclasses.replace(line, status=ProposalStatus.MERGED)
    assert "STATUS" in printed((line, merged))[0].splitlines()[0]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_where_a_capture_stands_and_why_is_told_to_the_last_word(width: int) -> None:
    why = (
        "the model does not answer: connection refused; it is tried again at 10:15, and nothing of it is lost"
    )
    text, _ = printed((Stage("extracted", "waiting", "2026-11-16T13:05:42Z", why),), width=width)
    assert [word for word in why.split() if word not in text.split()] == []


def test_times_in_a_table_have_no_seconds_and_in_a_detail_they_do(say: Printed) -> None:
    assert "  2026-11-16 13:05  " in say("events", "list", "--count", "1")
    assert "2026-11-16 13:05:42 UTC" in say("inbox", "show", "x")


def test_an_empty_page_says_so_and_what_to_do(say: Printed) -> None:
    assert say("events", "list") == "nothing here\n"
    assert say("inbox", "list", "--limit", "0") == (
        "nothing here; propose something with: minutebook inbox submit --help\n"
    )


def test_a_page_with_more_behind_it_prints_the_command_that_goes_on(say: Printed) -> None:
    text = say("inbox", "list", "--tag", "a b", "--after", "c0", "--limit", "2")
    assert text.endswith("\nmore: minutebook inbox list --tag 'a b' --limit 2 --after c3\n")


def test_quiet_prints_names_only(say: Printed) -> None:
    assert say("inbox", "list", "--limit", "2", "-q") == "use-postgres-1\nuse-postgres-2\n"
    assert say("inbox", "promote", "x", "--quiet") == "x\n"
    assert say("inbox", "show", "x", "-q") == "x\n"
    assert say("events", "list", "--count", "2", "-q") == "0\n1\n"
    project = Project("01JD", "atlas", "Atlas", "hicks", "2026-11-16T13:05:42Z")
    assert printed(ProjectView(project, (), (), {}), quiet=True)[0] == "atlas\n"
    assert printed(Unlisted("a", "active", 3, ""), quiet=True)[0] == "a\n"
    assert printed("plain", quiet=True)[0] == "plain\n"


@dataclasses.dataclass(frozen=True)
class Unlisted:
    slug: str
    status: str
    size: int
    seen_at: str
    note: str | None = None


def test_a_type_without_a_table_is_shown_by_its_fields() -> None:
    text, _ = printed((Unlisted("a", "active", 3, "2026-11-16T13:05:42Z"),))
    assert text.splitlines()[0].split("  ") == ["SLUG", "STATUS", "SIZE", "SEEN AT"]
    assert text.splitlines()[2] == "a     active  3     2026-11-16 13:05"


# One thing


def test_a_thing_is_a_title_a_grid_and_its_long_texts_below(say: Printed) -> None:
    text = say("inbox", "show", "x")
    lines = text.splitlines()
    assert lines[0] == "Keep the shared ledger on PostgreSQL"
    assert "status          pending" in lines
    assert "scope           project" in lines
    assert "tags            cross-team, storage" in lines
    assert "content\n  One database for the team.\n\n  - measured twice\n" in text
    assert "would\n  op            supersede\n" in text
    assert "evidence\n  KIND  REF   SPAN\n" in text
    assert "diff\n  --- old\n" in text
    assert "rationale" not in text
    assert "None" not in text


def test_stored_text_cannot_steer_the_terminal_and_is_never_markup(say: Printed) -> None:
    for text in (say("inbox", "list"), say("inbox", "show", "x"), say("inbox", "list", "-o", "json")):
        assert not set(text) & set("\x1b\u202e\u202c\u2028")
        assert "[bold red]now[/]" in text


def test_an_act_is_told_in_one_sentence(say: Printed) -> None:
    assert say("inbox", "promote", "use-postgres", COLUMNS="200") == (
        "promoted use-postgres -> decision 01JD2Q8ZK4M000000000000002 (architectural), "
        "in place of 01JD2Q8ZK4M000000000000009\n  verdict  01JD2Q8ZK4M000000000000003\n"
    )


@pytest.mark.parametrize(
    ("value", "first"),
    [
        (
            Submission("a--b", "a", "created", "v", "", "p1", ProposalStatus.PENDING, Risk.LOW, Would()),
            "created proposal a--b, because a is another agent's (pending, low risk)",
        ),
        (
            Submission("a", "a", "known", "v", "the same words", memory="m1"),
            "nothing proposed, it is known already: m1",
        ),
        (Rejection("a", "p1", "hicks", "no proof", "t1", "v1"), "rejected a: no proof"),
        (Outcome(Op.ADD, "v", "m", "a", 1, None, "", (), 7), "added a (revision 1)"),
        (
            Outcome(Op.SKIP, "v", "m", "a", None, None, "the same text is m2", ("duplicate",), 7, True),
            "skipped, known already: a, as answered before: the same text is m2",
        ),
        (
            Reverted(True, ("v1",), ("v2",), (Blocked("v3", "newer", ("v4",)),), "undid 1 of 2 verdicts"),
            "undid 1 of 2 verdicts",
        ),
        (
            Digest("7 wait, 2 of them boundaries", 7, 2, {"scope": 2}, {"high": 2}, None),
            "7 wait, 2 of them boundaries",
        ),
    ],
)
def test_every_act_has_its_sentence(value: Any, first: str) -> None:
    text, _ = printed(value)
    assert text.splitlines()[0] == first


def test_what_changed_is_told_as_before_and_after() -> None:
    text, _ = printed(Difference("r1", "r2", {"title": ("Old", "New")}, "-a\n+b"))
    assert "fields\n  title  Old -> New\n" in text
    assert "diff\n  -a\n  +b\n" in text


def test_other_answers_are_printed_plainly() -> None:
    assert printed("hello\n")[0] == "hello\n"
    assert printed(None)[0] == ""
    assert printed(["a", "b"])[0] == "a\nb\n"
    assert printed({"ledger": "ok", "deep": {"a": 1}})[0] == 'ledger  ok\ndeep    {"a":1}\n'


# Colour


def on_a_terminal(*words: str, **more: str) -> str:
    """What a real terminal receives."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(HERE), "TERM": "xterm-256color", **more}
    if "NO_COLOR" not in more:
        environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "sample_house", *words], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    received = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not chunk:
            break
        received += chunk
    os.close(ours)
    process.wait(timeout=60)
    return received.decode()


def test_there_is_colour_on_a_terminal_and_nowhere_else(say: Printed) -> None:
    assert "\x1b[31mhigh" in on_a_terminal("inbox", "list", COLUMNS="100")
    assert on_a_terminal("inbox", "show", "nothing").startswith("\x1b[31merror\x1b[0m[not_found]")
    assert "\x1b[1m" in on_a_terminal("inbox", "--help")
    assert "\x1b" not in say("inbox", "list")


@pytest.mark.parametrize("words", [("inbox", "list"), ("inbox", "show", "nothing"), ("inbox", "--help")])
def test_no_color_is_respected(words: tuple[str, ...]) -> None:
    assert "\x1b" not in on_a_terminal(*words, NO_COLOR="1")
    if "--help" not in words:
        assert "\x1b" not in on_a_terminal(*words, "--no-color")


def test_a_stream_that_knows_no_unicode_gets_it_spelled_out() -> None:
    for words in (["inbox", "list"], ["inbox", "submit", "Übung", "ß", "-o", "json"]):
        done = subprocess.run(
            [sys.executable, "-m", "sample_house", *words],
            env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 0
        text = done.stdout.decode("ascii")
    assert json.loads(text)["title"] == "Übung"


# Errors


def test_the_details_of_an_error_are_told_once() -> None:
    screen = Screen(io.StringIO(), io.StringIO(), 100, False, False, False)
    error = MinutebookError(
        "unknown_type",
        "there is no type x; use one of a, b",
        known=["a", "b"],
        rivals=[{"id": 1, "slug": "s"}, "z"],
        nothing=None,
        deep={"k": ["v", True]},
    )
    output.show_error(error, "human", screen)
    assert screen.err.getvalue() == (  # type: ignore[attr-defined]
        "error[unknown_type]: there is no type x; use one of a, b\n"
        "  rivals:\n    - id 1, slug s\n    - z\n  deep:\n    k: v, yes\n"
    )


def test_on_a_terminal_an_error_is_broken_between_words_and_a_path_stays_whole() -> None:
    path = "/a/place/that/is/longer/than/the/terminal/ledger.db"
    error = MinutebookError("not_found", f"{path}: No such file or directory.", hint="look at the path")
    screen = dataclasses.replace(Screen(io.StringIO(), io.StringIO(), 100, False, False, False), err_width=40)
    output.show_error(error, "human", screen)
    assert screen.err.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "error[not_found]:", f"  {path}:", "  No such file or directory.", "  hint: look at the path",
    ]  # fmt: skip


# The tables and the model


def test_a_line_that_is_too_long_goes_on_below_what_it_says() -> None:
    checks = (
        AuditLine(
            "dead references", 2, "medium", "came from a source that is not here any more", ("a-slug",)
        ),
    )
    text, _ = printed(Audit("p", "2026-01-01T00:00:00Z", "Worth a look.", 3, 3, checks, ()), width=76)
    _, first, second = text.splitlines()
    assert first.startswith("   !      2  dead references")
    assert second.startswith(" " * first.index("came"))
    assert second[first.index("came")] != " "


def test_counts_by_name_are_told_as_counts() -> None:
    text, _ = printed([Layer("project", 1, 3, {"scope": 1, "learning": 2})])
    assert "1 scope, 2 learning" in text


def test_a_search_answers_in_a_sentence_and_shows_the_text_that_was_found() -> None:
    hit = Hit("memory", "01JD", "database", "technical", "Use PostgreSQL", "project", "active", "ripley", 1.5,
              "One database for all.", "2026-11-16T13:05:42Z")  # fmt: skip
    text, _ = printed(Found(State.HITS, "1 found.", (hit,)))
    assert text.splitlines()[0] == "1 found."
    assert "One database for all." in text
    assert printed(Found(State.EMPTY, "Nothing you may see holds any of these words.", ()))[0] == (
        "Nothing you may see holds any of these words.\n"
    )


def test_a_new_decision_names_what_it_supersedes_and_an_act_names_what_was_superseded() -> None:
    written = Outcome(Op.SUPERSEDE, "v", "m", "use-pg", 1, None, "Supersedes 'database'.", ("same",), 1)
    assert printed(written)[0].startswith("added use-pg (revision 1): Supersedes 'database'.\n")
    acted = Outcome(Op.SUPERSEDE, "v", "m", "database", 2, None, "outgrown", ("act",), 1)
    assert printed(acted)[0].startswith("superseded database (revision 2): outgrown\n")
    added = Outcome(Op.ADD, "v", "m", "proxy", 1, None, "Added.", ("fresh",), 1)
    assert printed(added)[0].startswith("added proxy (revision 1)\n")


def test_every_table_and_headline_fits_a_type_of_the_model() -> None:
    kinds: dict[str, type] = {}
    packages = (minutebook.model, minutebook.surfaces)  # the answers of init and doctor are the surface's own
    for found in (f for p in packages for f in pkgutil.walk_packages(p.__path__, p.__name__ + ".")):
        kinds |= {name: kind for name, kind in vars(importlib.import_module(found.name)).items()
                  if isinstance(kind, type) and dataclasses.is_dataclass(kind)}  # fmt: skip
    for name, table in tables.TABLES.items():
        assert name in kinds
        for column in table.columns:
            kind: Any = kinds[name]
            for field in column.field.split("."):
                made = vars(kind).get(field)
                hints = typing.get_type_hints(kind)
                if isinstance(made, property):
                    hints[field] = typing.get_type_hints(made.fget)["return"]
                assert field in hints, f"{name}.{column.field}"
                kind = hints[field]
    for name, headline in tables.HEADLINES.items():
        assert name in kinds
        fields = {field.name for field in dataclasses.fields(kinds[name])}
        assert all(
            also in fields or isinstance(vars(kinds[name]).get(also), property) for also in headline.also
        )


@pytest.mark.parametrize("width", [40, 72, 100])
def test_a_quoted_line_that_is_too_long_stays_quoted_to_its_end(width: int) -> None:
    """What a run is told, and how two contexts differ, is read from the screen: no screen makes a heading of a word."""
    words = "and so on ## Boundaries and Decisions " * 6
    text = (
        f"## Memory\n\n**learning** by ripley, unreviewed\n| {words}\n> A note of the compiler that is long."
    )
    bundle = Bundle(
        project="p", agent="ripley", task="", child=False, seq=1, hash="h", text=text, tokens=1, stable=0,
        items=(), left_out=(), left_out_count=0, faults=(),
    )  # fmt: skip
    changed = "\n".join(f"{sign}{line}" for sign in "+- " for line in text.splitlines())
    difference = BundleDifference("a", "b", False, (), (), (), changed)
    run_ = Run("r", "p", "ripley", "", RunStatus.OPEN, "ripley", "2026-01-01T00:00:00Z")
    view = RunView(run_, Snapshot("r", 1, 1, "2026-01-01T00:00:00Z", bundle))
    for value in (difference, view):
        lines = [line.strip().lstrip("+-").strip() for line in printed(value, width=width)[0].splitlines()]
        of_stored = [line for line in lines if "so on" in line or "Decisions" in line or "##" in line]
        assert len(of_stored) > 2
        assert [line for line in of_stored if not line.startswith("| ")] == (
            ["## Memory"] * (3 if value is difference else 1)
        )
