"""The registry: a typed function, declared once, is an operation on every surface.

Importing this module, and declaring operations, is cheap on purpose: annotations are resolved, and pydantic
is imported, when an operation is first used.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any, TypeVar

from minutebook.model.errors import MinutebookError
from minutebook.operations.parameters import (
    Argument,
    Check,
    Help,
    LongText,
    Parameter,
    Read,
    Text,
    flags,
    hints_of,
    parameters_of,
)
from minutebook.operations.parsing import Parser
from minutebook.operations.plain import from_plain, schema_of, to_plain

__all__ = [
    "NOUNS", "REGISTRY", "SYSTEM", "Access", "Argument", "Check", "Help", "LongText", "Operation", "Parameter",
    "Read", "Registry", "Text", "flags", "from_plain", "operation", "to_plain",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class Access(IntEnum):
    """What an operation does to the ledger, and so who may ask for it."""

    READ = 0  # runs in a read transaction; everything above goes through the writer
    PROPOSE = 1
    REVIEW = 2
    OPERATE = 3


#: Each noun is a module of this package; the order is that of the help.
NOUNS: dict[str, str] = {
    "inbox": "Proposals: submit, review, promote, reject",
    "decisions": "What governs: the accepted decisions and what they replaced",
    "memories": "What is remembered: write, edit, link, retire, erase",
    "context": "What an agent is told when it starts",
    "runs": "One agent's stretch of work: what it is told, what is kept of it",
    "captures": "Bring in conversations, documents and notes, and follow their way",
    "sources": "Raw captured material: what is kept, and letting it go",
    "search": "Find memories and proposals by their words and their meaning",
    "searches": "Past searches: what was asked, what came back, and why",
    "sessions": "The project's current focus",
    "scope": "What an agent would see, and what hides what",
    "consolidation": "Find what repeats, disagrees or is of no use any more",
    "audit": "How healthy the memory of a project is",
    "verdicts": "The controller's recorded answers, and undoing them",
    "tombstones": "Claims that may not come back by themselves",
    "daily": "What happened in each scope, day by day",
    "events": "The ordered log of everything that happened",
    "adopt": "Take in what others keep in a repository: .squad, CLAUDE.md, ADRs",
    "adoptions": "What was adopted from files, and settling it all at once",
    "projects": "The units of governance, and the directories bound to them",
    "files": "Generated files, notes and the drop-box, and how they stand",
    "agents": "The team: agents with their charters",
    "actors": "Who may ask for what",
    "tokens": "Secrets that name who asks over the network",
    "hooks": "What hosts tell when a session of theirs starts or ends",
    "jobs": "Later work: what waits, what failed, having it done again",
    "providers": "Embedders, extractors, models and importers of other packages",
    "system": "The house itself",
}

#: The operations of `system`, which are commands of their own (`minutebook doctor`). They are listed here
#: so that the first help screen needs to import nothing.
SYSTEM: dict[str, str] = {
    "health": "Say how the ledger is, from the inside",
    "backup": "Copy the ledger while it is in use, and prove the copy by restoring it",
    "export": "Write the whole ledger, or one project, as a portable archive",
    "import": "Read an archive, keeping ids, times, links and history",
    "reindex": "Build everything that is derived anew from the rows it is derived from",
}


class Operation:
    """One thing that can be asked, as every surface sees it."""

    def __init__(self, noun: str, verb: str, access: Access, function: Callable[..., Any]) -> None:
        self.noun = noun
        self.verb = verb
        self.access = access
        self.function = function
        #: the operations of the same noun, by verb
        self.kin: Mapping[str, Operation] = {verb: self}

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"

    @property
    def name(self) -> str:
        return f"{self.noun}.{self.verb}"

    @property
    def command(self) -> str:
        """The words of the command line: `inbox promote`, `search`, `doctor`."""
        verb = self.verb.replace("_", "-")
        return verb if self.noun in ("system", self.verb) else f"{self.noun} {verb}"

    @property
    def outside(self) -> bool:
        """Whether it runs outside a transaction, because its first parameter is a LongCall."""
        annotation = self.function.__annotations__.get("call")
        return getattr(annotation, "__name__", annotation) == "LongCall"

    @cached_property
    def _prose(self) -> tuple[str, str, tuple[str, ...]]:
        return _read_docstring(inspect.cleandoc(self.function.__doc__ or ""))

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return self._prose[0]

    @property
    def description(self) -> str:
        """The docstring after its summary, without the examples."""
        return self._prose[1]

    @property
    def examples(self) -> tuple[str, ...]:
        """Command lines, as a user would type them."""
        return self._prose[2]

    @cached_property
    def _declared(self) -> tuple[tuple[Parameter, ...], dict[str, type]]:
        return parameters_of(self.function)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In the order of the signature, with @flags replaced by their fields."""
        return self._declared[0]

    @cached_property
    def returns(self) -> Any:
        """The type of the result."""
        return hints_of(self.function).get("return")

    @cached_property
    def _parser(self) -> Parser:
        return Parser(self.name, self.parameters)

    def parse(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raw arguments as the keyword arguments of the function, or MinutebookError with the problems."""
        values = self._parser.parse(arguments)
        parameters, groups = self._declared
        given: dict[str, Any] = {name: {} for name in groups}
        for parameter in parameters:
            part = given if parameter.part_of is None else given[parameter.part_of]
            part[parameter.keyword] = values[parameter.name]
        return given | {name: group(**given[name]) for name, group in groups.items()}

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raw arguments as plain data of the right types, to be sent on; those not given stay away."""
        values = self._parser.parse(arguments)
        return {name: to_plain(values[name]) for name in arguments}

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self._parser.schema()

    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of the result."""
        return schema_of(self.returns)


def _read_docstring(text: str) -> tuple[str, str, tuple[str, ...]]:
    """Summary, description and examples of a docstring."""
    prose, _, example = text.partition("\nExample:\n")
    summary, _, description = prose.partition("\n\n")
    lines = inspect.cleandoc(example).splitlines()
    return " ".join(summary.split()), description.strip(), tuple(line for line in lines if line.strip())


class Registry:
    """The closed list of nouns, and the operations of those that were loaded."""

    def __init__(
        self, nouns: Mapping[str, str], *, system: Mapping[str, str] | None = None, package: str | None = None
    ) -> None:
        """`package` holds one module per noun; without it, only what `add` declares is there."""
        self.nouns = dict(nouns)
        self.system = dict(system or {})
        self._package = package
        self._by_noun: dict[str, dict[str, Operation]] = {noun: {} for noun in nouns}
        self._by_function: dict[Callable[..., Any], Operation] = {}

    def operation(self, access: Access) -> Callable[[F], F]:
        """Declare a function as an operation of the module it stands in; the function stays what it is."""

        def declare(function: F) -> F:
            self.add(function, access)
            return function

        return declare

    def add(self, function: Callable[..., Any], access: Access, *, noun: str | None = None) -> Operation:
        """Register a function; its module's name is the noun unless one is given."""
        noun = noun or function.__module__.rpartition(".")[2]
        verb = function.__name__.rstrip("_")
        where = f"{function.__module__}.{function.__qualname__}"
        if noun not in self._by_noun:
            raise TypeError(f"{where}: {noun} is not in the closed list of nouns")
        if noun == "system" and verb not in self.system:
            raise TypeError(f"{where}: {verb} is not in the list of system commands")
        if verb in self._by_noun[noun]:
            raise TypeError(f"{where}: {noun}.{verb} is declared twice")
        if next(iter(inspect.signature(function).parameters), None) != "call":
            raise TypeError(f"{where}: the first parameter of an operation is `call`")
        if not function.__doc__:
            raise TypeError(f"{where}: an operation has a docstring; it is the help on every surface")
        declared = Operation(noun, verb, access, function)
        self._by_noun[noun][verb] = declared
        declared.kin = self._by_noun[noun]
        self._by_function[function] = declared
        return declared

    def of(self, function: Callable[..., Any]) -> Operation:
        """The operation that a function was declared as."""
        found = self._by_function.get(function)
        if found is None:
            name = getattr(function, "__qualname__", repr(function))
            raise MinutebookError("unknown_operation", f"{name} is not declared as an operation")
        return found

    def noun(self, noun: str) -> tuple[Operation, ...]:
        """The operations of one noun, in the order of their declaration; only this module is imported."""
        if noun not in self._by_noun:
            raise self._unknown(noun, self.nouns)
        if self._package is not None:
            importlib.import_module(f"{self._package}.{noun}")
        return tuple(self._by_noun[noun].values())

    def get(self, name: str) -> Operation:
        """The operation of a name such as `inbox.promote`."""
        noun, _, verb = name.partition(".")
        operations = {operation.verb: operation for operation in self.noun(noun)}
        if verb not in operations:
            raise self._unknown(name, [f"{noun}.{known}" for known in operations])
        return operations[verb]

    def all(self) -> tuple[Operation, ...]:
        """Every operation, in the order of the help. Imports every module."""
        return tuple(operation for noun in self.nouns for operation in self.noun(noun))

    def _unknown(self, name: str, known: Any) -> MinutebookError:
        close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(known)}"
        return MinutebookError(
            "unknown_operation", f"there is no operation {name}; {hint}", known=list(known)
        )


#: The operations of this program.
REGISTRY = Registry(NOUNS, system=SYSTEM, package="minutebook.operations")

operation = REGISTRY.operation
