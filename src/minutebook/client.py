"""The operations as a Python caller has them: typed, whether the ledger is in this process or far away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import REGISTRY, Operation

P = ParamSpec("P")
R = TypeVar("R")


class Client(ABC):
    """`client(inbox.promote, ref="use-postgres")` takes what the function takes and returns what it returns."""

    def __call__(self, function: Callable[Concatenate[Any, P], R], *args: P.args, **arguments: P.kwargs) -> R:
        operation = REGISTRY.of(function)
        if args:
            named = [parameter.name for parameter in operation.parameters]
            if len(args) > len(named):
                raise MinutebookError(
                    "invalid_input", f"{operation.name} takes {len(named)} arguments, not {len(args)}."
                )
            arguments = {**dict(zip(named, args, strict=False)), **arguments}  # type: ignore[assignment]
        return self.invoke(operation, arguments)

    @abstractmethod
    def invoke(self, operation: Operation, arguments: Mapping[str, Any], key: str | None = None) -> Any:
        """Carry out an operation; with a key, a repeated write gives its first answer."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the ledger, or of the connection to it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
