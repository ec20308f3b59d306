"""Find memories and proposals by their text."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import inbox as proposals
from minutebook.ledger import listings
from minutebook.ledger import memories as kept
from minutebook.model.errors import MinutebookError
from minutebook.model.search import Found, Hit, State
from minutebook.model.text import fold_name, words
from minutebook.operations.given import Agent, Limit, TypeName, tags_of
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy.shadowing import shadows
from minutebook.policy.snippets import snippet

#: Distinct words of a query that are looked for.
_TERMS = 32


@operation(Access.READ)
def search(
    call: Call,
    query: Annotated[str, Help("words; any of them may match"), MaxLen(4_000)],
    type: TypeName | None = None,
    status: Annotated[
        Literal["active", "superseded", "contradicted", "archived", "retired", "all"],
        Help("how memories stand"),
    ] = "active",
    agent: Agent | None = None,
    tag: Annotated[list[str], Help("only with this tag")] = (),  # type: ignore[assignment]
    proposals_too: Annotated[bool, Help("also pending proposals")] = False,
    shadowed: Annotated[bool, Help("also what a deeper scope hides")] = False,
    limit: Limit = 10,
) -> Found:
    """Find memories by their text: those that hold more, and rarer, of the words come first.

    You find what you may see: what is global, the project's, and your own. A write is found from its
    commit on.

    Example:
        minutebook search "why not redis"
        minutebook search "proxy limit" --proposals-too
    """
    terms = list(dict.fromkeys(words(query)))[:_TERMS]
    if not terms:
        raise MinutebookError("blank_field", "The query holds no word to look for.", field="query")
    wanted = listings.Filter(
        type=type, status=status, agent=None if agent is None else fold_name(agent), tags=tags_of(tag)
    )
    hits = _memories(call, terms, wanted, limit, shadowed)
    if proposals_too:
        hits += _proposals(call, terms, limit)
        hits.sort(key=lambda hit: -hit.score)
    hits = hits[:limit]
    if hits:
        return Found(State.HITS, f"{len(hits)} found.", tuple(hits))
    anywhere = listings.Filter(status="all")
    if _memories(call, terms, anywhere, 1, True):
        return Found(
            State.FILTERED, "Something holds these words, but the filters leave it out; try --status all.", ()
        )
    return Found(State.EMPTY, "Nothing you may see holds any of these words.", ())


def _memories(call: Call, terms: list[str], wanted: listings.Filter, limit: int, shadowed: bool) -> list[Hit]:
    rows = listings.matching(call.tx, terms, call.reader, wanted, limit=limit * 3)
    hidden = shadows(listings.namesakes(call.tx, call.reader, [row["ref"] for row in rows]))
    found = []
    for row in rows:
        memory = kept.get(call.tx, row["ref"])
        if memory is None or (memory.id in hidden and not shadowed):
            continue
        found.append(
            Hit(
                kind="memory",
                id=memory.id,
                slug=memory.slug,
                type=memory.type,
                title=memory.title,
                scope=str(memory.scope),
                status=memory.status,
                author=memory.author,
                score=round(row["score"], 4),
                snippet=snippet(memory.content, terms),
                updated_at=memory.updated_at,
                shadowed_by=hidden.get(memory.id),
            )
        )
    return found[:limit]


def _proposals(call: Call, terms: list[str], limit: int) -> list[Hit]:
    rows = proposals.matching(call.tx, terms, call.project.id, limit=limit)
    found = []
    for row in rows:
        proposal = proposals.get(call.tx, row["ref"])
        if proposal is not None:
            found.append(
                Hit(
                    kind="proposal",
                    id=proposal.id,
                    slug=proposal.slug,
                    type=proposal.type,
                    title=proposal.title,
                    scope=str(proposal.scope),
                    status=proposal.status,
                    author=proposal.agent,
                    score=round(row["score"], 4),
                    snippet=snippet(proposal.content, terms),
                    updated_at=proposal.updated_at,
                )
            )
    return found
