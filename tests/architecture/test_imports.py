"""The tree is the architecture: imports point one way, SQL and the world stay where they belong."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source import Module, modules

#: Each layer may import itself and what stands before it. Those of one line know nothing of each other.
ORDER = [
    ["model"],
    ["policy"],
    ["settings"],
    ["ledger"],
    ["call"],
    ["controller"],
    ["operations"],
    ["service"],
    ["files", "engine", "minds"],
    ["surfaces"],
    ["wiring"],
    ["__main__", "__init__"],
]
RANK = {layer: rank for rank, layers in enumerate(ORDER) for layer in layers}
#: Settings come in through the door: nothing between the policy and the surfaces reads them.
MAY_READ_SETTINGS = {"settings", "surfaces", "wiring", "__main__", "__init__"}
EVERY = pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)


def test_every_module_stands_in_a_layer() -> None:
    assert {module.layer for module in modules()} <= set(RANK)


@EVERY
def test_imports_point_one_way(module: Module) -> None:
    for imported in module.imports():
        layer = imported.partition(".")[0]
        allowed = layer == module.layer or RANK[layer] < RANK[module.layer]
        assert allowed, f"{module.name} imports {imported}"
        if layer == "settings":
            assert module.layer in MAY_READ_SETTINGS, f"{module.name} reads settings"


SQL = re.compile(
    r"^\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+.*\bAS\s*\("
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|UNIQUE|VIEW|TRIGGER|DATABASE)\s|PRAGMA\s)|=\s*:\w+\b",
    re.DOTALL,
)


@EVERY
def test_sql_is_written_in_the_ledger_alone(module: Module) -> None:
    if module.layer != "ledger":
        assert [text for text in module.texts() if SQL.search(text)] == []


#: What only the composition root, the settings and the surfaces may look at.
WORLD = re.compile(
    r"(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns|localtime|gmtime)"
    r"|os\.(environ|environb|getenv|urandom|getlogin)|(random|secrets|uuid)\.\w+|getpass\.\w+|Path\.(home|cwd))$"
)


@EVERY
def test_clock_chance_and_environment_come_in_as_arguments(module: Module) -> None:
    if module.layer in ("wiring", "surfaces", "__main__"):
        return
    imported = {
        alias.asname or alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    own = {name.rpartition(".")[2] for name in module.imports()}
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            spelled = ast.unparse(node)
            last_two = ".".join(spelled.split(".")[-2:])
            if WORLD.match(last_two) and last_two.partition(".")[0] in imported - own:
                found.append(spelled)
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "time", "random", "secrets", "uuid"):
            found += [alias.name for alias in node.names if WORLD.match(f"{node.module}.{alias.name}")]
    assert found == []


FORBIDDEN_NAMES = re.compile(r"Manager|Handler|Helper|Util|Impl|^Base[A-Z]|[a-z]Base$")


@EVERY
def test_names_say_what_a_thing_is_and_nothing_is_left_for_later(module: Module) -> None:
    names = [
        node.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [name for name in names if FORBIDDEN_NAMES.search(name)] == []
    text = module.path.read_text("utf-8")
    for word in ("TODO", "FIXME", "XXX", "raise NotImplementedError"):
        assert word not in text


@EVERY
def test_every_module_says_what_it_is_for(module: Module) -> None:
    assert ast.get_docstring(module.tree)
    assert "from __future__ import annotations" in module.path.read_text("utf-8") or not module.tree.body[1:]
