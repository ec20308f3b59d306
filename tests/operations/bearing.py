"""Asking with a bearer token, through the same door as every network request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minutebook.model.actors import Origin
from minutebook.operations import tokens
from minutebook.operations.registry import REGISTRY, Operation
from minutebook.surfaces.asking import Doorkeeper, Said
from tests.houses import House


@dataclass
class Bearer:
    """`bearer(memories.list_)` asks with the token, and with nothing else unless `project` is set."""

    house: House
    secret: str
    project: str | None = None

    def __call__(self, function: Any, **arguments: Any) -> Any:
        return self.invoke(REGISTRY.of(function), arguments)

    def invoke(self, operation: Operation, arguments: Mapping[str, Any], key: str | None = None) -> Any:
        door = Doorkeeper(self.house.service, uid=0)
        asker = door.by_token(self.secret, Said(project=self.project), Origin.HTTP)
        return self.house.service.invoke(operation, arguments, key=key, **asker.terms())


def bearer(house: House, *, maker: Any = None, **wanted: Any) -> Bearer:
    """Somebody with a new token of the house's operator, or of another maker."""
    return Bearer(house, (maker or house.mother)(tokens.create, **wanted).secret)
