"""Every limit and threshold of writing and of compiling, named once."""

from __future__ import annotations

from dataclasses import dataclass, field

from minutebook.policy.fusion import Weights


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
    #: … and, when it comes from a linked project, from so many; and at most so many of these
    context_linked_points: int = 8
    context_linked: int = 3
    #: links of one project to others
    reaches: int = 200
    #: of what a bundle leaves out, so many are listed
    context_listed: int = 50
    #: runs above a run, and runs that one agent has open in a project
    run_depth: int = 8
    open_runs: int = 200
    #: proposals that are looked at when a run ends
    run_proposals: int = 500
    #: workers that do what was put off
    job_workers: int = 2
    #: when old material is let go (cron, UTC; empty is never), and after how many days each kind; 0 is never
    sweep_at: str = "17 3 * * *"
    keep_sources_days: int = 0
    keep_jobs_days: int = 30
    keep_daily_days: int = 0
    #: when the gates of consolidation are looked at (cron, UTC; empty is never), and what opens them
    consolidation_at: str = "*/30 * * * *"
    consolidation_hours: float = 24.0
    consolidation_runs: int = 3
    consolidation_signals: int = 5
    #: recalls from which a memory counts as recalled often
    consolidation_recalls: int = 2
    #: … if it scores so much (policy/gates.py)
    consolidation_score: float = 0.75
    #: suggestions that one batch holds
    consolidation_suggestions: int = 100
    #: days without use after which a memory is called unused; 0 is never
    consolidation_unused_days: int = 90
    #: characters from which a memory is long
    consolidation_long_chars: int = 4_000
    #: which proposals are suggested for promotion (policy/promotion_rules.py)
    promotion_rules: str = "learning pattern update artifact project: confidence>=0.8 evidence>=1 similar>=1"
    #: characters of a source that a model is asked about at once, and tokens that one source may cost
    model_chars: int = 8_000
    model_budget: int = 50_000
    page: int = 50
    page_most: int = 1000
    #: how a search weighs what it knows
    search: Weights = field(default_factory=Weights)
    #: days after which a hit says how old it is; 0 is never
    search_fresh_days: int = 30
