"""Who asks: actors, their roles, and the doors they come through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.errors import MinutebookError


class Role(StrEnum):
    """What an actor may do. Each role may do all that the ones before it may, but for the scribe's own."""

    VIEWER = "viewer"
    AGENT = "agent"
    COORDINATOR = "coordinator"
    OPERATOR = "operator"
    SCRIBE = "scribe"


#: The scribe is the system's own and acts by its policy alone, so it has no rank among people and agents.
_RANK = {Role.SCRIBE: 0, Role.VIEWER: 0, Role.AGENT: 1, Role.COORDINATOR: 2, Role.OPERATOR: 3}

#: Roles that can be given to somebody.
GRANTABLE = (Role.VIEWER, Role.AGENT, Role.COORDINATOR, Role.OPERATOR)


def parse_role(text: str) -> Role:
    folded = text.strip().casefold()
    if folded not in {role.value for role in GRANTABLE}:
        raise MinutebookError(
            "unknown_role",
            f"There is no role {folded[:40]!r}; use one of {', '.join(GRANTABLE)}.",
            known=[role.value for role in GRANTABLE],
        )
    return Role(folded)


def rank(role: Role) -> int:
    return _RANK[role]


def may_decide(role: Role) -> bool:
    """Whether a governing memory may come from this role without somebody else's review."""
    return role in (Role.COORDINATOR, Role.OPERATOR)


class Origin(StrEnum):
    """Through which door a write came."""

    CLI = "cli"
    PYTHON = "python"
    HTTP = "http"
    SOCKET = "socket"
    MCP = "mcp"
    FILE = "file"
    IMPORT = "import"
    EXTRACTION = "extraction"
    CONSOLIDATION = "consolidation"
    SYSTEM = "system"


#: Doors behind which no actor stands who meant exactly these words.
UNTRUSTED_ORIGINS = frozenset({Origin.FILE, Origin.IMPORT, Origin.EXTRACTION, Origin.CONSOLIDATION})


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who asks. `name` is shown; `id` is its case-folded form and the identity."""

    id: str
    name: str
    role: Role
    #: The only project the actor may name, when bound to one.
    project: str | None = None
    created_at: str = ""
    retired_at: str | None = None
