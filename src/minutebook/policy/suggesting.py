"""How a suggestion is told to a reviewer: a sentence, and what would change. Pure.

It is made of the memories as they stand now, so that nothing of their words has to be kept beside them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from minutebook.model.consolidation import Act, Kind, Suggestion
from minutebook.model.inbox import Proposal
from minutebook.model.memories import Memory
from minutebook.policy.consolidation import shortened

_ACTS = {
    Act.MERGE: "merge",
    Act.SHARE: "give it to the whole project, and merge",
    Act.LINK: "link them as contradicting each other, or take with --keep the one that holds",
    Act.ARCHIVE: "archive it",
    Act.SHORTEN: "leave out what it says twice",
    Act.PROMOTE: "promote it",
}


def sentence(suggestion: Suggestion, memories: Sequence[Memory], proposal: Proposal | None) -> str:
    """What was noticed and what is suggested."""
    names = [f"{memory.slug!r}" for memory in memories]
    if proposal is not None:
        names = [f"{proposal.slug!r}"]
    if not names:
        return "What it was about is not there any more."
    return f"{_noticed(suggestion, names)}: {_ACTS[suggestion.act]}."


def _noticed(suggestion: Suggestion, names: Sequence[str]) -> str:
    first, others = names[0], ", ".join(names[1:])
    share = "" if suggestion.score is None else f" ({suggestion.score:.0%})"
    match suggestion.kind:
        case Kind.DUPLICATE:
            return f"{first} and {others} say the same"
        case Kind.NEAR_DUPLICATE:
            return f"{first} and {others} say nearly the same{share}"
        case Kind.SHARED:
            return f"Several agents keep the same for themselves: {first}, {others}"
        case Kind.CONTRADICTION:
            return f"{first} and {others} disagree ({suggestion.rule})"
        case Kind.OUTDATED:
            return f"{first} holds {suggestion.rule} only"
        case Kind.STALE_EVIDENCE:
            return f"All that {first} rests on is {suggestion.rule}"
        case Kind.UNUSED:
            return f"Nobody was shown {first} for {suggestion.rule}"
        case Kind.OVERLONG:
            return f"{first} is long and repeats itself"
        case Kind.GROUNDED:
            return f"{first} is well founded by the rule {suggestion.rule!r}"


def diff(suggestion: Suggestion, memories: Sequence[Memory], proposal: Proposal | None) -> str:
    """What taking it would change, as a unified diff."""
    if proposal is not None:
        return _changed(proposal.slug, "", f"{proposal.title}\n{proposal.content}")
    if not memories:
        return ""
    first, others = memories[0], memories[1:]
    if suggestion.act is Act.SHORTEN:
        return _changed(first.slug, first.content, shortened(first.content))
    if suggestion.act is Act.ARCHIVE:
        return _changed(first.slug, _state(first), _state(first, "archived"))
    if suggestion.act is Act.LINK:
        return "\n".join(_changed(first.slug, other.content, first.content, other.slug) for other in others)
    parts = [
        _changed(
            first.slug,
            f"{_state(other)}\n{other.content}",
            f"{_state(other, 'superseded')}\n{first.content}",
            other.slug,
        )
        for other in others
    ]
    if suggestion.act is Act.SHARE:
        parts.insert(0, _changed(first.slug, f"scope: {first.scope.kind}", "scope: project"))
    return "\n".join(parts)


def _state(memory: Memory, status: str | None = None) -> str:
    return f"status: {status or memory.status.value}"


def _changed(name: str, before: str, after: str, before_name: str | None = None) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), before_name or name, name, lineterm="", n=2
    )
    return "\n".join(lines)
