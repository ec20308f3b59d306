"""Seed 004: the extension point. A package is built, installed and used through the installed program: nothing of it
runs before it is enabled, what fails costs only itself, and disabling really does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packages import wheel
from tests.scenarios.program import PATIENCE
from tests.surfaces.services import Served, until

CODE = """
import os, pathlib, time, zlib
HERE = pathlib.Path(__file__).parent
(HERE / "loaded").touch()
(HERE / "seen").write_text("\\n".join(name for name in os.environ if name.startswith("MINUTEBOOK")))

class Hashing:
    dimensions = 64
    def embed(self, texts, purpose):
        if (HERE / "hang").exists():
            time.sleep(600)
        if (HERE / "raise").exists():
            raise RuntimeError("cannot read " + texts[0])
        rows = []
        for text in texts:
            row = [0.0] * 64
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1.0
            rows.append(row)
        return rows

class Remember:
    def extract(self, text):
        for line in text.splitlines():
            number, _, said = line.partition(" ")
            if "remember that" in said:
                yield {"type": "learning", "content": said.partition("remember that ")[2], "first": int(number),
                       "last": int(number), "confidence": 0.6}
        yield {"type": "no such type", "content": "x", "first": 1, "last": 1, "confidence": 0.6}
        yield {"type": "scope", "content": "Nobody ever said anything of this kind here.", "first": 1, "last": 1,
               "confidence": 0.9}
