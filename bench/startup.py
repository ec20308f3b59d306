"""Cold starts: how long the first answers of the command line take, beyond what Python itself takes.

The program is copied and compiled first: a machine that writes no bytecode would measure the compiler.
Runs are interleaved; the difference of medians is what counts.
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.report import Report, table  # noqa: E402
from bench.workload import Texts  # noqa: E402
from bench.writes import Ours  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "15"))
MEMORIES = int(os.environ.get("MEMORIES", "10000"))


def filled(home: Path) -> str:
    """A ledger of that many memories and a hundred proposals; its project's id."""
    ours = Ours(home)
    texts = Texts()
    for _ in range(MEMORIES):
        ours.write(texts.one())
    for number in range(100):
        arguments = {"type": "technical", "title": f"Proposal {number}", "content": texts.one()}
        ours.client.invoke(_submit(), arguments)
    project = ours.client.project
    ours.close()
    assert project is not None
    return project


def _submit() -> object:
    from minutebook.operations.registry import REGISTRY

    return REGISTRY.get("inbox.submit")


def timed(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="minutebook-bench-") as folder:
        home, copy = Path(folder) / "home", Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(copy, quiet=1)
        print(f"writing {MEMORIES:,} memories …", flush=True)
        project = filled(home)
        python = sys.executable
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(copy)}
        environment |= {"MINUTEBOOK_HOME": str(home), "MINUTEBOOK_PROJECT": project}
        # A command that owns the ledger itself: bench/service.py measures the others.
        environment["MINUTEBOOK_SERVICE"] = "never"
        program = [python, "-m", "minutebook"]
        commands = {
            "python -c pass": [python, "-c", "pass"],
            "minutebook --help": [*program, "--help"],
            "minutebook inbox --help": [*program, "inbox", "--help"],
            "minutebook inbox list": [*program, "inbox", "list"],
            "minutebook inbox list -o json": [*program, "inbox", "list", "-o", "json"],
            "minutebook search": [*program, "search", "anything at all"],
            "minutebook memories write": [*program, "memories", "write", "project"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        texts = Texts(seed=99)
        for _ in range(ROUNDS):
            for name, command in commands.items():
                last = [texts.one()] if name.endswith("write") else []
                taken[name].append(timed(command + last, environment))
    medians = {name: statistics.median(values) * 1e3 for name, values in taken.items()}
    base = medians["python -c pass"]
    table(("", "ms", "over python"), [[n, f"{v:.0f}", f"{v - base:.0f}"] for n, v in medians.items()])
    report = Report("startup")
    report.goal("minutebook --help over python -c pass, ms", medians["minutebook --help"] - base, "<= 150")
    report.goal("inbox list over python -c pass, ms", medians["minutebook inbox list"] - base, "<= 300")
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
