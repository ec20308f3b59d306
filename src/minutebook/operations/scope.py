"""What an agent would see, and what hides what."""

from __future__ import annotations

from collections import Counter

from minutebook.call import Call
from minutebook.ledger import listings
from minutebook.ledger.visibility import Reader
from minutebook.model.errors import MinutebookError
from minutebook.model.scopes import Scope
from minutebook.model.search import Layer, ScopeView, Shadow
from minutebook.model.text import fold_name
from minutebook.operations.given import Agent
from minutebook.operations.registry import Access, operation
from minutebook.policy.shadowing import shadows


@operation(Access.READ)
def show(call: Call, agent: Agent | None = None) -> ScopeView:
    """Explain what an agent would see in this project, scope by scope, and what is shadowed by what.

    Example:
        minutebook scope show --agent ripley
    """
    who = fold_name(agent) if agent else call.actor.id
    if call.reader.agent not in (None, who):
        raise MinutebookError("other_agent", f"{call.actor.name} cannot look through the eyes of {agent!r}.")
    reader = Reader(call.project.id, who)
    seen = listings.standing_in(call.tx, reader)
    hidden = shadows([(reader.depth(scope), line) for scope, line in seen])
    by_scope: dict[Scope, Counter[str]] = {}
    for scope, line in seen:
        by_scope.setdefault(scope, Counter())[line.type] += 1
    layers = [
        Layer(str(scope), scope.depth, sum(types.values()), dict(sorted(types.items())))
        for scope, types in sorted(by_scope.items(), key=lambda item: (item[0].depth, str(item[0])))
    ]
    known = {line.id: (scope, line) for scope, line in seen}
    return ScopeView(
        agent=who,
        project=call.project.slug,
        layers=tuple(layers),
        shadows=tuple(
            Shadow(
                hidden=loser,
                hidden_scope=str(known[loser][0]),
                by=winner,
                by_scope=str(known[winner][0]),
                type=known[loser][1].type,
                slug=known[loser][1].slug,
            )
            for loser, winner in sorted(hidden.items())
        ),
        visible=len(seen) - len(hidden),
    )
