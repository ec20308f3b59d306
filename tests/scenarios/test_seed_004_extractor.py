"""Seed 004 (AGH): what it says of its extractor, and where it broke there. Through the installed program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.surfaces.services import Served, until

RIPLEY = {"MINUTEBOOK_AGENT": "Ripley"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("extractor")
    program = Served(root / "h", root, MINUTEBOOK_PORT="0")
    program.ok("projects", "create", "Nostromo")
    program.environment["MINUTEBOOK_PROJECT"] = "nostromo"
    program.ok("actors", "add", "Ripley")
    try:
        yield program
    finally:
        program.end()


def read(served: Served, capture: str) -> dict[str, Any]:
    until(lambda: served.ok("captures", "show", capture)["state"] == "done", "it was read")
    return served.ok("captures", "show", capture)


def said(role: str, words: Any, **more: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "content": words}, **more})


def finish(served: Served, *lines: str) -> dict[str, Any]:
    run = served.ok("runs", "start", **RIPLEY)["run"]["id"]
    file = served.cwd / f"{run}.jsonl"
    file.write_text("\n".join(lines))
    return served.ok("runs", "finish", run, "--transcript", f"@{file}", **RIPLEY)


def test_every_candidate_passes_the_controller_and_its_verdict_is_on_record(served: Served) -> None:
    report = finish(served, said("user", "Never store prices as floats, always as integers of cents."))
    [piece] = read(served, report["capture"])["pieces"]
    verdicts = served.ok("verdicts", "list", "--limit", "1000")["items"]
    [verdict] = [one for one in verdicts if one["subject"] == piece["slug"]]
    assert verdict["op"] == "hold"
    whole = served.ok("verdicts", "show", verdict["id"])
    assert (whole["origin"], whole["source"]) == ("extraction", report["transcript"])


def test_what_a_run_wrote_by_a_tool_is_not_found_once_more_in_what_it_said(served: Served) -> None:
    words = "Turns out the sandbox of the vendor resets itself every night at two o'clock."
    run = served.ok("runs", "start", **RIPLEY)["run"]["id"]
    inside = {**RIPLEY, "MINUTEBOOK_RUN": run}
    served.ok("memories", "write", "learning", words, **inside)
    file = served.cwd / "own.jsonl"
    file.write_text(said("assistant", words) + "\n" + said("user", "Please always rebase before a merge."))
    report = served.ok("runs", "finish", run, "--transcript", f"@{file}", **inside)
    shown = read(served, report["capture"])
    assert (shown["outcome"]["own"], shown["outcome"]["proposed"]) == (1, 1)


def test_a_turn_of_the_side_chain_of_a_tool_or_of_the_host_is_nobodys_word(served: Served) -> None:
    words = "We decided to use Kafka instead of RabbitMQ for every event."
    report = finish(
        served,
        said("user", "hello there"),
        said("assistant", words, isSidechain=True),
        said("user", [{"type": "tool_result", "content": words}]),
        said("user", f"<system-reminder>{words}</system-reminder>"),
        said("user", f"<task-notification>{words}</task-notification>"),
        said("assistant", "I have stored the decision that we use Kafka instead of RabbitMQ in minutebook."),
    )
    shown = read(served, report["capture"])
    assert shown["outcome"]["found"] == 0
    assert [stage["said"] for stage in shown["stages"]][1].startswith("0 found")


def test_what_the_ledger_itself_told_an_agent_is_not_learned_from_it(served: Served) -> None:
    """The defect of the first version: it saved its own chatter."""
    served.ok("decisions", "write", "architectural", "Beacon", "We decided that a beacon never speaks first.")
    told = served("context", **RIPLEY).out
    assert "never speaks first" in told
    report = finish(served, said("user", f"This is what I was told:\n{told}"), said("assistant", told))
    assert read(served, report["capture"])["outcome"]["found"] == 0


def test_two_facts_that_begin_alike_get_names_of_their_own_and_none_is_overwritten(served: Served) -> None:
    """The defect of the first version: generated names collided, and one entry overwrote another."""
    begin = "Turns out the checkout service of the northern region needs the second proxy"
    texts = [f"{begin} for {what}." for what in ("refunds at night", "vouchers of partners")]
    receipts = [served.ok("capture", "note", text) for text in texts]
    pieces = [read(served, receipt["capture"])["pieces"] for receipt in receipts]
    slugs = {piece["slug"] for found in pieces for piece in found}
    assert len(slugs) == 2
    assert {served.ok("inbox", "show", slug)["proposal"]["content"] for slug in slugs} == set(texts)


def test_an_empty_turn_is_passed_over_and_said_to_be_empty(served: Served) -> None:
    report = finish(served, " ", "")
    assert (report["capture"], report["transcript_note"]) == (None, "There was nothing in the transcript.")


def test_one_bad_line_costs_itself_alone(served: Served) -> None:
    """The defect of the first version: one line that could not be read failed the whole batch."""
    report = finish(
        served,
        said("user", "hello there"),
        '{"type": "user", "message": {"role": "user", "content": "cut off',
        "a line of prose",
        "[1, 2",
        said("user", "Migrations must never be edited once they are merged."),
    )
    [piece] = read(served, report["capture"])["pieces"]
    assert (piece["type"], piece["span"]) == ("process", "5-5")


def test_a_completion_is_an_event_with_counts_and_without_words(served: Served) -> None:
    report = finish(served, said("user", "Never mix tabs and spaces within one of the files."))
    read(served, report["capture"])
    event = served.ok("events", "list", "--kind", "capture.extracted", "--limit", "1")["items"][0]
    assert (event["subject"], event["detail"]["found"]) == (report["capture"], 1)
    assert "tabs" not in json.dumps(event)


def test_what_was_extracted_is_never_injected_before_somebody_accepted_it(served: Served) -> None:
    receipt = served.ok(
        "capture", "note", "We decided to use Zebra instead of Quagga for the routing tables."
    )
    [piece] = read(served, receipt["capture"])["pieces"]
    assert "Zebra" not in json.dumps(served.ok("search", "zebra quagga")["hits"])
    served.ok("inbox", "promote", piece["slug"])
    assert "Zebra" in json.dumps(served.ok("search", "zebra quagga")["hits"])


def test_a_service_that_is_ended_drains_what_it_took_and_loses_nothing(served: Served) -> None:
    receipts = [
        served.ok(
            "capture", "note", f"Turns out the relay of deck {number} drops every packet above one MTU."
        )
        for number in range(4)
    ]
    served.ok("stop")
    for receipt in receipts:
        assert read(served, receipt["capture"])["outcome"]["found"] == 1
    status = served.ok("health")["jobs"]
    assert (status["dead"], status["todo"]) == (0, status["todo"])


def test_the_lots_of_one_failure_are_listed_and_replayed_without_doubling_anything(served: Served) -> None:
    receipt = served.ok(
        "capture", "note", "Turns out the second airlock opens only after the first was sealed."
    )
    read(served, receipt["capture"])
    again = [served.ok("captures", "extract", receipt["capture"]) for _ in range(2)]
    for one in again:
        assert read(served, one["capture"])["outcome"] == {
            "form": "text", "turns": 1, "found": 1, "known": 1,
        }  # fmt: skip
    assert len(read(served, receipt["capture"])["pieces"]) == 1
