"""The installed program, as a stranger runs it: a process of its own, with an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The command that installing the package put beside the interpreter.
COMMAND = str(Path(sys.executable).with_name("minutebook"))
#: Longer than any command takes on a loaded machine.
PATIENCE = 120


@dataclass(frozen=True)
class Done:
    """What one command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, f"exit {self.code}: {self.err}"
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        assert self.code == 0, f"exit {self.code}: {self.err}"
        return [json.loads(line) for line in self.out.splitlines()]

    def error(self) -> dict[str, Any]:
        """The error of a command that was run with `-o json`."""
        assert self.code != 0, f"it went well: {self.out}"
        assert self.out == "", "an error prints no answer"
        last = json.loads(self.err.splitlines()[-1])
        assert set(last) == {"code", "message", "details"}
        return last


@dataclass
class Program:
    """`program("inbox", "list")` runs one command in `cwd`, on the ledger in `home` or at `url`."""

    home: Path
    cwd: Path
    url: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        given = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.cwd),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MINUTEBOOK_HOME": str(self.home),
            "MINUTEBOOK_SERVICE": "never",
        }
        if self.url:
            given["MINUTEBOOK_DATABASE_URL"] = self.url
        return {**given, **self.environment, **more}

    def __call__(
        self,
        *words: str,
        input: str = "",
        prefix: Sequence[str] = (),
        cwd: Path | None = None,
        **environment: str,
    ) -> Done:
        done = subprocess.run(
            [*prefix, COMMAND, *words],
            cwd=cwd or self.cwd,
            env=self.environ(**environment),
            input=input.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """The command without waiting for it."""
        return subprocess.Popen(
            [COMMAND, *words],
            cwd=self.cwd,
            env=self.environ(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ok(self, *words: str, **environment: str) -> Any:
        """The answer of a command that must go well, as JSON."""
        return self(*words, "-o", "json", **environment).json()


def finished(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=PATIENCE)
    return Done(process.returncode, out, err)
