"""The tree is the architecture: imports point one way, SQL and the world stay where they belong."""

from __future__ import annotations

import ast
import re

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
    ["client"],
    ["service"],
    ["files", "engine", "minds"],
    ["surfaces"],
    ["wiring"],
    ["__main__", "__init__"],
]
RANK = {layer: rank for rank, layers in enumerate(ORDER) for layer in layers}
#: Settings come in through the door: nothing between the policy and the surfaces reads them.
MAY_READ_SETTINGS = {"settings", "surfaces", "wiring", "__main__", "__init__"}


def test_every_module_stands_in_a_layer() -> None:
    assert {module.layer for module in modules()} <= set(RANK)
    assert len(modules()) > 60


def test_imports_point_one_way() -> None:
    wrong = []
    for module in modules():
        for imported in module.imports():
            layer = imported.partition(".")[0]
            one_way = layer == module.layer or RANK[layer] < RANK[module.layer]
            if not one_way or (layer == "settings" and module.layer not in MAY_READ_SETTINGS):
                wrong.append(f"{module.name} imports {imported}")
    assert wrong == []


SQL = re.compile(
    r"^\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+.*\bAS\s*\("
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|UNIQUE|VIEW|TRIGGER|DATABASE)\s|PRAGMA\s)|=\s*:\w+\b",
    re.DOTALL,
)


def test_sql_is_written_in_the_ledger_alone() -> None:
    found = [
        f"{module.name}: {text[:60]}"
        for module in modules()
        if module.layer != "ledger"
        for text in module.texts()
        if SQL.search(text)
    ]
    assert found == []
    assert any(
        SQL.search(text) for module in modules() if module.layer == "ledger" for text in module.texts()
    )


#: What only the composition root and the surfaces may look at.
WORLD = re.compile(
    r"(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns|localtime|gmtime)"
    r"|os\.(environ|environb|getenv|urandom|getlogin)|(random|secrets|uuid|getpass)\.\w+|Path\.(home|cwd))"
)


def of_the_world(module: Module) -> list[str]:
    """Where a module reads the clock, the environment or chance by itself."""
    named: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            named |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    found = [name for name in named.values() if WORLD.fullmatch(name)]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            *_, root, attribute = ["", *ast.unparse(node).split(".")]
            # What is called by the name of a module of ours, or of a variable, is none of theirs.
            if root in named and not named[root].startswith("minutebook."):
                found += [f"{root}.{attribute}"] if WORLD.fullmatch(f"{root}.{attribute}") else []
    return found


def test_clock_chance_and_environment_come_in_as_arguments() -> None:
    above = ("wiring", "surfaces", "__main__")
    found = {module.name: of_the_world(module) for module in modules() if module.layer not in above}
    assert {name: what for name, what in found.items() if what} == {}
    wiring = next(module for module in modules() if module.name == "wiring")
    assert {"datetime.now", "os.environ", "secrets.randbits"} <= set(of_the_world(wiring))


FORBIDDEN_NAMES = re.compile(r"Manager|Handler|Helper|Util|Impl|^Base[A-Z]|[a-z]Base$")


def test_names_say_what_a_thing_is_and_nothing_is_left_for_later() -> None:
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if named and FORBIDDEN_NAMES.search(node.name):
                found.append(f"{module.name}.{node.name}")
        text = module.path.read_text("utf-8")
        words = ("TODO", "FIXME", "XXX", "raise NotImplementedError")
        found += [f"{module.name}: {word}" for word in words if word in text]
    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []
    needed = "from __future__ import annotations"
    assert [
        module.name
        for module in modules()
        if module.tree.body[1:] and needed not in module.path.read_text("utf-8")
    ] == []
