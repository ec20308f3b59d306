"""Every dialect: any text is read, its spans cover it, and it costs no more than its size."""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.files.document import Document
from minutebook.files.entries import Dialect, alike
from minutebook.files.reading import dialect_of, parse
from minutebook.model.errors import MinutebookError
from tests.files.fuzzing import MOST_SECONDS, PARSERS, SEEDS, fuzz
from tests.files.parsing import PATHS, TEXTS, check_spans

SLOW = HealthCheck.too_slow, HealthCheck.data_too_large


# --- universal ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(text=TEXTS)
def test_any_text_is_read_and_its_spans_cover_it(dialect: Dialect, text: str) -> None:
    data = text.encode("utf-8", "replace")
    check_spans(parse(PATHS[dialect], data, dialect=dialect, team=("ripley",)), data)


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_are_an_error_with_a_line(dialect: Dialect, data: bytes) -> None:
    try:
        check_spans(parse(PATHS[dialect], data, dialect=dialect), data)
    except MinutebookError as error:
        if error.code != "bad_file" or not 1 <= error.details["line"] <= data.count(b"\n") + 1:
            raise


@pytest.mark.parametrize("parser", PARSERS)
def test_a_text_that_a_parser_takes_and_what_is_bred_from_it_is_read(parser: str) -> None:
    assert fuzz(parser, 300, seed=7).slowest < MOST_SECONDS
    if parser in SEEDS:
        assert PARSERS[parser](SEEDS[parser]), "the seed itself is not read"


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("parser", PARSERS)
def test_very_many_texts_are_read(parser: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as MINUTEBOOK_FUZZ says; `make fuzz` gives each parser a million."""
    told = fuzz(parser, int(os.environ.get("MINUTEBOOK_FUZZ", "60000")), seed=random.randrange(1 << 32))
    with capsys.disabled():
        print(f"\n{told}")
    assert told.slowest < MOST_SECONDS


def hostile(size: int) -> dict[str, bytes]:
    """Inputs on which a careless pattern, or a loop within a loop, takes minutes."""
    heading = b"### 2026-02-14: Same again\n**By:** Ripley\n**What:** One thing.\n\n"
    lines = {
        "one long line": b"a",
        "stars": b"*",
        "bold": b"**a",
        "spaces": b" \t",
        "items": b"- [",
        "brackets": b"[",
        "fences": b"```\n~~~~\n````x\n",
        "comments": b"<!--\n",
        "colons": b"a: ",
        "hashes": b"### #\n",
        "dates": b"2026-02-14T",
        "dated headings": b"# 2026-02-14\n",
        "rules": b"- ",
        "rule lines": b"---\n",
        "headings": heading,
        "sections": b"## Context\n",
        "fields": b"**By:** a | ",
        "field lines": b"**By:** a\n",
        "keys": b"a: b\n",
        "json": b'{"a":',
        "pins": "📌 Team update (".encode(),
        "pin lines": "📌 x\n".encode(),
        "our entries": b"## x\n**Type:** scope | **By:** a\n**Id:** 1 | **Date:** 2026\n\n---\n",
        "observations": b"- [a] b\n",
        "imports": b"@a\n- [b](b.md)\n",
    }
    return {name: piece * (size // len(piece)) for name, piece in lines.items()}


#: Bytes of a hostile text; it is then made four times as long.
HOSTILE = 15_000

WITH_MATTER = (
    Dialect.NOTE,
    Dialect.DROP_BOX,
    Dialect.ADR,
    Dialect.BASIC_MEMORY,
    Dialect.FOCUS,
    Dialect.WISDOM,
)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_hostile_input_costs_no_more_than_its_size(dialect: Dialect) -> None:
    larger = hostile(4 * HOSTILE)
    for name, data in hostile(HOSTILE).items():
        for above in (b"", b"---\ntitle: x\n---\n") if dialect in WITH_MATTER else (b"",):
            once = seconds_for(dialect, above + data)
            # Four times the text takes four times as long, and sixteen times where a loop runs within a loop.
            # What is over at once says nothing of its growth.
            assert seconds_for(dialect, above + larger[name]) < 9 * max(once, 0.005), name


def seconds_for(dialect: Dialect, data: bytes) -> float:
    """The shortest of three, on this process's own clock: what others do on the machine does not count."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        parsed = parse(PATHS[dialect], data, dialect=dialect)
        spent.append(time.process_time() - began)
    check_spans(parsed, data)
    return min(spent)


def test_a_megabyte_with_a_thousand_duplicate_headings() -> None:
    block = (
        b"### 2026-02-14: Same again\n**By:** Ripley\n\n" + b"A line of what was decided then.\n" * 32 + b"\n"
    )
    data = block * 1_000
    began = time.process_time()
    parsed = parse(".squad/decisions.md", data)
    spent = time.process_time() - began
    check_spans(parsed, data)
    assert len(parsed.entries) == 1_000
    assert [len(same) for same in alike(parsed.entries)] == [1_000]
    assert spent < 0.05 * len(data) / 100_000 * 3  # 50 ms for 100 kB, on a machine that has other work too


@pytest.mark.parametrize(
    ("path", "text", "dialect"),
    [
        (".squad/decisions/inbox/a.md", "", Dialect.DROP_BOX),
        (".ai-team/decisions/archive/2026.md", "", Dialect.LEDGER),
        (".ai-team/agents/linus/history-archive.md", "", Dialect.HISTORY),
        ("sub/AGENTS.md", "", Dialect.INSTRUCTIONS),
        ("docs/adr/use-x.md", "", Dialect.ADR),
        ("doc/decisions/0004-use-x.md", "", Dialect.ADR),
        (".agh/agents/kim/memory/user_a.md", "", Dialect.NOTE),
        ("kb/a.md", "---\ntitle: x\npermalink: a\n---\n", Dialect.BASIC_MEMORY),
        ("kb/a.md", "---\nname: x\ntype: user\n---\n", Dialect.NOTE),
        ("notes.md", "## 2026-02-14: x\n", Dialect.LEDGER),
        ("notes.md", "# x\n", Dialect.INSTRUCTIONS),
        (".squad/decisions.md", "<!-- minutebook mirror decisions: -->\n", Dialect.MIRROR),
    ],
)
def test_a_file_says_by_its_path_or_its_words_how_it_is_read(path: str, text: str, dialect: Dialect) -> None:
    assert dialect_of(path, Document(text.encode())) is dialect
