"""The estimate of tokens: never too few beside real vocabularies, and not many too many for prose."""

from __future__ import annotations

import base64
import json
import random
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from minutebook.policy.token_counts import estimate

ROOT = Path(__file__).parents[2]
#: Vocabularies of seven families; each comes with the package, none is fetched.
VOCABULARIES = ("o200k_base", "cl100k_base", "llama3", "qwen3", "deepseek_v3", "glm4", "kimi_k2")
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

PROSE = {
    page: (ROOT / page).read_text("utf-8")
    for page in ("README.md", "ARCHITECTURE.md", "SECURITY.md", "GLOSSARY.md", "LICENSE", "docs/TESTING.md")
}
CODE = {
    name: (ROOT / name).read_text("utf-8")
    for name in (
        "src/minutebook/policy/judge.py",
        "src/minutebook/model/text.py",
        "src/minutebook/surfaces/cli/human.py",
        "src/minutebook/ledger/schema/0001_ledger.sql",
        "Makefile",
        "pyproject.toml",
    )
}


def _ulid(chance: random.Random) -> str:
    return "".join(chance.choice(CROCKFORD) for _ in range(26))


def _json() -> dict[str, str]:
    chance = random.Random(3)
    rows: list[dict[str, Any]] = [
        {
            "id": _ulid(chance),
            "title": "The staging proxy drops bodies over 1 MB",
            "tags": ["infra", "cross-team"],
            "revision": chance.randrange(9),
            "confidence": chance.random(),
            "superseded_by": None,
            "created_at": f"2026-11-{chance.randrange(10, 29)}T09:30:00.{chance.randrange(10**6):06d}Z",
        }
        for _ in range(20)
    ]
    return {
        "indented": json.dumps(rows, indent=2),
        "flat": json.dumps(rows),
        "compact": json.dumps(rows, separators=(",", ":")),
    }


CJK = {
    "chinese": "所有服务都把状态保存在同一个数据库里。代理提出建议，协调者进行审查，只有被接受的内容才会成为团队的决定。"
    "如果测试失败，请先查看日志，然后再修改代码。",
    "japanese": "すべてのサービスは状態を一つのデータベースに保存します。エージェントは提案し、コーディネーターが確認し、"
    "承認されたものだけがチームの決定になります。テストが失敗したら、まずログを見てください。",
    "korean": "모든 서비스는 하나의 데이터베이스에 상태를 저장합니다. 에이전트는 제안하고 조정자는 검토하며 승인된 것만 "
    "팀의 결정이 됩니다. 테스트가 실패하면 먼저 로그를 확인하세요.",
    "traditional": "請先閱讀繁體中文說明文件，再依照指示設定資料庫連線與權限，避免覆蓋既有的資料。王小明和李建國在臺北市"
    "信義區的辦公室討論了關於伺服器遷移的事宜，並決議於下週三凌晨兩點執行。",
    "rare": "霾、鑫、龘、饕餮、魑魅魍魉、踌躇满志、囫囵吞枣。「それは違います」ゞゝヽヾ 뷁 쉙 꿻 휅 ㍿ ⼈ 㐀",
    "mixed": "部署前先运行 `make check`，然后检查 CI 的结果。リリース 2.0 は金曜日です。",
}


def _marks() -> dict[str, str]:
    chance = random.Random(5)
    return {
        "emoji": "🚀🔥✅ shipped 👍🏽 👨‍👩‍👧‍👦 ❤️ 🇩🇪 🧑‍💻 ⚠️ careful 🎉🎉🎉 ✨",
        "ulids": "\n".join(_ulid(chance) for _ in range(30)),
        "hex": "\n".join(f"{chance.getrandbits(256):064x}" for _ in range(20)),
        "uuids": "\n".join(str(uuid.UUID(int=chance.getrandbits(128))) for _ in range(20)),
        "base64": base64.b64encode(chance.randbytes(900)).decode(),
        "people": "* Barry Warsaw\n* Donghee Na\n* Savannah Ostrowski\n* Mariatta Wijaya\n* Serhiy Storchaka\n",
        "handles": "- @BurntSushi\n- @calebzulawski\n- @hsivonen\n- @KodrAus\n- @Lokathor",
        "rare words": "- Daniel Larsson's pythondoc_ & gendoc_",
        "short": "Parses all `Set-Cookie` headers.",
        "paths": "src/app/login_page.py:126 tests/test_login.py --timeout=1800 https://example.org/a/b?c=d#e",
    }


SAMPLES = {**PROSE, **CODE, **_json(), **CJK, **_marks()}


@cache
def vocabulary(name: str) -> Any:
    splintr = pytest.importorskip("splintr", reason="the dev extra brings it")
    return splintr.Tokenizer.from_pretrained(name)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("sample", SAMPLES)
def test_no_text_is_more_tokens_than_the_estimate_says(sample: str, name: str) -> None:
    assert estimate(SAMPLES[sample]) >= len(vocabulary(name).encode(SAMPLES[sample]))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_no_paragraph_of_english_or_code_is_undercounted_either(name: str) -> None:
    """A memory is a paragraph, so what holds for a page must hold for its parts."""
    short = []
    for text in (*PROSE.values(), *CODE.values()):
        for paragraph in text.split("\n\n"):
            if paragraph.strip() and estimate(paragraph) < len(vocabulary(name).encode(paragraph)):
                short.append(paragraph)
    assert short == []


@pytest.mark.parametrize("page", PROSE)
def test_prose_is_overcounted_by_less_than_two_fifths(page: str) -> None:
    real = len(vocabulary("o200k_base").encode(PROSE[page]))
    assert estimate(PROSE[page]) < 1.4 * real


def test_the_estimate_of_parts_is_that_of_the_whole_or_more() -> None:
    """A budget adds up blocks; joined by a blank line they must not come to more than their sum and the lines."""
    for text in (*PROSE.values(), *CODE.values()):
        parts = text.split("\n\n")
        assert estimate(text) <= sum(estimate(part) + 1 for part in parts)


def test_the_estimate_knows_nothing_but_the_text() -> None:
    assert estimate("") == 0
    assert estimate("a") == estimate("".join(["a"])) == 3
    assert estimate("x" * 100_000) > 10_000
    long = "word " * 50_000
    assert estimate(long) == estimate("".join(long))
