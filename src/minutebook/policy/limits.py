"""Every limit and threshold of the write path, named once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    title_chars: int = 300
    content_bytes: int = 64 * 1024
    rationale_bytes: int = 16 * 1024
    slot_chars: int = 120
    tags: int = 20
    evidence: int = 50
    #: writes per minute of one agent; 0 turns the rule off
    writes_per_minute: int = 300
    #: near duplicates looked at per write
    neighbours: int = 8
    #: shared share of words from which an agent's text is called known already
    near_skip: float = 0.9
    #: … and from which it is held for a reviewer
    near_hold: float = 0.7
    #: days after which `inbox expire` closes what nobody decided; 0 is never
    inbox_expiry_days: int = 0
    page: int = 50
    page_most: int = 1000
