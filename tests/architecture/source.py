"""The source as the architecture tests read it: every module with its tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "minutebook"


@dataclass(frozen=True)
class Module:
    """`name` is without the package: `ledger.memories`, `service`."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def layer(self) -> str:
        return self.name.partition(".")[0]

    def texts(self) -> list[str]:
        """Every string constant but docstrings."""
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        prose = {
            id(node.body[0].value)
            for node in ast.walk(self.tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        return [
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ]

    def imports(self) -> list[str]:
        """Modules of this package that it imports, under whatever condition."""
        found: list[str] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name} imports relatively"
                found += [node.module or ""]
                found += [f"{node.module}.{alias.name}" for alias in node.names]
        inside = [name.removeprefix("minutebook.") for name in found if name.startswith("minutebook.")]
        known = {module.name for module in modules()}
        return [name for name in inside if name in known]


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts if parts[-1] != "__init__" or len(parts) == 1 else parts[:-1])
        found.append(Module(name, path, ast.parse(path.read_text("utf-8"))))
    return tuple(found)
