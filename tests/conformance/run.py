"""Run the official MCP test clients against minutebook: `python -m tests.conformance.run [what…]`.

`make conformance` does this. What is needed from npm (Node itself too) is installed once, into a directory
that git does not see. The suite speaks to the whole service, guard and tokens included, on which a test-only
module answers for the fixtures that the suite asks for; the inspector speaks to the service as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance.server import bearing, fixture_service

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TOOLS = ROOT / "build" / "conformance"
PACKAGES = (
    "node@24",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
)
#: The revisions whose requirements are to be met, each with the file of what is known to fail, and why.
REVISIONS = ("2025-11-25", "2026-07-28")
PATIENCE = 600


def install() -> dict[str, str]:
    """The environment in which the tools run, which are installed when they are absent."""
    wanted = "\n".join(PACKAGES)
    note = TOOLS / "installed"
    if not note.exists() or note.read_text() != wanted:
        if shutil.which("npm") is None:
            sys.exit("make conformance needs npm on the PATH (Debian: apt-get install npm)")
        TOOLS.mkdir(parents=True, exist_ok=True)
        print(f"installing {', '.join(PACKAGES)} into {TOOLS}", flush=True)
        subprocess.run(["npm", "install", "--no-save", "--prefix", str(TOOLS), *PACKAGES], check=True)
        note.write_text(wanted)
    path = f"{TOOLS / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


def suite(environment: dict[str, str], scratch: Path) -> int:
    failed = 0
    with fixture_service(scratch) as service:
        for revision in REVISIONS:
            print(f"\n=== the official suite, requirements of {revision}", flush=True)
            words = ["conformance", "server", "--url", f"{service.url}/mcp", "--requirements", revision]
            words += ["--expected-failures", str(HERE / f"expected-failures.{revision}.yml")]
            words += ["--output-dir", str(scratch / f"results-{revision}")]
            done = subprocess.run(words, env=environment, cwd=scratch, timeout=PATIENCE, check=False)
            failed += done.returncode != 0
    return failed


def inspector(environment: dict[str, str], scratch: Path) -> int:
    """The inspector's command line over both transports, as an agent and as an operator."""
    failed = 0
    with bearing(scratch) as (program, url, secrets):
        # A host passes on little of its environment, so the command says where the ledger is.
        relay = [program.command, "mcp", "--home", str(program.home)]
        stdio = {"agent": [*relay, "--agent", "ripley"], "operator": [*relay, "--as", "mother"]}
        for role in ("agent", "operator"):
            http = [f"{url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {secrets[role]}"]
            for transport, where in (("stdio", stdio[role]), ("http", http)):
                for method in (["tools/list", "--strict"], ["resources/list"], ["prompts/list"], SEARCH):
                    words = ["mcp-inspector", "--cli", *where, "--method", *method]
                    done = subprocess.run(
                        words,
                        env={**program.environ(), "PATH": environment["PATH"]},
                        cwd=program.cwd,
                        capture_output=True,
                        text=True,
                        timeout=PATIENCE,
                        check=False,
                    )
                    good = done.returncode == 0 and "Schema portability" not in done.stderr
                    print(
                        f"{'ok  ' if good else 'FAIL'} inspector {transport} {role} {' '.join(method)}",
                        flush=True,
                    )
                    if not good:
                        failed += 1
                        print(done.stdout[-2000:], done.stderr[-2000:], flush=True)
    return failed


SEARCH = ["tools/call", "--tool-name", "search", "--tool-arg", "query=valve"]
PARTS = {"suite": suite, "inspector": inspector}


def main(names: list[str]) -> int:
    environment = install()
    failed = 0
    for name in names or list(PARTS):
        with tempfile.TemporaryDirectory(prefix="mbk-") as scratch:
            failed += PARTS[name](environment, Path(scratch))
    print("\nconformance: all as expected" if not failed else f"\nconformance: {failed} parts failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