"""


def install(made: Path, site: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check",
         "--target", str(site), str(made)],
        check=True, timeout=PATIENCE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("providers")
    site = root / "site"
    made = wheel(
        root, "acme-memory", "1.2", CODE,
        {"minutebook.embedders": {"hashing": "Hashing"}, "minutebook.extractors": {"remember": "Remember"}},
    )  # fmt: skip
    install(made, site)
    program = Served(
        root / "h", root, MINUTEBOOK_PORT="0", PYTHONPATH=str(site), MINUTEBOOK_PROVIDER_SECONDS="5",
        MINUTEBOOK_PROVIDER_FAILURES="2", MINUTEBOOK_PROVIDER_PAUSE="600", MINUTEBOOK_MODEL_KEY="sesame",
    )  # fmt: skip
    program.ok("projects", "create", "Nostromo")
    program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
    try:
        yield program
    finally:
        program.end()


def standing(served: Served, name: str) -> str:
    return served.ok("providers", "show", name)["standing"]


def means(served: Served) -> dict[str, Any]:
    return served.ok("health")["meaning"]


def test_nothing_of_a_package_runs_before_an_operator_enables_it(served: Served) -> None:
    site = served.cwd / "site"
    assert {line["name"]: line["standing"] for line in served.ok("providers", "list")["items"]} == {
        "hashing": "available", "remember": "available",
    }  # fmt: skip
    served.ok("actors", "add", "Ripley")
    agent = {"MINUTEBOOK_AGENT": "Ripley"}
    assert served("providers", "enable", "hashing", "-o", "json", **agent).error()["code"] == "not_allowed"
    served.ok("memories", "write", "learning", "The proxy drops bodies that are too large.")
    assert not (site / "loaded").exists()
    assert served.ok("providers", "enable", "hashing")["sentence"] == "hashing is in use: 64 dimensions."
    assert (site / "loaded").exists()
    assert (site / "seen").read_text() == "", "our settings, and the keys among them, are not for others"


def test_an_enabled_embedder_is_what_search_goes_by(served: Served) -> None:
    until(lambda: means(served)["memories"] == 1 and means(served)["missing"] == 0, "it is embedded")
    assert means(served)["space"].startswith("acme-memory:hashing@")
    found = served.ok("search", "bodies dropped by proxy")
    assert "means much the same" in found["hits"][0]["why"]
    assert found["missing"] == []


def test_an_enabled_extractor_proposes_what_is_in_the_lines_that_it_cites_and_nothing_else(
    served: Served,
) -> None:
    served.ok("providers", "enable", "remember")
    receipt = served.ok("capture", "note", "hello\nremember that the sandbox resets every night at two")
    done = "read_by_model"
    until(
        lambda: any(
            event["subject"] == receipt["capture"] and event["kind"] == f"capture.{done}"
            for event in served.ok("events", "list")["items"]
        ),
        "the extractor has read it",
    )
    told = next(event for event in served.ok("events", "list")["items"] if event["kind"] == f"capture.{done}")
    assert told["detail"]["model"] == "acme-memory:remember"
    assert (told["detail"]["found"], told["detail"]["refused_lines"]) == (1, 2)
    [waits] = served.ok("inbox", "list")["items"]
    proposal = served.ok("inbox", "show", waits["slug"])["proposal"]
    assert proposal["content"] == "the sandbox resets every night at two"
    assert (proposal["origin"], proposal["evidence"][0]["span"]) == ("extraction", "2-2")


def test_one_that_was_killed_is_started_again_by_the_next_who_asks(served: Served) -> None:
    served.ok("search", "something new")
    pid = served.ok("providers", "show", "hashing")["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: served.ok("providers", "show", "hashing")["pid"] != pid, "it is seen")
    assert served.ok("search", "something newer")["missing"] == []
    assert served.ok("providers", "show", "hashing")["pid"] not in (None, pid)
    assert standing(served, "hashing") == "enabled"


def test_one_that_fails_is_left_alone_said_by_health_and_search_goes_on_by_words(served: Served) -> None:
    site = served.cwd / "site"
    (site / "raise").touch()
    try:
        for number in range(2):
            found = served.ok("search", f"proxy {number}")
            assert [hit["slug"] for hit in found["hits"]][:1] != []
            assert "hashing" in json.dumps(found["missing"])
        assert standing(served, "hashing") == "cooling"
        health = served.ok("health")
        assert health["state"] == "degraded"
        [finding] = [
            each for each in health["findings"] if "hashing" in each["what"] and "left alone" in each["what"]
        ]
        assert "it raised RuntimeError" in finding["what"]
        assert "cannot read" not in json.dumps(health), "what it raised may quote what it was given"
        [line] = [each for each in health["providers"] if each["name"] == "hashing"]
        assert (line["standing"], line["failures"]) == ("cooling", 2)
    finally:
        (site / "raise").unlink()


def test_disabling_ends_its_process_and_enabling_begins_anew(served: Served) -> None:
    served.ok("providers", "disable", "hashing")
    assert standing(served, "hashing") == "available"
    assert served.ok("providers", "show", "hashing")["pid"] is None
    assert means(served)["space"] is None
    assert means(served)["absent"].startswith("No model is installed")
    served.ok("providers", "enable", "hashing")
    assert standing(served, "hashing") == "enabled"
    served.ok("search", "proxy again")
    pid = served.ok("providers", "show", "hashing")["pid"]
    served.ok("providers", "disable", "hashing")
    until(lambda: not Path(f"/proc/{pid}/cmdline").exists(), "it is gone")


def test_one_that_hangs_holds_up_nobody(served: Served) -> None:
    site = served.cwd / "site"
    served.ok("providers", "enable", "hashing")
    (site / "hang").touch()
    try:
        found = served.ok("search", "proxy that hangs")
        assert "did not answer in its time" in json.dumps(found["missing"])
        assert found["hits"] != []
        wrote = served.ok(
            "memories", "write", "learning", "Writes never wait for an embedder, whatever it does."
        )
        assert wrote["op"] == "add"
    finally:
        (site / "hang").unlink()


def test_enabled_stays_enabled_over_a_kill_of_the_service_and_its_children_die_with_it(
    served: Served,
) -> None:
    served.ok("providers", "disable", "hashing")
    served.ok("providers", "enable", "hashing")
    served.ok("search", "proxy before the end")
    child = served.ok("providers", "show", "hashing")["pid"]
    assert child is not None
    served.end()
    until(lambda: not Path(f"/proc/{child}/cmdline").exists(), "it ended with its service")
    assert standing(served, "hashing") == "enabled"
    assert served.ok("search", "proxy after the end")["missing"] == []


def test_a_second_package_of_the_same_name_is_refused_and_disturbs_nothing(served: Served) -> None:
    made = wheel(served.cwd, "evil-memory", "9", CODE, {"minutebook.embedders": {"hashing": "Hashing"}})
    install(made, served.cwd / "site")
    shown = served.ok("providers", "show", "hashing")
    assert (shown["standing"], shown["package"], shown["rivals"]) == (
        "enabled",
        "acme-memory",
        ["evil-memory"],
    )
    served.ok("providers", "disable", "hashing")
    refused = served("providers", "enable", "hashing", "-o", "json").error()
    assert (refused["code"], refused["details"]["packages"]) == ("ambiguous", ["acme-memory", "evil-memory"])
    assert served.ok("events", "list", "--kind", "provider.collision")["items"] != []
