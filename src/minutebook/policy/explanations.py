"""Why something came back, or did not, in words that a person can check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minutebook.policy.fusion import LISTS, Part

_LISTED = {
    Part.TEXT: "its words",
    Part.TRIGRAM: "words spelled alike",
    Part.VECTOR: "its meaning",
}
_BESIDE = {
    Part.SCOPE: "a near scope",
    Part.RECENCY: "a late change",
    Part.CONFIDENCE: "its confidence",
    Part.IMPORTANCE: "its importance",
    Part.SIGNAL: "how often it was of use",
    Part.CONTEXT: "what was said around it",
    Part.AUTHOR: "who said it",
}


#: From which share of the nearest hit's nearness on a meaning is said to be the same.
_NEAR = 0.6


def quoted(words: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(f'"{word}"' for word in words[:most])
    return f"{shown} and {len(words) - most} more" if len(words) > most else shown


def why(
    matched: Sequence[str],
    asked: int,
    parts: Mapping[Part, float],
    *,
    alike: Mapping[str, str],
    nearness: float,
    origin: str,
) -> str:
    """A sentence about one hit. `alike` gives for words of the query those that are spelled like them here.

    `nearness` is how near its meaning comes to that of the nearest hit, 0 to 1.
    """
    reasons: list[str] = []
    if matched:
        every = len(matched) == asked
        counted = "" if asked == 1 else " (all its words)" if every else f" ({len(matched)} of {asked} words)"
        reasons.append(f"it holds {quoted(matched)}{counted}")
    if alike:
        reasons.append("it holds " + ", ".join(f'"{here}" for "{said}"' for said, here in alike.items()))
    if nearness > _NEAR:
        reasons.append("it means much the same")
    elif nearness > 0:
        reasons.append("its meaning is somewhat near")
    if not reasons and Part.CONTEXT in parts:
        reasons.append("what was said around it answers")
    if not reasons:
        reasons.append("its meaning is the nearest that is left, and not near")
    best = max(_BESIDE, key=lambda part: parts.get(part, 0.0))
    if parts.get(best, 0.0) > 0.02:
        reasons.append(f"{_BESIDE[best]} counts too")
    said = "; ".join(reasons)
    return f"{said[0].upper()}{said[1:]}{origin}."


def strongest(parts: Mapping[Part, float]) -> str:
    """What a score rests on most."""
    best = max(LISTS, key=lambda part: parts.get(part, 0.0))
    return _LISTED[best] if parts.get(best, 0.0) > 0 else _BESIDE[Part.CONTEXT]


def rested(score: float, parts: Mapping[str, float], matched: Sequence[str]) -> str:
    """What one hit of a past search rested on."""
    held = f"; it holds {quoted(matched)}" if matched else ""
    return f"{score:.3f}, most of all by {strongest({Part(name): points for name, points in parts.items()})}{held}"


def freshness(age_days: float, after_days: int, *, verified: bool) -> str:
    """What to bear in mind about something that was last confirmed so many days ago; empty when it is fresh."""
    if after_days <= 0 or age_days < after_days:
        return ""
    days = int(age_days)
    span = f"{days} days" if days < 90 else f"{days // 30} months" if days < 730 else f"{days // 365} years"
    return f"{'last verified' if verified else 'written'} {span} ago; look whether it still holds"
