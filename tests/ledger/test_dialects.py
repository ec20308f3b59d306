"""One SQL text and one table of errors for two drivers."""

from __future__ import annotations

import pytest

from minutebook.ledger.dialects import POSTGRES, SQLITE, statement
from minutebook.model.errors import MinutebookError


@pytest.mark.parametrize(
    ("sql", "names", "psycopg"),
    [
        ("SELECT :a", {"a"}, "SELECT %(a)s"),
        ("SELECT :a, :b, :a", {"a", "b"}, "SELECT %(a)s, %(b)s, %(a)s"),
        ("SELECT ':a' || :b", {"b"}, "SELECT ':a' || %(b)s"),
        ("SELECT 'it''s :a' || :b", {"b"}, "SELECT 'it''s :a' || %(b)s"),
        ('SELECT ":a" FROM t', set(), 'SELECT ":a" FROM t'),
        ("SELECT :a -- not :b\n, :c", {"a", "c"}, "SELECT %(a)s -- not :b\n, %(c)s"),
        ("SELECT /* :a */ :b", {"b"}, "SELECT /* :a */ %(b)s"),
        ("SELECT n::text, :a", {"a"}, "SELECT n::text, %(a)s"),
        ("SELECT '100%' LIKE :a", {"a"}, "SELECT '100%%' LIKE %(a)s"),
    ],
)
def test_a_statement_is_spelt_for_both_drivers(sql: str, names: set[str], psycopg: str) -> None:
    read = statement(sql)
    assert read.names == names
    assert read.psycopg == psycopg.encode()


SQLSTATES = {
    "53100": "disk_full",
    "53300": "io_error",
    "58030": "io_error",
    "XX001": "ledger_damaged",
    "57014": "ledger_busy",
    "55P03": "ledger_busy",
    "3D000": "cannot_open",
    "28P01": "cannot_open",
    "42P01": "internal",
    "23503": "internal",
}


@pytest.mark.parametrize(("state", "code"), SQLSTATES.items())
def test_each_class_of_server_error_has_its_code(state: str, code: str) -> None:
    error = Exception("said")
    error.sqlstate = state  # type: ignore[attr-defined]
    fault = POSTGRES.fault(error)
    assert fault.error.code == code
    assert not fault.again


@pytest.mark.parametrize(
    ("state", "again", "lost"), [("40P01", True, False), ("40001", True, False), ("57P01", False, True)]
)
def test_a_victim_of_others_is_known_as_such(state: str, again: bool, lost: bool) -> None:
    error = Exception("said")
    error.sqlstate = state  # type: ignore[attr-defined]
    fault = POSTGRES.fault(error)
    assert (fault.again, fault.lost) == (again, lost)


def test_an_unknown_token_of_a_schema_file_is_an_error() -> None:
    assert SQLITE.render("x ${int}") == "x INTEGER"
    with pytest.raises(MinutebookError, match="wrong"):
        SQLITE.render("x ${wrong}")
