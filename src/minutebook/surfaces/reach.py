"""What the doors of a running service share: the ledger, who may come in, what was seen."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.service import Service
from minutebook.settings import Settings
from minutebook.surfaces.asking import Doorkeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One running service, as HTTP, the socket and MCP see it."""

    service: Service
    doorkeeper: Doorkeeper
    settings: Settings
    #: when it started, as the ledger's clock tells it
    since: str
