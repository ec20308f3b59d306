"""Every limit and threshold of writing and of compiling, named once."""

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
    #: tokens of boundaries in a bundle; beyond them a boundary is there by its title
    context_boundary_tokens: int = 4_000
    #: what all memory in a bundle shares
    context_items: int = 20
    context_tokens: int = 4_000
    #: of these layers at most so many
    context_lessons: int = 5
    context_profile: int = 5
    context_episodes: int = 3
    context_session_tokens: int = 1_000
    #: points from which a memory is relevant to a task
    context_points: int = 4
    #: of what a bundle leaves out, so many are listed
    context_listed: int = 50
    #: runs above a run, and runs that one agent has open in a project
    run_depth: int = 8
    open_runs: int = 200
    #: proposals that are looked at when a run ends
    run_proposals: int = 500
    page: int = 50
    page_most: int = 1000
