"""Seed 001 (Agentweaver, "Scribe's role in memory") and seed 000 (promotion): what happens after a run.

Through the installed program, one process for each command, on both databases. The second half are faults that the
original shipped with, each as a promise of ours.
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.program import Program, finished

LESSON = "The staging proxy drops every body above one megabyte."
BORDER = "All services keep their state in one PostgreSQL server."


class Team(Program):
    """The program in a workspace, as the agents of a team use it."""

    def start_run(self, agent: str, *words: str) -> str:
        return self.ok("runs", "start", *words, MINUTEBOOK_AGENT=agent)["run"]["id"]

    def submit(self, agent: str, run: str, type: str, content: str, *words: str) -> str:
        answer = self.ok(
            "inbox", "submit", type, content[:30], content, *words, MINUTEBOOK_AGENT=agent, MINUTEBOOK_RUN=run
        )
        return answer["slug"]

    def finish(self, agent: str, run: str, *words: str) -> dict[str, Any]:
        return self.ok("runs", "finish", run, *words, MINUTEBOOK_AGENT=agent)

    def told(self, agent: str, *words: str) -> str:
        """The block that the next run of an agent starts with, as it is printed."""
        done = self("context", "--agent", agent, *words)
        assert done.code == 0, done.err
        return done.out


@pytest.fixture
def team(tmp_path: Path, ledger_url: str) -> Team:
    work = tmp_path / "work"
    work.mkdir()
    made = Team(tmp_path / "home", work, ledger_url, {"MINUTEBOOK_LOCK_WAIT": "100"})
    made.ok("init")
    made.ok("agents", "add", "Ripley", "--charter", "You own the importer.")
    made.ok("actors", "add", "Dallas", "--role", "coordinator")
    return made


def slugs(lines: list[dict[str, Any]]) -> list[str]:
    return [line["slug"] for line in lines]


def test_the_whole_loop_from_a_learning_to_the_next_runs_block(team: Team) -> None:
    """An agent proposes in its run, the run ends, the scribe promotes, and the next run knows it.

    A boundary that it proposed is in nobody's block until a reviewer acts, and then in everybody's.
    """
    team.ok("sessions", "start", "The importer")
    run = team.start_run("ripley", "--task", "fix the upload")
    lesson = team.submit("ripley", run, "learning", LESSON, "--importance", "high")
    border = team.submit("ripley", run, "architectural", BORDER)
    assert LESSON not in team.told("ripley")
    report = team.finish("ripley", run, "--summary", "Uploads work.")
    assert (slugs(report["promoted"]), slugs(report["waiting"])) == ([lesson], [border])
    assert report["waiting"][0]["risk"] == "high"

    second = team.ok("runs", "start", "--task", "fix the upload", MINUTEBOOK_AGENT="ripley")
    text = second["snapshot"]["bundle"]["text"]
    assert f"| {LESSON}" in text
    assert "**learning** by ripley, kept by the scribe" in text
    assert "| You own the importer." in text
    assert "Run of ripley completed (fix the upload): Uploads work." in text
    assert BORDER not in text

    team.ok("inbox", "promote", border)
    assert f"| {BORDER}" in team.told("ripley")
    assert f"| {BORDER}" in team.told("bishop")
    assert team.ok("runs", "show", second["run"]["id"])["snapshot"]["bundle"]["text"] == text
    seen = team.ok("memories", "seen", lesson, MINUTEBOOK_AGENT="ripley")["items"]
    assert [(one["run"], one["revision"]) for one in seen] == [(second["run"]["id"], 1)]


def test_a_person_reads_the_report_and_the_run_at_the_terminal(team: Team) -> None:
    run = team.start_run("ripley", "--task", "fix the upload")
    team.submit("ripley", run, "learning", LESSON, "--slug", "proxy")
    team.submit("ripley", run, "scope", BORDER, "--slug", "one-server")
    done = team("runs", "finish", run, MINUTEBOOK_AGENT="ripley")
    assert done.code == 0
    assert "The run of ripley completed: 1 promoted, 1 waiting for review." in done.out
    assert "proxy" in done.out
    assert "one-server" in done.out
    listed = team("runs", "list")
    assert (run in listed.out, "finished" in listed.out) == (True, True)
    shown = team("runs", "show", run)
    assert "| You own the importer." in shown.out
    assert "charter" in shown.out


def test_a_transcript_is_read_from_a_file_and_kept(team: Team) -> None:
    (team.cwd / "talk.txt").write_text("Ripley: it drops bodies.\n")
    run = team.start_run("ripley")
    assert team.finish("ripley", run, "--transcript", "@talk.txt")["transcript"]


# --- faults of the original (reference: its promotion paths, as they really were) ------------------------


def test_what_is_promoted_reaches_the_next_prompt(team: Team) -> None:
    """There, promoted learnings became decisions of types that no context ever read."""
    run = team.start_run("ripley")
    team.submit("ripley", run, "learning", LESSON, "--importance", "high", "--slug", "learning")
    team.submit(
        "ripley", run, "pattern", "Restart the worker first.", "--importance", "high", "--slug", "pattern"
    )
    team.submit("ripley", run, "update", "Uploads moved to port nine.", "--slug", "update")
    assert len(team.finish("ripley", run)["promoted"]) == 3
    told = team.told("ripley", "--task", "which port do uploads have")
    assert told.count("kept by the scribe") == 3
    assert team.ok("decisions", "list")["items"] == []


def test_tags_importance_title_and_reason_survive_promotion(team: Team) -> None:
    """There, they were dropped or fixed to one value, and the entry had no link back."""
    run = team.start_run("ripley")
    words = ("--importance", "high", "--tag", "cross-team", "--tag", "infra", "--rationale", "Measured.")
    slug = team.submit("ripley", run, "learning", LESSON, *words)
    (one,) = team.finish("ripley", run)["promoted"]
    memory = team.ok("memories", "show", one["memory"])["memory"]
    assert (memory["importance"], memory["tags"], memory["rationale"]) == (
        "high",
        ["cross-team", "infra"],
        "Measured.",
    )
    assert (memory["title"], memory["proposal"]) == (LESSON[:30].strip(), one["proposal"])
    assert team.ok("inbox", "show", slug)["proposal"]["memory"] == one["memory"]


def test_a_proposal_of_an_earlier_run_that_this_one_changed_is_not_passed_over(team: Team) -> None:
    """There, only what was created since the run began was looked at."""
    first = team.start_run("ripley")
    team.submit("ripley", first, "learning", "A first guess.", "--slug", "proxy")
    second = team.start_run("ripley")
    team.submit("ripley", second, "learning", LESSON, "--slug", "proxy")
    assert slugs(team.finish("ripley", second)["promoted"]) == ["proxy"]


def test_a_failed_run_is_not_called_completed(team: Team) -> None:
    """There, the line in the session said completed whatever had happened."""
    team.ok("sessions", "start", "The importer", "--summary", "Begun.")
    run = team.start_run("ripley", "--task", "fix it")
    report = team.finish("ripley", run, "--outcome", "failed", "--summary", "No network.")
    assert "failed" in report["sentence"]
    summary = team.ok("sessions", "current")["summary"]
    assert summary == "Begun.\nRun of ripley failed (fix it): No network."


def test_the_workers_that_do_the_work_have_a_scribe(team: Team) -> None:
    """There, child runs that succeeded ended without one, and what they proposed waited for ever."""
    lead = team.ok("runs", "start", "--task", "lead", MINUTEBOOK_AGENT="dallas")["run"]["id"]
    words = ("--agent", "Bishop", "--parent", lead)
    child = team.ok("runs", "start", *words, MINUTEBOOK_AGENT="dallas")["run"]["id"]
    team.submit("bishop", child, "learning", LESSON, "--slug", "proxy")
    assert slugs(team.finish("bishop", child)["promoted"]) == ["proxy"]


@pytest.mark.parametrize("spelling", ["Dallas", "DALLAS", "dallas"])
def test_the_backstop_finds_the_coordinator_however_its_name_is_written(team: Team, spelling: str) -> None:
    """There, one part wrote the name with a capital and the other looked for it without: it found nothing."""
    run = team.start_run(spelling)
    border = team.submit(spelling, run, "architectural", BORDER)
    process = team.submit(spelling, run, "process", "Two people read every change.")
    report = team.finish("dallas", run)
    assert [(one["slug"], one["rule"]) for one in report["promoted"]] == [(border, "backstop")]
    assert slugs(report["waiting"]) == [process]
    assert f"| {BORDER}" in team.told("ripley")


def test_what_waits_is_an_event_and_not_a_line_in_a_servers_log(team: Team) -> None:
    """There, the counts went to the log, and the event that was specified was never sent."""
    run = team.start_run("ripley")
    team.submit("ripley", run, "learning", LESSON)
    team.submit("ripley", run, "scope", BORDER)
    report = team.finish("ripley", run)
    log = team.ok("events", "list", "--limit", "100")["items"]
    (told,) = [event for event in log if event["kind"] == "scribe.reported"]
    assert (told["actor"], told["subject"]) == ("scribe", run)
    assert told["detail"]["waiting"] == [report["waiting"][0]["proposal"]]
    assert team.ok("inbox", "digest")["sentence"].startswith("1 waits, 1 of them a boundary")


def test_what_the_scribe_cannot_do_changes_nothing_about_how_the_run_ended(team: Team) -> None:
    """There, a scribe that failed made the run a failed one."""
    run = team.start_run("ripley")
    team.submit("ripley", run, "learning", LESSON, "--slug", "proxy")
    theirs = team.ok("inbox", "submit", "learning", LESSON[:30], LESSON, MINUTEBOOK_AGENT="ash")["slug"]
    team.ok("inbox", "reject", theirs, "it is not so")
    report = team.finish("ripley", run)
    assert (report["outcome"], report["promoted"]) == ("completed", [])
    assert [(one["slug"], one["code"]) for one in report["refused"]] == [("proxy", "tombstoned")]
    assert team.ok("runs", "show", run)["run"]["status"] == "finished"


def test_no_agent_ends_the_run_of_another_or_writes_in_it(team: Team) -> None:
    """There, the tools were bound to whatever name the prompt said."""
    run = team.start_run("ripley")
    for words in (("runs", "finish", run), ("runs", "abandon", run), ("runs", "reload", run)):
        assert team(*words, "-o", "json", MINUTEBOOK_AGENT="ash").error()["code"] == "other_agent"
    written = team(
        "memories", "write", "learning", LESSON, "-o", "json", MINUTEBOOK_AGENT="ash", MINUTEBOOK_RUN=run
    )
    assert written.error()["code"] == "other_agent"


# --- crashes and races ----------------------------------------------------------------------------------


def test_two_processes_that_finish_one_run_at_once_hear_one_report(team: Team) -> None:
    run = team.start_run("ripley")
    team.submit("ripley", run, "learning", LESSON)
    started = [
        team.start(
            "runs", "finish", run, "--summary", f"by {number}", "-o", "json", MINUTEBOOK_AGENT="ripley"
        )
        for number in range(4)
    ]
    done = [finished(process) for process in started]
    assert [(one.code, one.err) for one in done] == [(0, "")] * len(done)
    reports = [one.json() for one in done]
    assert reports == [reports[0]] * len(reports)
    log = team.ok("events", "list", "--limit", "100")["items"]
    kinds = [event["kind"] for event in log if event["run"] == run]
    assert (
        kinds.count("run.finished"),
        kinds.count("scribe.reported"),
        kinds.count("proposal.promoted"),
    ) == (1, 1, 1)


def test_a_run_whose_process_was_killed_is_open_and_can_be_finished_or_abandoned(team: Team) -> None:
    run = team.start_run("ripley", "--task", "fix it")
    team.submit("ripley", run, "learning", LESSON, "--slug", "proxy")
    killed = team.start("runs", "finish", run, "--transcript", "-", "-o", "json", MINUTEBOOK_AGENT="ripley")
    killed.send_signal(signal.SIGKILL)
    try:
        killed.communicate(timeout=60)
    except subprocess.TimeoutExpired:  # pragma: no cover
        pytest.fail("it did not end")
    assert killed.returncode == -signal.SIGKILL
    (line,) = team.ok("runs", "list", "--status", "open")["items"]
    assert (line["id"], line["agent"], line["task"]) == (run, "ripley", "fix it")
    report = team.ok("runs", "abandon", run, "--reason", "it was killed")
    assert (report["outcome"], slugs(report["promoted"])) == ("abandoned", ["proxy"])
    assert team.finish("ripley", run) == report


def test_evidence_is_looked_at_in_the_workspace_that_a_command_runs_in(team: Team) -> None:
    (team.cwd / "proxy.conf").write_text("limit 1m\ntimeout 30\n")
    inner = team.cwd / "deep" / "er"
    inner.mkdir(parents=True)
    words = ("memories", "write", "learning", LESSON, "--slug", "proxy", "--importance", "high")
    team(*words, "--evidence", "file:proxy.conf#1", cwd=inner, MINUTEBOOK_AGENT="ripley")
    (checked,) = team.ok("memories", "verify", MINUTEBOOK_AGENT="ripley")["items"]
    assert (checked["state"], checked["evidence"]) == ("fresh", "file:proxy.conf#1")
    (team.cwd / "proxy.conf").write_text("limit 2m\n")
    assert "**learning** by ripley, unreviewed, evidence stale" in team.told("ripley")
    elsewhere = team(
        "memories", "verify", "-o", "json", cwd=team.cwd.parent, MINUTEBOOK_PROJECT="work"
    ).json()["items"]
    assert [one["state"] for one in elsewhere] == ["unverifiable"]
