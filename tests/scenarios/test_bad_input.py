"""What bad input gets: a code of the closed table, a message that says what to do, and nothing half-done.

Every case compares all rows of the ledger before and after. A refusal of the controller adds its verdict and
event; everything else that goes wrong adds nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.model.errors import CODES, EXIT_CODES, Kind, MinutebookError
from minutebook.operations import actors, decisions, inbox, memories, projects, search, sessions, verdicts
from minutebook.operations.registry import REGISTRY
from minutebook.policy.limits import Limits
from minutebook.service import LocalClient
from tests.houses import House
from tests.scenarios.program import Program
from tests.scenarios.rows import OF_A_REFUSAL, all_rows, changed, texts_of

Ask = Callable[..., Any]


@pytest.fixture
def program(house: House) -> Program:
    """The installed program on the house's ledger; the house lets go of it first."""
    house.home.mkdir(parents=True, exist_ok=True)
    house.close()
    return Program(house.home, house.home, house.url, {"MINUTEBOOK_PROJECT": "nostromo"})


@pytest.fixture
def settled(house: House) -> House:
    """A house in which something stands already."""
    house.dallas(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
    house.ripley(inbox.submit, type="scope", title="Gate", content="Close the gate.", slug="gate")
    house.ripley(memories.write, type="learning", content="Doors jam when it is cold.", slug="doors")
    return house


def error_of(client: LocalClient, function: Ask, **arguments: Any) -> MinutebookError | None:
    """The error that a call ends with, if it does."""
    try:
        client(function, **arguments)
    except MinutebookError as error:
        return error
    return None


def refused(house: House, code: str, client: LocalClient, function: Ask, **arguments: Any) -> MinutebookError:
    """The call fails with the code, says something useful, and leaves the ledger as the rules allow."""
    before = all_rows(house)
    error = error_of(client, function, **arguments)
    assert error is not None, f"{function.__qualname__} took {arguments!a}"
    assert error.code == code, f"{error.code}: {error.message}"
    assert error.kind is CODES[code][0] is not Kind.INTERNAL
    assert len(error.message) < 600, "a message is not the place for the input"
    differing = changed(before, all_rows(house))
    allowed = OF_A_REFUSAL if error.recorded else set()
    assert differing <= allowed, f"{code} changed {differing}"
    return error


# Words that are not in the closed lists


def test_an_unknown_type_is_refused_and_the_list_is_told(settled: House) -> None:
    asked = (
        (settled.ripley, memories.write, {"content": "c"}),
        (settled.ripley, inbox.submit, {"title": "t", "content": "c"}),
        (settled.dallas, decisions.write, {"title": "t", "content": "c"}),
        (settled.jones, memories.list_, {}),
        (settled.jones, search.search, {"query": "q"}),
    )
    types = ("law", "", "   ", "learnings", "décision", "x" * 5000, "🚀")
    for type, (client, function, more) in itertools.product(types, asked):
        error = refused(settled, "unknown_type", client, function, type=type, **more)
        assert "architectural" in error.details["known"]
        assert "architectural" in error.message


def test_a_decision_of_an_informing_type_is_refused(settled: House) -> None:
    error = refused(
        settled, "unknown_type", settled.dallas, decisions.write, type="learning", title="t", content="c"
    )
    assert error.details["hint"] == "minutebook memories write"


def test_an_unknown_or_impossible_scope_is_refused(settled: House) -> None:
    for place in (
        {"scope": "galaxy"},
        {"scope": ""},
        {"scope": "repo"},
        {"tier": "wide"},
        {"scope": "project", "tier": "global"},
        {"scope": "project", "agent": "ripley"},
        {"scope": "agent"},
    ):
        new = {"type": "learning", "content": "c", **place}
        error = refused(settled, "unknown_scope", settled.mother, memories.write, **new)
        assert error.details or "no meaning" in error.message
        refused(settled, "unknown_scope", settled.mother, memories.rescope, ref="range", **place)


def test_an_unknown_role_is_refused(settled: House) -> None:
    for role in ("king", "", "scribe", "Operator!", "оperator"):
        error = refused(settled, "unknown_role", settled.mother, actors.add, name="Newt", role=role)
        assert error.details["known"] == ["viewer", "agent", "coordinator", "operator"]
        refused(settled, "unknown_role", settled.mother, actors.edit, name="Ripley", role=role)


# Blank

BLANKS = ["", "   ", "\n\t \r\n", "\0", "\u2028", "\u00a0\u3000", "\u200b\u200d", "\ufeff", "\u3164"]


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_a_blank_field_is_refused_by_name(settled: House, blank: str) -> None:
    for client, function, arguments, field in (
        (settled.ripley, inbox.submit, {"type": "scope", "title": blank, "content": "c"}, "title"),
        (settled.ripley, inbox.submit, {"type": "scope", "title": "t", "content": blank}, "content"),
        (settled.mother, memories.write, {"type": "artifact", "content": blank}, "content"),
        (settled.mother, memories.write, {"type": "artifact", "content": "c", "title": blank}, "title"),
        (settled.dallas, decisions.write, {"type": "scope", "title": blank, "content": "c"}, "title"),
        (settled.dallas, decisions.edit, {"ref": "range", "title": blank}, "title"),
        (settled.dallas, decisions.edit, {"ref": "range", "content": blank}, "content"),
        (settled.dallas, inbox.promote, {"ref": "gate", "content": blank}, "content"),
        (settled.dallas, inbox.reject, {"ref": "gate", "reason": blank}, "reason"),
        (settled.dallas, decisions.retire, {"ref": "range", "reason": blank}, "reason"),
        (
            settled.ripley,
            memories.write,
            {"type": "project", "content": "c", "entity": blank, "attribute": "a"},
            "entity",
        ),
        (settled.ripley, sessions.start, {"focus": blank}, "focus"),
        (settled.ripley, sessions.start, {"focus": "f", "session": blank}, "session"),
        (settled.jones, search.search, {"query": blank}, "query"),
    ):
        error = refused(settled, "blank_field", client, function, **arguments)
        assert error.details["field"] == field
        assert field in error.message
    refused(settled, "bad_name", settled.mother, actors.add, name=blank)
    refused(settled, "bad_name", settled.mother, projects.create, name=blank)
    refused(settled, "bad_name", settled.ripley, memories.tag, ref="doors", tags=[blank])
    refused(
        settled, "bad_slug", settled.ripley, inbox.submit, type="scope", title="t", content="c", slug=blank
    )


# Slugs


USELESS = (
    *("🚀", "🚀🔥", "用户", "データベース", ".", "..", "...", "../..", "/", "\\", "-", "--"),
    *("con", "CON", "nul", "Aux", "com1", "LPT9", "prn", "memory", "README", "ｃｏｎ"),
    *("\u202e", "\u200b", "\0", "x" * 10_000, "x" * 201),
)

#: What is asked for, and the one safe spelling that it gets.
SPELLINGS = {
    "../../etc/passwd": "etc-passwd",
    "con.txt": "con-txt",
    "C:\\Windows\\nul": "c-windows-nul",
    "Ünïcödé": "unicode",
    "rocket 🚀 ship": "rocket-ship",
    "a\u202eb": "a-b",
    "a\0b": "ab",
    "%2e%2e%2f": "2e-2e-2f",
    "'; DROP TABLE proposals; --": "drop-table-proposals",
    "x" * 200: "x" * 200,
}


def test_a_slug_of_which_nothing_usable_remains_is_refused(settled: House) -> None:
    for slug in USELESS:
        for client, function in ((settled.ripley, inbox.submit), (settled.dallas, decisions.write)):
            error = refused(
                settled, "bad_slug", client, function, type="scope", title="t", content="c", slug=slug
            )
            assert len(str(error.details["given"])) < 400
        code = "bad_slug" if len(slug) <= 1_000 else "too_large"
        refused(settled, code, settled.mother, projects.create, name="n", slug=slug)


def test_a_slug_is_brought_into_its_one_safe_spelling(house: House) -> None:
    for number, (slug, canonical) in enumerate(SPELLINGS.items()):
        sent = house.ripley(inbox.submit, type="scope", title="t", content=f"Reason {number}.", slug=slug)
        assert sent.slug == canonical
        assert house.jones(inbox.show, ref=canonical).proposal.requested_slug == canonical


def test_a_title_without_latin_letters_gets_a_slug_that_can_be_typed(house: House) -> None:
    for number, title in enumerate(("🚀", "用户数据", "...", "con", "𝕏" * 50, "-")):
        sent = house.ripley(inbox.submit, type="scope", title=title, content=f"Reason {number}.")
        other = house.bishop(inbox.submit, type="scope", title=title + "!", content=f"Other reason {number}.")
        assert sent.slug != other.slug
        assert set(sent.slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
        assert house.jones(inbox.show, ref=sent.slug).proposal.title == title


# Characters that hide, reorder or break

HOSTILE = {
    "NUL": "\0",
    "bidi override": "\u202e",
    "bidi isolate": "\u2066",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "next line": "\x85",
    "escape": "\x1b]0;owned\x07\x1b[31m",
    "tag letters": "\U000e0041\U000e0042",
    "lone surrogate": "\ud800",
    "zero width": "\u200b",
    "noncharacter": "\uffff",
}
#: What no row may hold, whatever came in.
NEVER_STORED = ("\0", "\u2028", "\u2029", "\x85", "\ud800")
#: What no memory and no proposal may hold.
NEVER_REMEMBERED = ("\u202e", "\u2066", "\U000e0041")
REMEMBERED = ("memories", "proposals", "revisions", "texts", "tags")


def every_text_field(house: House, hostile: str) -> list[tuple[LocalClient, Ask, dict[str, Any]]]:
    """A call for each text that a caller may send, with the hostile characters in the middle of it."""
    text = f"one {hostile} two"
    new: dict[str, Any] = {
        "type": "project",
        "title": "Fresh title",
        "content": f"Fresh content {len(hostile)}.",
    }
    about = [("rationale", text), ("summary", text), ("tag", [text]), ("evidence", [f"url:https://x.org/{text}"]),
             ("observed", text), ("slug", text), ("agent", text), ("repo", text), ("session", text),
             ("supersedes", text), ("contradicts", [text])]  # fmt: skip
    calls: list[tuple[LocalClient, Ask, dict[str, Any]]] = []
    for field, value in (
        ("title", text),
        ("content", text),
        ("type", text),
        ("scope", text),
        ("tier", text),
        *about,
    ):
        calls.append((house.mother, inbox.submit, {**new, field: value}))
        calls.append((house.mother, memories.write, {**new, field: value}))
    calls.append((house.mother, memories.write, {**new, "entity": text, "attribute": "a"}))
    calls.append((house.mother, memories.write, {**new, "entity": "e", "attribute": text}))
    return [
        *calls,
        (house.mother, decisions.edit, {"ref": "range", "title": text}),
        (house.mother, decisions.edit, {"ref": "range", "content": text}),
        (house.mother, inbox.promote, {"ref": "gate", "content": text}),
        (house.mother, inbox.promote, {"ref": "gate", "title": text}),
        (house.mother, inbox.reject, {"ref": text, "reason": text}),
        (house.mother, inbox.show, {"ref": text}),
        (house.mother, inbox.list_, {"agent": text, "after": text}),
        (house.mother, memories.show, {"ref": text}),
        (house.mother, memories.list_, {"author": text, "agent": text}),
        (house.mother, memories.list_, {"tag": [text]}),
        (house.mother, memories.list_, {"since": text}),
        (house.mother, memories.tag, {"ref": "doors", "tags": [text]}),
        (house.mother, memories.archive, {"ref": "doors", "reason": text}),
        (house.mother, search.search, {"query": text, "agent": text}),
        (house.mother, sessions.start, {"focus": text, "session": text, "issue": [text], "summary": text}),
        (house.mother, sessions.start, {"focus": "f", "state": text}),
        (house.mother, sessions.show, {"session": text}),
        (house.mother, verdicts.list_, {"actor": text, "run": text, "source": text}),
        (house.mother, verdicts.show, {"id": text}),
        (house.mother, actors.add, {"name": text}),
        (house.mother, actors.show, {"name": text}),
        (house.mother, actors.add, {"name": "Newt", "bound_to": text}),
        (house.mother, projects.create, {"name": text}),
        (house.mother, projects.create, {"name": "n", "id": text}),
        (house.mother, projects.show, {"ref": text}),
        (house.mother, projects.see, {"path": text, "host": text}),
        (house.mother, projects.add_repo, {"name": text, "remote": text}),
    ]


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_characters_in_any_text_field_never_reach_the_rows(settled: House, name: str) -> None:
    """Each call goes well or is refused with a proper code; no row ever holds what a reader stumbles over."""
    hostile = HOSTILE[name]
    for client, function, arguments in every_text_field(settled, hostile):
        before = all_rows(settled)
        error = error_of(client, function, **arguments)
        if error is not None:
            told = f"{function.__qualname__}({arguments!a}): {error.message}"
            assert error.kind is not Kind.INTERNAL, told
            allowed = OF_A_REFUSAL if error.recorded else set()
            assert changed(before, all_rows(settled)) <= allowed, told
    for table, column, text in texts_of(settled):
        wrong = {character for character in NEVER_STORED if character in text}
        if (table, column) == ("sessions", "state"):  # a tool's own, kept as it came where it can be
            wrong &= {"\0", "\ud800"}
        if table in REMEMBERED:
            wrong |= {character for character in NEVER_REMEMBERED if character in text}
        assert not wrong, f"{table}.{column}: {text!a}"


def test_a_reason_that_reorders_what_a_reader_sees_is_refused(settled: House) -> None:
    for function, ref in ((memories.archive, "doors"), (inbox.reject, "gate")):
        refused(settled, "unsafe_text", settled.mother, function, ref=ref, reason="not \u202etrue any more")


def test_a_cursor_that_is_none_is_refused_and_not_taken_for_the_end(settled: House) -> None:
    for function in (memories.list_, inbox.list_, sessions.list_, decisions.list_, verdicts.list_):
        refused(settled, "invalid_input", settled.mother, function, after="doors")
    first = settled.mother(memories.list_, limit=1)
    rest = settled.mother(memories.list_, after=first.next.lower())
    assert [line.id for line in rest.items] == [
        line.id for line in settled.mother(memories.list_).items if line.id != first.items[0].id
    ]


def test_hidden_reordering_is_refused_and_the_refusal_holds_nothing_of_it(settled: House) -> None:
    words = {"title": "Pay\u202egnp.exe", "content": "Plain."}
    error = refused(settled, "unsafe_text", settled.ripley, inbox.submit, type="scope", **words)
    verdict = settled.dallas(verdicts.show, id=error.details["verdict"], content=True)
    assert verdict.op == "refuse"
    assert "gnp" not in repr(verdict)


def test_a_bad_idempotency_key_is_refused(settled: House) -> None:
    before = all_rows(settled)
    for key in ("", " ", "a\0b", "a\nb", "\u202e", "k" * 201):
        with pytest.raises(MinutebookError) as caught:
            settled.ripley.invoke(REGISTRY.of(sessions.start), {"focus": "f"}, key=key)
        assert caught.value.code == "invalid_input"
    assert all_rows(settled) == before


# Sizes


@pytest.mark.parametrize("letter", ["x", "🚀", "word "], ids=ascii)
def test_a_body_of_five_megabytes_is_refused_and_nothing_of_it_is_kept(settled: House, letter: str) -> None:
    body = f"huge{letter * (5_000_000 // len(letter.encode()))}huge"
    for function, more in ((inbox.submit, {"title": "t"}), (memories.write, {})):
        error = refused(settled, "too_large", settled.ripley, function, type="project", content=body, **more)
        assert f"{Limits().content_bytes:,}" in error.message
    refused(settled, "too_large", settled.dallas, decisions.edit, ref="range", content=body)
    refused(settled, "too_large", settled.dallas, inbox.promote, ref="gate", content=body)
    assert not [row for rows in all_rows(settled).values() for row in rows if len(row) > 100_000]


def test_every_other_text_has_a_limit_too(settled: House) -> None:
    long = "x" * 2_000_000
    for arguments in (
        {"title": long},
        {"title": "x" * 301},
        {"rationale": long},
        {"summary": long},
        {"slug": long},
        {"entity": "x" * 500, "attribute": "a"},
        {"tag": [f"t{number}" for number in range(21)]},
        {"evidence": [f"url:https://example.org/{number}" for number in range(51)]},
    ):
        words = {"type": "project", "title": "t", "content": "c", **arguments}
        refused(settled, "too_large", settled.ripley, inbox.submit, **words)
    refused(settled, "too_large", settled.ripley, sessions.start, focus=long)
    refused(settled, "too_large", settled.ripley, sessions.start, focus="f", summary=long)
    refused(settled, "too_large", settled.dallas, inbox.reject, ref="gate", reason=long)
    refused(settled, "too_large", settled.jones, search.search, query=long)
    refused(settled, "too_many", settled.ripley, memories.tag, ref="doors", tags=[f"t{n}" for n in range(30)])
    refused(settled, "bad_name", settled.ripley, memories.tag, ref="doors", tags=["x" * 65])
    refused(settled, "invalid_input", settled.jones, inbox.list_, limit=0)
    refused(settled, "invalid_input", settled.jones, inbox.list_, limit=10**9)


# The same through the installed program


#: A command line, and the code that it gets.
WRONG: tuple[tuple[tuple[str, ...], str], ...] = (
    (("memories", "write", "law", "c"), "unknown_type"),
    (("memories", "write", "learning", "c", "--scope", "galaxy"), "unknown_scope"),
    (("actors", "add", "Newt", "--role", "king"), "unknown_role"),
    (("inbox", "submit", "scope", " ", "c"), "blank_field"),
    (("inbox", "submit", "scope", "t", "\u200b"), "blank_field"),
    (("inbox", "submit", "scope", "t", "c", "--slug", "🚀"), "bad_slug"),
    (("inbox", "submit", "scope", "t", "c", "--slug", "用户"), "bad_slug"),
    (("inbox", "submit", "scope", "t", "c", "--slug", ".."), "bad_slug"),
    (("inbox", "submit", "scope", "t", "c", "--slug", "LPT1"), "bad_slug"),
    (("inbox", "submit", "scope", "t", "c", "--slug", "x" * 10_000), "bad_slug"),
    (("inbox", "submit", "scope", "a\u202eb", "c"), "unsafe_text"),
    (("inbox", "submit", "scope", "t", "@huge.md"), "too_large"),
    (("inbox", "submit", "scope", "t", "@missing.md"), "invalid_input"),
    (("inbox", "submit", "scope", "t", "@latin.md"), "invalid_input"),
    (("inbox", "submit", "scope"), "invalid_input"),
    (("inbox", "submit", "scope", "t", "c", "--colour", "red"), "invalid_input"),
    (("inbox", "sumbit", "scope", "t", "c"), "invalid_input"),
    (("inbox", "list", "--limit", "many"), "invalid_input"),
    (("inbox", "show", "nothing"), "not_found"),
    (("inbox", "list", "--project", "nowhere"), "not_found"),
    (("inbox", "list", "--as", "nobody"), "not_found"),
    (("inbox", "list", "--database", "mysql://localhost/x"), "bad_setting"),
    (("inbox", "list", "--database", "sqlite://relative.db"), "bad_setting"),
)


def test_the_program_tells_the_code_and_exits_by_kind(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path)
    program.ok("init")
    (tmp_path / "huge.md").write_text("x" * 5_000_000)
    (tmp_path / "latin.md").write_bytes("grün".encode("latin-1"))
    ledger = tmp_path / "home" / "ledger.db"
    for words, code in WRONG:
        before = ledger.read_bytes()
        done = program(*words, "-o", "json")
        assert done.error()["code"] == code, words
        assert done.code == EXIT_CODES[CODES[code][0]]
        assert len(done.err) < 3_000
        if CODES[code][0] in (Kind.INVALID, Kind.NOT_FOUND):
            assert ledger.read_bytes() == before, words


def test_a_person_is_told_the_code_and_what_to_do_in_words(house: House, program: Program) -> None:
    done = program("memories", "write", "law", "c")
    assert done.err.startswith("error[unknown_type]: There is no type 'law'; use one of architectural")
    done = program("inbox", "submit", "scope", "a\u202eb", "c")
    assert "take them out" in done.err
    assert "Traceback" not in done.err
    done = program("inbox", "sumbit", "scope", "t", "c")
    assert "did you mean submit" in done.err
    house.open()
    assert house.rows("SELECT id FROM memories") == house.rows("SELECT id FROM proposals") == []
    assert [row["op"] for row in house.rows("SELECT op FROM verdicts")] == ["refuse"]


def test_the_program_takes_a_refused_body_from_stdin_without_keeping_it(
    house: House, program: Program
) -> None:
    done = program("inbox", "submit", "scope", "t", "-", "-o", "json", input="canary " * 700_000)
    assert (done.code, done.error()["code"]) == (7, "too_large")
    house.open()
    assert not [row for rows in all_rows(house).values() for row in rows if "canary" in row]
