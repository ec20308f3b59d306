"""Which memories a caller can see: the one clause that every read of memories carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minutebook.model.actors import Role
from minutebook.model.memories import CROSS_TEAM
from minutebook.model.scopes import Scope, ScopeKind


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose eyes a read is made with: a project, and the agent if it is one."""

    project: str
    #: an agent's id; None for somebody who may see all agents' memory
    agent: str | None = None

    @classmethod
    def of(cls, actor_id: str, role: Role, project: str) -> Reader:
        return cls(project, actor_id if role is Role.AGENT else None)

    def depth(self, scope: Scope) -> int:
        """How deep a scope lies for this reader: another agent's memory is no nearer than the project's.

        So what others tagged cross-team stands beside the project's own and hides nothing of it.
        """
        return min(scope.depth, Scope.of_project(self.project).depth) if self.foreign(scope) else scope.depth

    def foreign(self, scope: Scope) -> bool:
        """Whether a scope is another agent's; for somebody who is no agent, every agent's is."""
        return scope.kind is ScopeKind.AGENT and scope.agent != self.agent


def visible(reader: Reader, alias: str = "m") -> tuple[str, dict[str, Any]]:
    """A clause over memories, and its parameters.

    An agent sees what is global, what is its project's, its own two tiers, and what other agents of the
    project tagged cross-team. Nobody sees another project through it.
    """
    clause = f"{alias}.project_id IN (:reader_project, 'global')"
    params: dict[str, Any] = {"reader_project": reader.project}
    if reader.agent is not None:
        clause += f"""
           AND ({alias}.scope <> 'agent' OR {alias}.agent = :reader_agent
                OR ({alias}.project_id = :reader_project
                    AND EXISTS (SELECT 1 FROM tags t WHERE t.ref = {alias}.id AND t.tag = '{CROSS_TEAM}')))"""
        params["reader_agent"] = reader.agent
    return clause, params
