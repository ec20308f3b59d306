"""The team: what is said of an agent."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.model.actors import Actor
from minutebook.model.memories import Memory
from minutebook.model.verdicts import Outcome


@dataclass(frozen=True, slots=True)
class Seeded:
    """An agent that is part of the team now."""

    actor: Actor
    #: whether it was registered by this
    added: bool
    #: the verdict on its charter, where one was given
    charter: Outcome | None


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent with what it starts with and what it is doing."""

    actor: Actor
    charter: Memory | None
    open_runs: tuple[str, ...]
