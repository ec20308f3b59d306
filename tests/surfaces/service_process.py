"""A real service for a test: a process of its own that ends with the test, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.scenarios.program import COMMAND, PATIENCE, Program


@contextmanager
def serving(program: Program, *words: str, **environment: str) -> Iterator[dict[str, Any]]:
    """The service of the program's home; what it wrote about itself is given."""
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [COMMAND, "serve", "--with-parent", "--ready-fd", str(theirs), *words],
        cwd=program.cwd,
        env=program.environ(**environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(theirs,),
    )
    os.close(theirs)
    try:
        with open(ours, "rb") as pipe:
            said = pipe.read()
        assert said == b"ready\n", (said, process.communicate(timeout=PATIENCE))
        yield json.loads((program.home / "run" / "service.json").read_bytes())
    finally:
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
