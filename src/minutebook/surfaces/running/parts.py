"""What a service is made of, and who makes it: handed in from the outside, made when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minutebook.engine.engine import Engine
    from minutebook.model.system import Presence
    from minutebook.service import Service
    from minutebook.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """The makers of a service's parts."""

    #: opens the ledger, with who tells of the process around it
    open_service: Callable[[Settings, Callable[[], Presence]], Service]
    #: what works behind the ledger; it is not running yet
    open_engine: Callable[[Settings, Service], Engine]
    clock: Callable[[], str]
