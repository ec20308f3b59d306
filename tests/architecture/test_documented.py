"""Everything a user can name is documented: operations, parameters, settings, errors."""

from __future__ import annotations

import ast
import shlex

from minutebook.model.errors import CODES
from minutebook.operations.registry import REGISTRY, SYSTEM, Operation
from minutebook.settings import table
from tests.architecture.source import ROOT, modules


def test_every_operation_says_what_it_does_and_shows_how() -> None:
    for operation in REGISTRY.all():
        assert operation.summary.endswith("."), operation.name
        assert operation.examples, operation.name
        _check_examples(operation)


def _check_examples(operation: Operation) -> None:
    for example in operation.examples:
        words = shlex.split(example)
        command = operation.command.split()
        assert words[0] == "minutebook"
        assert words[1 : 1 + len(command)] == command, example
        named = {f"--{parameter.name.replace('_', '-')}" for parameter in operation.parameters}
        shown = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert shown <= named, example


def test_every_parameter_of_every_operation_has_help() -> None:
    bare = [f"{op.name} {p.name}" for op in REGISTRY.all() for p in op.parameters if not p.help]
    assert bare == []


def test_the_first_help_screen_tells_of_every_command_of_the_house_itself() -> None:
    declared = {operation.verb for operation in REGISTRY.noun("system")}
    assert declared <= set(SYSTEM)


def test_every_setting_is_in_the_settings_page_with_its_default_and_meaning() -> None:
    lines = (ROOT / "docs" / "SETTINGS.md").read_text("utf-8").splitlines()
    for row in table():
        (line,) = [line for line in lines if line.startswith(f"| `{row.environment}` |")]
        assert row.meaning in line
        assert (str(row.default) or "empty") in line


def test_every_error_code_is_used_and_every_code_used_is_in_the_table() -> None:
    said: set[str] = set()
    raised: set[str] = set()
    for module in modules():
        if module.name != "model.errors":
            said |= set(module.texts())
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("MinutebookError", "Refusal"):
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant):
                    raised.add(first.value)
    assert sorted(raised - set(CODES)) == []
    assert sorted(set(CODES) - said) == []
