"""Runs that are killed: start the launcher, give orders, read what is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.invariants import State, difference, violations

ROOT = Path(__file__).parents[2]


class Launcher:
    """The process that forks the victims."""

    def __init__(self, directory: Path, *, preload: Path | None = None) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        paths = [os.environ.get("PYTHONPATH", ""), str(ROOT)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        if preload is not None:
            environment["LD_PRELOAD"] = str(preload)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def order(self, do: str, **order: Any) -> dict[str, Any] | None:
        """What the child answered; None when it was killed on the way, as it was told to be."""
        out = self.directory / "out.json"
        out.unlink(missing_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, "out": str(out), **order}) + "\n")
        self._process.stdin.flush()
        fate = json.loads(self._process.stdout.readline())
        if fate["killed"]:
            return None
        error = out.with_suffix(".error")
        if error.exists():
            raise AssertionError(error.read_text())
        assert fate["code"] == 0, fate
        return json.loads(out.read_text())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass
class Undisturbed:
    """The story as it goes when nobody is killed: its steps, and the ledger after each answer."""

    steps: list[str]
    states: list[State]
    calls: int = 0


def undisturbed(launcher: Launcher, url: str, home: Path, **order: Any) -> Undisturbed:
    told = launcher.order(
        "tell", url=url, home=str(home), acks=str(home.with_suffix(".acks")), states=True, **order
    )
    assert told is not None
    return Undisturbed(told["steps"], told["states"], told["calls"])


def acknowledged(acks: Path) -> list[str]:
    """The lines that the child wrote before it died."""
    return acks.read_text().splitlines() if acks.exists() else []


def check_after_kill(
    launcher: Launcher, whole: Undisturbed, url: str, home: Path, acks: Path, where: str
) -> None:
    """Nothing acknowledged is lost, nothing is half done, and the story can be told to its end."""
    known = [json.loads(line) for line in acknowledged(acks)]
    done = len(known)
    told = launcher.order("resume", url=url, home=str(home), known=known)
    assert told is not None
    left, after = told["left"], told["after"]
    assert (left["sound"], left["violations"]) == ("ok", []), f"{where}: {left['sound']} {left['violations']}"
    # The one operation that was under way happened whole, or not at all.
    allowed = whole.states[done : done + 2]
    if left["state"] not in allowed:
        lines = "\n".join(difference(allowed[0], left["state"]))
        raise AssertionError(f"{where}: {done} were acknowledged, and then\n{lines}")
    assert (after["sound"], after["violations"]) == ("ok", []), (
        f"{where}: {after['sound']} {after['violations']}"
    )
    lines = "\n".join(difference(whole.states[-1], after["state"]))
    assert after["state"] == whole.states[-1], f"{where}: the end is another one\n{lines}"
    gone = {row["id"] for row in after["state"]["memories"] if row["status"] == "erased"}
    noted = {json.loads(line)["ref"] for line in (home / "erasures.jsonl").read_text().splitlines()}
    assert gone == noted, f"{where}: the list of erasures is {noted}"


def fresh(path: Path) -> Path:
    """An empty directory in the place of whatever was there."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def check_story(whole: Undisturbed) -> None:
    """The story goes through every sort of verdict; else the kills would show little."""
    end = whole.states[-1]
    ops = {row["op"] for row in end["verdicts"]}
    assert ops == {"add", "update", "supersede", "retire", "restore", "hold", "refuse"}
    assert {row["status"] for row in end["proposals"]} == {"pending", "merged", "rejected"}
    assert [violations(state) for state in whole.states] == [[]] * len(whole.states)
    assert len({str(state) for state in whole.states}) == len(whole.states), "an operation changed nothing"


def around_commits(steps: list[str]) -> set[int]:
    """The numbers of the steps that are the last thing before a commit is sent, or the first after it."""
    return {number for number, name in enumerate(steps, start=1) if "COMMIT" in name}


def sampled(steps: list[str], every: int) -> list[int]:
    return sorted(around_commits(steps) | set(range(1, len(steps) + 1, every)))
