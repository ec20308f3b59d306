"""What the doors of a running service share: the ledger, who may come in, what was seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from minutebook.service import Service
from minutebook.settings import Settings
from minutebook.surfaces.asking import Doorkeeper
from minutebook.surfaces.http.crew import Crew
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.waking import Waking


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One running service, as HTTP, the socket and MCP see it."""

    service: Service
    doorkeeper: Doorkeeper
    settings: Settings
    #: when it started, as the ledger's clock tells it
    since: str
    #: told of every request: `with reach.observer.request(surface, operation, headers) as seen`
    observer: Observer = field(default_factory=Observer)
    #: threads for what the doors ask of the ledger, as many as it has readers; and for what takes long there
    quick: Crew = field(default_factory=lambda: Crew("quick", threads=8, waiting=2000))
    slow: Crew = field(default_factory=lambda: Crew("slow", threads=2, waiting=6))
    #: wakes those who follow the log, whichever door they stand at; whoever ends the service closes it first
    waking: Waking = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "waking", Waking(self.service))
