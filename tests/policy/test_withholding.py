"""Which lines of a text are blanked before it is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.text import plain
from minutebook.policy import secrets
from minutebook.policy.withholding import WITHHELD, credential_lines, without_lines

TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
BODY = ["MIIEpAIBAAKCAQEA7bq3Zk9XvW2Qm8sT4uYp1LcRjF0hGdNeKiOaBxCzVyHwUtSr"] * 8
KEY = ["-----BEGIN RSA PRIVATE KEY-----", *BODY, "QmFzZTY0", "-----END RSA PRIVATE KEY-----"]


def test_nothing_is_blanked_where_there_is_nothing() -> None:
    assert credential_lines("# Decisions\n\nUse PostgreSQL.\n") == {}


def test_a_line_with_a_token_is_blanked_and_the_others_stay_where_they_are() -> None:
    text = f"one\r\nkey {TOKEN}\r\nthree"
    assert credential_lines(text) == {2: "github_token"}
    assert without_lines(text, [2]) == f"one\r\n{WITHHELD}\r\nthree"


def test_a_private_key_is_blanked_to_its_last_line() -> None:
    text = "\n".join(["before", *KEY, "after", f"and {TOKEN}"])
    found = credential_lines(text) or {}
    assert sorted(found) == [*range(2, 2 + len(KEY)), len(KEY) + 3]
    assert without_lines(text, found).split("\n")[0] == "before"
    assert "MII" not in without_lines(text, found)


@given(
    lines=st.lists(
        st.sampled_from(["", "text", "## 2026-01-01", "a=b", *KEY, TOKEN, f"token: {TOKEN}"]), max_size=25
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_left_holds_no_credential_and_has_as_many_lines(lines: list[str], end: str) -> None:
    text = end.join(lines)
    found = credential_lines(text)
    assert found is not None
    left = without_lines(text, found)
    assert secrets.look(plain(left))[0] == []
    assert left.count("\n") == text.count("\n")
