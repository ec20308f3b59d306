"""The command line as its user meets it: help, flags, texts, errors, exit codes, completion."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import sample_house

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.cli.program import Answer, CallerOptions, run
from minutebook.surfaces.surface import render

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Type = Callable[..., Done]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Type:
    """Run a command line of the sample house in this process."""
    sample_house.log.clear()

    def type_(*words: str, **environment: str) -> Done:
        code = run(sample_house.program(), words, environment)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return type_


def apart(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command line of the sample house in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(HERE), **more.pop("environment", {})}
    return subprocess.run(
        [sys.executable, *more.pop("flags", []), "-m", "sample_house", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        **more,
    )


def given() -> dict[str, Any]:
    """The raw arguments of the last call."""
    return next(entry[1] for entry in reversed(sample_house.log) if isinstance(entry, tuple))


# Calling


def test_a_required_parameter_is_an_argument_and_an_optional_one_a_flag(say: Type) -> None:
    assert say("inbox", "promote", "use-postgres", "--reason", "measured twice").code == 0
    assert given() == {"slug": "use-postgres", "reason": "measured twice"}


def test_what_is_not_given_is_left_to_the_operation(say: Type) -> None:
    say("inbox", "list")
    assert given() == {}


def test_switches_have_a_no_only_where_the_default_is_yes(say: Type) -> None:
    say("inbox", "submit", "t", "c", "--dry-run", "--no-notify")
    assert (given()["dry_run"], given()["notify"]) == (True, False)
    assert say("inbox", "submit", "t", "c", "--no-dry-run").code == 2


def test_a_list_is_one_value_per_flag_and_nothing_is_split(say: Type) -> None:
    say("inbox", "list", "--tag", "a,b", "--tag", "c d")
    assert given() == {"tag": ["a,b", "c d"]}


def test_a_required_list_takes_the_rest_of_the_arguments(say: Type) -> None:
    assert say("inbox", "tag", "x", "a", "b", "-o", "json").json() == ["x", "a", "b"]


def test_a_value_with_a_spelling_of_its_own_and_one_of_json(say: Type) -> None:
    done = say("inbox", "submit", "t", "c", "--evidence", "file:a.py#1-2", "--near", '{"x": 3}', "-o", "json")
    assert done.json()["evidence"] == ["a.py"]
    assert done.json()["near"] == {"x": 3}
    assert "is not JSON" in say("inbox", "submit", "t", "c", "--near", "{").err


def test_a_name_python_reserves_loses_its_underscore(say: Type) -> None:
    assert say("inbox", "submit", "t", "c", "--type", "user", "-o", "json").json()["type"] == "profile"


def test_a_path_is_made_absolute_before_it_leaves_the_process(
    say: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert say("import", "a/b.zip", "-o", "json").json() == str(tmp_path / "a/b.zip")


def test_system_operations_and_a_noun_of_one_name_are_commands_of_their_own(say: Type) -> None:
    assert say("doctor", "-o", "json").json() == {"ledger": "ok"}
    assert say("search", "postgres", "-o", "json").json() == ["postgres"]


@pytest.mark.parametrize(
    "words",
    [
        ("--project", "p", "--as", "a", "--home", "h", "--database", "d", "--key", "k", "inbox", "list"),
        ("inbox", "--project", "p", "--as", "a", "--home", "h", "--database", "d", "--key", "k", "list"),
        ("inbox", "list", "--project", "p", "--as", "a", "--home", "h", "--database", "d", "--key", "k"),
    ],
)
def test_global_options_stand_before_or_after_the_verb(say: Type, words: tuple[str, ...]) -> None:
    assert say(*words).code == 0
    assert sample_house.log[0] == CallerOptions("p", "a", "h", "d")
    assert sample_house.log[1][2] == "k"


def test_the_ledger_is_opened_after_parsing_and_left_before_printing(say: Type) -> None:
    assert say("inbox", "list", "--nonsense").code == 2
    assert say("inbox", "submit", "t", "@/no/such/file").code == 2
    assert sample_house.log == []
    say("inbox", "list")
    assert sample_house.log[-1] == "closed"


def test_a_command_of_plain_click_may_answer_like_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    program = sample_house.program()

    @program.command("init")
    def init() -> Answer:
        """Bind this directory."""
        return Answer({"bound": True})

    assert run(program, ["init", "-h"], {}) == 0
    assert "Bind this directory" in capsys.readouterr().out
    assert run(program, ["-o", "json", "init"], {}) == 0
    assert json.loads(capsys.readouterr().out) == {"bound": True}
    assert run(program, [], {}) == 0
    assert "init" in capsys.readouterr().out


def test_an_added_command_ends_with_the_code_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    program = sample_house.program()
    program.add_command(click.Command("leave", callback=lambda: click.get_current_context().exit(7)))
    assert run(program, ["leave"], {}) == 7


# Texts


def test_a_dash_reads_stdin(say: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("zwölf\n".encode())))
    assert say("inbox", "submit", "t", "-", "-o", "json").json()["content"] == "zwölf\n"


def test_an_at_reads_a_file_and_two_are_a_plain_at(say: Type, tmp_path: Path) -> None:
    (tmp_path / "why.md").write_text("\ufeffbecause", encoding="utf-8")
    done = say("inbox", "submit", "t", f"@{tmp_path}/why.md", "--rationale", "@@home", "-o", "json").json()
    assert (done["content"], done["rationale"]) == ("because", "@home")


def test_only_long_texts_are_read_from_elsewhere(say: Type) -> None:
    assert say("inbox", "submit", "@title", "c", "-o", "json").json()["title"] == "@title"


def test_stdin_is_read_for_one_text_only(say: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    done = say("inbox", "submit", "t", "-", "--rationale", "-")
    assert done.code == 2
    assert "only once" in done.err


def test_a_text_that_cannot_be_read_is_a_clear_error(
    say: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    assert "No such file" in say("inbox", "submit", "t", f"@{tmp_path}/none").err
    assert "write @@" in say("inbox", "submit", "t", "@none").err
    assert "directory" in say("inbox", "submit", "t", f"@{tmp_path}").err
    assert "not UTF-8" in say("inbox", "submit", "t", f"@{tmp_path}/bytes").err
    monkeypatch.setattr("minutebook.surfaces.cli.commands.LARGEST_TEXT", 2)
    assert say("inbox", "submit", "t", f"@{tmp_path}/bytes").code == 7


# Errors


def test_an_error_says_code_message_and_hint_and_sets_the_exit_code(say: Type) -> None:
    done = say("inbox", "show", "nothing")
    assert done.code == 3
    assert done.out == ""
    assert done.err == "error[not_found]: there is no proposal 'nothing'\n  hint: minutebook inbox list\n"


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_with_json_an_error_is_one_line_of_json(say: Type, form: str) -> None:
    done = say("-o", form, "inbox", "show", "nothing")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert json.loads(done.err) == {
        "code": "not_found",
        "message": "there is no proposal 'nothing'",
        "details": {"hint": "minutebook inbox list"},
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inbox", "promote"], "missing argument 'SLUG'"),
        (["inbox", "promte", "x"], "did you mean promote?"),
        (["inbx"], "did you mean inbox?"),
        (["zzz"], "known: inbox, events, search"),
        (["inbox", "approve", "x"], "did you mean promote?"),
        (["help"], "did you mean --help?"),
        (["version"], "did you mean --version?"),
        (["inbox"], "a verb is missing"),
        (["inbox", "list", "--frobnicate"], "no such option"),
        (["inbox", "list", "extra"], "unexpected extra argument"),
        (["inbox", "list", "--limit"], "requires an argument"),
        (["inbox", "list", "-o", "xml"], "'xml' is not one of"),
    ],
)
def test_a_usage_error_has_the_shape_of_every_other(say: Type, words: list[str], said: str) -> None:
    done = say(*words)
    assert done.code == 2
    assert done.err.startswith("error[invalid_input]: ")
    assert said in done.err
    assert "--help" in done.err
    if "xml" not in words:
        parsed = json.loads(
            say(*words, "--output=json").err if words[-1] != "--limit" else say("-ojson", *words).err
        )
        assert parsed["code"] == "invalid_input"
        assert "--help" in parsed["details"]["hint"]


def test_a_wrong_value_is_judged_by_the_operation(say: Type) -> None:
    done = say("inbox", "list", "--status", "lost", "--limit", "900")
    assert done.code == 2
    assert "status: must be one of pending, merged or rejected, not 'lost' (and 1 more)" in done.err
    assert "  limit: must be at most 200" in done.err
    assert say("inbox", "list", "--type", "nonsense", "-o", "json").err.startswith('{"code":"unknown_type"')


def test_an_unexpected_failure_is_one_line_and_the_trace_only_on_request(say: Type) -> None:
    done = say("events", "fail", "bug")
    assert done.code == 1
    assert done.err.startswith("error[internal]: KeyError: 'missing'\n")
    assert "MINUTEBOOK_DEBUG=1" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in say("events", "fail", "bug", MINUTEBOOK_DEBUG="1").err
    assert json.loads(say("events", "fail", "bug", "-o", "json").err)["code"] == "internal"


def test_an_interrupt_is_one_line_and_130(say: Type) -> None:
    assert say("events", "fail", "interrupt") == Done(130, "", "interrupted\n")


def test_an_error_cannot_steer_the_terminal(say: Type) -> None:
    done = say("inbox", "show\x1b[31m")
    assert "\x1b" not in done.err
    assert "\\x1b" in done.err or "\\u{1b}" in done.err


def test_a_reader_that_leaves_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sample_house", "events", "list", "--count", "20000", "-o", "jsonl"],
        env={**os.environ, "PYTHONPATH": str(HERE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["seq"] == 0
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr.read() == ""


def test_an_answer_that_cannot_be_written_is_an_error_that_says_so() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sample_house", "inbox", "list"],
            env={**os.environ, "PYTHONPATH": str(HERE)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 8
    assert done.stderr.startswith("error[io_error]: the answer could not be printed: No space left")
    assert "the command itself was carried out" in done.stderr


# Help


def test_the_first_screen_says_what_it_is_what_it_keeps_and_where_to_begin(say: Type) -> None:
    bare, asked = say(), say("--help")
    assert bare == asked
    assert bare.code == 0
    for said in (
        "governed memory of a team",
        "minutebook init",
        "Proposals: submit",
        "doctor",
        "--as ACTOR",
        "NOUN VERB",
    ):
        assert said in bare.out, said
    assert "\x1b" not in bare.out
    assert "system" not in bare.out
    assert sample_house.log == []


def test_the_help_of_a_command_teaches(say: Type) -> None:
    told = " ".join(say("inbox", "submit", "--help").out.split())
    for said in (
        "Usage: minutebook inbox submit [OPTIONS] TITLE CONTENT",
        "Propose something to remember.",
        "Nothing is remembered before somebody promotes it.",
        "TITLE One line that says it",
        "CONTENT The whole text [- reads stdin, @FILE a file]",
        "--notify / --no-notify Tell the reviewers [default: on]",
        "--type TYPE What sort of memory it would be [one of architectural, scope,",
        "--evidence EVIDENCE What it rests on [may be repeated]",
        'Examples: minutebook inbox submit "Use PostgreSQL" @why.md --type architectural git log',
        "see minutebook --help",
    ):
        assert said in told, said
    assert "--limit N How many to show [at least 0, at most 200; default: 50]" in " ".join(
        say("inbox", "list", "-h").out.split()
    )


def test_the_help_of_a_noun_lists_its_verbs_and_examples(say: Type) -> None:
    told = say("inbox", "--help").out
    assert "promote  Accept a pending proposal as an active memory" in told
    assert "minutebook inbox list --status pending" in told


@pytest.mark.parametrize("width", ["50", "80", "120"])
def test_help_keeps_to_the_width(say: Type, width: str) -> None:
    for words in ((), ("inbox",), ("inbox", "list"), ("completion",)):
        lines = say(*words, "--help", COLUMNS=width).out.splitlines()
        examples = ("  minutebook", "  git")
        assert [line for line in lines if len(line) > int(width) and not line.startswith(examples)] == []


def test_the_version_is_printed(say: Type) -> None:
    assert say("--version").out.startswith("minutebook 0.")


def test_help_and_json_import_neither_rich_nor_pydantic() -> None:
    for words in (
        ["--help"],
        ["inbox", "--help"],
        ["inbox", "list", "--help"],
        ["inbox", "list", "-o", "json"],
    ):
        done = apart(*words, flags=["-X", "importtime"])
        assert done.returncode == 0
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "minutebook.surfaces.cli.output" in imported
        assert {
            name for name in imported if name.split(".")[0] in ("rich", "pydantic", "pydantic_core")
        } == set()
        if words == ["--help"]:
            assert {"sample_house.inbox", "sample_house.system", "minutebook.model.text"} & imported == set()
        assert "sample_house.events" not in imported


# Completion


def completed(words: str, *more: str) -> list[str]:
    """What bash is told for a half-typed line."""
    cword = str(len(words.split(" ")) - 1)
    done = apart(
        *more,
        environment={"_MINUTEBOOK_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": cword},
    )
    assert done.stderr == ""
    return [line.removeprefix("plain,") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("minutebook in", ["inbox"]),
        ("minutebook do", ["doctor"]),
        ("minutebook inbox p", ["promote"]),
        ("minutebook inbox list --st", ["--status"]),
        ("minutebook inbox list --status p", ["pending"]),
        ("minutebook inbox list -o json", ["json", "jsonl"]),
        ("minutebook completion f", ["fish"]),
    ],
)
def test_nouns_verbs_flags_and_choices_are_completed(words: str, expected: list[str]) -> None:
    assert completed(words) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_printed(say: Type, shell: str) -> None:
    done = say("completion", shell)
    assert done.code == 0
    assert f"_MINUTEBOOK_COMPLETE={shell}_complete" in done.out


def test_the_bash_script_completes_in_a_real_bash(say: Type, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(say("completion", "bash").out)
    program = tmp_path / "minutebook"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={HERE} exec {sys.executable} -m sample_house "$@"\n')
    program.chmod(0o755)
    asked = (
        f"source {tmp_path}/script; COMP_WORDS=(minutebook inbox l); COMP_CWORD=2; "
        "_minutebook_completion minutebook; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "list"


# The surface file


def test_the_surface_file_spells_every_operation_on_every_surface() -> None:
    text = render(sample_house.registry)
    for said in (
        "inbox.promote  (REVIEW)\n    Accept a pending proposal as an active memory.\n"
        "      slug: string\n      reason: text | null = null\n      -> Promotion\n"
        "    cli   minutebook inbox promote SLUG [--reason TEXT]\n"
        "    http  POST /api/inbox/{slug}/promote\n    mcp   inbox_promote\n",
        "http  GET /api/inbox\n",
        "http  GET /api/inbox/{slug}\n",
        "http  POST /api/inbox\n",
        "http  GET /api/search\n    mcp   search\n",
        "http  GET /api/system/doctor\n",
        "http  POST /api/system/import\n",
        "system.doctor  (READ, outside a transaction)",
        "Would\n    op: string\n    target: string | null\n",
        "limit: integer = 50  (at least 0, at most 200)",
        "not_found          not_found    3     404   There is nothing of that name here.",
    ):
        assert said in text, said
    assert text == render(sample_house.registry)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_refusal_of_the_caller_is_printed_like_every_error(capsys: pytest.CaptureFixture[str]) -> None:
    from minutebook.surfaces.cli.program import build_cli

    def refuse(options: CallerOptions) -> Any:
        raise MinutebookError("ledger_busy", "another process owns the ledger", owner={"pid": 7, "host": "h"})

    assert run(build_cli(sample_house.registry, refuse), ["doctor"], {}) == 8
    assert capsys.readouterr().err == (
        "error[ledger_busy]: another process owns the ledger\n  owner:\n    pid: 7\n    host: h\n"
    )
