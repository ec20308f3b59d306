"""Who can see a memory: five scopes, two tiers of agent scope, and which hides which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.errors import MinutebookError

#: The built-in project that holds what belongs to no single project.
GLOBAL = "global"


class ScopeKind(StrEnum):
    GLOBAL = "global"
    PROJECT = "project"
    REPO = "repo"
    AGENT = "agent"
    SESSION = "session"


class Tier(StrEnum):
    """How far an agent's own memory reaches: one project, or everywhere it works."""

    PROJECT = "project"
    GLOBAL = "global"


#: Deeper hides shallower where type and slug are the same.
_DEPTH = {
    (ScopeKind.GLOBAL, ""): 0,
    (ScopeKind.PROJECT, ""): 1,
    (ScopeKind.REPO, ""): 2,
    (ScopeKind.AGENT, Tier.GLOBAL): 3,
    (ScopeKind.AGENT, Tier.PROJECT): 4,
    (ScopeKind.SESSION, ""): 5,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """One place where memory lives. Built by its class methods, so that an impossible one has no spelling."""

    kind: ScopeKind
    project: str
    tier: str = ""
    agent: str = ""
    repo: str = ""
    session: str = ""

    @classmethod
    def everywhere(cls) -> Scope:
        return cls(ScopeKind.GLOBAL, GLOBAL)

    @classmethod
    def of_project(cls, project: str) -> Scope:
        if project == GLOBAL:
            return cls.everywhere()
        return cls(ScopeKind.PROJECT, project)

    @classmethod
    def of_repo(cls, project: str, repo: str) -> Scope:
        return cls(ScopeKind.REPO, project, repo=_needed(repo, "repo", "repo"))

    @classmethod
    def of_agent(cls, project: str, agent: str, tier: Tier = Tier.PROJECT) -> Scope:
        agent = _needed(agent, "agent", "agent")
        home = GLOBAL if tier is Tier.GLOBAL else project
        if tier is Tier.PROJECT and project == GLOBAL:
            raise MinutebookError("no_project", "An agent's project tier needs a project.")
        return cls(ScopeKind.AGENT, home, tier=tier.value, agent=agent)

    @classmethod
    def of_session(cls, project: str, session: str) -> Scope:
        return cls(ScopeKind.SESSION, project, session=_needed(session, "session", "session"))

    @property
    def depth(self) -> int:
        return _DEPTH[(self.kind, self.tier)]

    def __str__(self) -> str:
        detail = self.agent or self.repo or self.session
        text = f"{self.kind}:{detail}" if detail else str(self.kind)
        return f"{text} (everywhere)" if self.tier == Tier.GLOBAL else text


def _needed(value: str, scope: str, flag: str) -> str:
    if not value:
        raise MinutebookError(
            "unknown_scope", f"Scope {scope!r} needs to know which {flag}.", hint=f"give --{flag}"
        )
    return value


def parse_scope(text: str) -> ScopeKind:
    folded = text.strip().casefold()
    try:
        return ScopeKind(folded)
    except ValueError:
        known = [kind.value for kind in ScopeKind]
        raise MinutebookError(
            "unknown_scope", f"There is no scope {folded[:40]!r}; use one of {', '.join(known)}.", known=known
        ) from None


def parse_tier(text: str) -> Tier:
    folded = text.strip().casefold()
    try:
        return Tier(folded)
    except ValueError:
        raise MinutebookError(
            "unknown_scope",
            f"There is no tier {folded[:40]!r}; use project or global.",
            known=["project", "global"],
        ) from None
