"""A small house for the tests of the command line: its own registry, a few operations, no ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minutebook.operations.registry import Operation, Registry
from minutebook.surfaces.cli.program import CallerOptions, Program, build_cli

registry = Registry(
    {
        "inbox": "Proposals: submit, review, promote, reject",
        "events": "What happened",
        "search": "Find by text",
        "system": "The house",
    },
    system={"doctor": "Say what is wrong", "import": "Read an archive"},
    package="sample_house",
)

#: What happened, in order: the options a caller was opened with, each call, and its closing.
log: list[Any] = []


class Direct:
    """Carries out an operation in this process, without a transaction."""

    def invoke(self, operation: Operation, arguments: dict[str, Any], key: str | None) -> Any:
        log.append((operation.name, arguments, key))
        return operation.function(None, **operation.parse(arguments))


@contextmanager
def open_caller(options: CallerOptions) -> Iterator[Direct]:
    log.append(options)
    yield Direct()
    log.append("closed")


def program() -> Program:
    return build_cli(registry, open_caller)
