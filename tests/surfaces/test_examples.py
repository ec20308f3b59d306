"""Every example of the help is a command line that the program takes."""

from __future__ import annotations

import shlex

import click
import pytest

from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.cli.commands import Act, Invocation

#: Commands whose module is the surface's own business are tested with it.
EXAMPLES = [
    (operation, example)
    for noun in REGISTRY.nouns
    for operation in REGISTRY.noun(noun)
    for example in operation.examples
]


def nobody(_: object) -> click.Context:
    raise AssertionError("parsing a command line opens no ledger")


@pytest.mark.parametrize(("operation", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_an_example_of_the_help_is_a_command_line_that_is_taken(operation: object, example: str) -> None:
    words = shlex.split(example)
    spoken = operation.command.split()  # type: ignore[attr-defined]
    assert words[: len(spoken) + 1] == ["minutebook", *spoken]
    command = Act(operation, nobody)  # type: ignore[arg-type]
    command.make_context("minutebook", words[len(spoken) + 1 :], obj=Invocation())


def test_every_operation_has_an_example() -> None:
    assert [operation.name for operation in REGISTRY.all() if not operation.examples] == []
