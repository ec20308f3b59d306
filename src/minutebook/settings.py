"""Every setting: its default, what it means, and the name of its environment variable."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.model.errors import MinutebookError
from minutebook.policy.fusion import Weights
from minutebook.policy.limits import Limits


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table of settings."""

    name: str
    environment: str
    default: Any
    meaning: str


_LIMITS = Limits()


def _setting(default: Any, environment: str, meaning: str) -> Any:
    return field(default=default, metadata={"environment": environment, "meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """How this program was set up."""

    home: Path = _setting(Path("~/.minutebook"), "MINUTEBOOK_HOME", "where the ledger and its backups lie")
    database_url: str = _setting(
        "", "MINUTEBOOK_DATABASE_URL", "sqlite:///… or postgresql://…; ledger.db in the home if empty"
    )
    project: str = _setting("", "MINUTEBOOK_PROJECT", "the project to act in, before the workspace file's")
    agent: str = _setting(
        "", "MINUTEBOOK_AGENT", "act as this agent and as nobody else: set it in an agent's environment"
    )
    run: str = _setting("", "MINUTEBOOK_RUN", "the run that writes belong to")
    lock_wait: float = _setting(
        30.0, "MINUTEBOOK_LOCK_WAIT", "seconds to wait for another process that owns the ledger"
    )
    writes_per_minute: int = _setting(
        _LIMITS.writes_per_minute,
        "MINUTEBOOK_WRITES_PER_MINUTE",
        "writes of one agent in a minute; 0 is no limit",
    )
    content_bytes: int = _setting(
        _LIMITS.content_bytes, "MINUTEBOOK_CONTENT_BYTES", "the longest content, in bytes"
    )
    near_hold: float = _setting(
        _LIMITS.near_hold,
        "MINUTEBOOK_NEAR_HOLD",
        "share of the same words from which an agent's text is held",
    )
    near_skip: float = _setting(
        _LIMITS.near_skip, "MINUTEBOOK_NEAR_SKIP", "share of the same words from which it is known already"
    )
    inbox_expiry_days: int = _setting(
        _LIMITS.inbox_expiry_days,
        "MINUTEBOOK_INBOX_EXPIRY_DAYS",
        "age at which `inbox expire` closes; 0 is never",
    )
    context_boundary_tokens: int = _setting(
        _LIMITS.context_boundary_tokens,
        "MINUTEBOOK_CONTEXT_BOUNDARY_TOKENS",
        "tokens of boundaries in a compiled context; beyond them a boundary is there by its title",
    )
    context_items: int = _setting(
        _LIMITS.context_items, "MINUTEBOOK_CONTEXT_ITEMS", "memories in a compiled context"
    )
    context_tokens: int = _setting(
        _LIMITS.context_tokens, "MINUTEBOOK_CONTEXT_TOKENS", "tokens that these memories share"
    )
    context_lessons: int = _setting(
        _LIMITS.context_lessons,
        "MINUTEBOOK_CONTEXT_LESSONS",
        "of them, learnings and patterns that are there for their importance",
    )
    context_profile: int = _setting(
        _LIMITS.context_profile, "MINUTEBOOK_CONTEXT_PROFILE", "of them, facts about people"
    )
    context_episodes: int = _setting(
        _LIMITS.context_episodes, "MINUTEBOOK_CONTEXT_EPISODES", "of them, recent episodes"
    )
    context_session_tokens: int = _setting(
        _LIMITS.context_session_tokens,
        "MINUTEBOOK_CONTEXT_SESSION_TOKENS",
        "tokens of the current session; of a longer summary, its end",
    )
    context_points: int = _setting(
        _LIMITS.context_points,
        "MINUTEBOOK_CONTEXT_POINTS",
        "points from which a memory is relevant to a task: 1 to 6 for each shared word, rarer ones more",
    )
    context_linked_points: int = _setting(
        _LIMITS.context_linked_points,
        "MINUTEBOOK_CONTEXT_LINKED_POINTS",
        "the same for a memory of a linked project; never fewer than at home",
    )
    context_linked: int = _setting(
        _LIMITS.context_linked, "MINUTEBOOK_CONTEXT_LINKED", "of them, memories of linked projects"
    )
    search_text: float = _setting(
        _LIMITS.search.text, "MINUTEBOOK_SEARCH_TEXT", "weight of the words of a question in a search"
    )
    search_trigram: float = _setting(
        _LIMITS.search.trigram, "MINUTEBOOK_SEARCH_TRIGRAM", "weight of words that are spelt alike"
    )
    search_vector: float = _setting(
        _LIMITS.search.vector,
        "MINUTEBOOK_SEARCH_VECTOR",
        "weight of what it means; these three are shares of those that there are",
    )
    search_scope: float = _setting(
        _LIMITS.search.scope, "MINUTEBOOK_SEARCH_SCOPE", "weight of a near scope, added to that"
    )
    search_recency: float = _setting(
        _LIMITS.search.recency, "MINUTEBOOK_SEARCH_RECENCY", "weight of a late change"
    )
    search_confidence: float = _setting(
        _LIMITS.search.confidence, "MINUTEBOOK_SEARCH_CONFIDENCE", "weight of how sure a memory is"
    )
    search_importance: float = _setting(
        _LIMITS.search.importance, "MINUTEBOOK_SEARCH_IMPORTANCE", "weight of its importance"
    )
    search_signal: float = _setting(
        _LIMITS.search.signal,
        "MINUTEBOOK_SEARCH_SIGNAL",
        "weight of its use lately; these five are 0.25 together at most",
    )
    search_half_life_days: float = _setting(
        _LIMITS.search.half_life_days,
        "MINUTEBOOK_SEARCH_HALF_LIFE_DAYS",
        "days in which recency becomes half",
    )
    search_neighbour: float = _setting(
        _LIMITS.search.neighbour,
        "MINUTEBOOK_SEARCH_NEIGHBOUR",
        "weight of what was said before and after an episode",
    )
    search_container: float = _setting(
        _LIMITS.search.container,
        "MINUTEBOOK_SEARCH_CONTAINER",
        "weight of the talk or run that an episode is part of",
    )
    search_author: float = _setting(
        _LIMITS.search.author,
        "MINUTEBOOK_SEARCH_AUTHOR",
        "weight of an episode of the one author whom the question names",
    )
    search_fresh_days: int = _setting(
        _LIMITS.search_fresh_days,
        "MINUTEBOOK_SEARCH_FRESH_DAYS",
        "days after which a hit says how old it is; 0 is never",
    )
    search_days: int = _setting(
        30, "MINUTEBOOK_SEARCH_DAYS", "days for which the traces of searches are kept; 0 keeps none"
    )
    embedder: str = _setting(
        "auto",
        "MINUTEBOOK_EMBEDDER",
        "auto: search by meaning too, with the endpoint named below, else the local model; none: by text only",
    )
    embedder_url: str = _setting(
        "",
        "MINUTEBOOK_EMBEDDER_URL",
        "an endpoint that speaks OpenAI's form, up to /v1; memories are sent there",
    )
    embedder_model: str = _setting("", "MINUTEBOOK_EMBEDDER_MODEL", "the model to ask it for")
    embedder_key: str = _setting("", "MINUTEBOOK_EMBEDDER_KEY", "the key to ask it with")
    embedder_seconds: float = _setting(10.0, "MINUTEBOOK_EMBEDDER_SECONDS", "seconds that it has to answer")
    model_url: str = _setting(
        "",
        "MINUTEBOOK_MODEL_URL",
        "an OpenAI-compatible endpoint that reads what was captured, https://…/v1; empty is none",
    )
    model_name: str = _setting("", "MINUTEBOOK_MODEL_NAME", "the model to ask it for")
    model_key: str = _setting("", "MINUTEBOOK_MODEL_KEY", "the key to ask it with")
    model_seconds: float = _setting(60.0, "MINUTEBOOK_MODEL_SECONDS", "seconds that it has to answer")
    model_tokens: int = _setting(2_000, "MINUTEBOOK_MODEL_TOKENS", "tokens that one answer may have")
    model_budget: int = _setting(
        _LIMITS.model_budget, "MINUTEBOOK_MODEL_BUDGET", "tokens, sent and received, that one source may cost"
    )
    provider_seconds: float = _setting(
        30.0, "MINUTEBOOK_PROVIDER_SECONDS", "seconds that a provider of another package has for one answer"
    )
    provider_failures: int = _setting(
        5, "MINUTEBOOK_PROVIDER_FAILURES", "failures one after the other, after which it is left alone"
    )
    provider_pause: float = _setting(30.0, "MINUTEBOOK_PROVIDER_PAUSE", "for so many seconds")
    consolidation_at: str = _setting(
        _LIMITS.consolidation_at,
        "MINUTEBOOK_CONSOLIDATION_AT",
        "when the service looks whether a consolidation is due: five fields of cron, in UTC; - is never",
    )
    consolidation_hours: float = _setting(
        _LIMITS.consolidation_hours,
        "MINUTEBOOK_CONSOLIDATION_HOURS",
        "hours after the last one from which the next may begin on its own",
    )
    consolidation_runs: int = _setting(
        _LIMITS.consolidation_runs, "MINUTEBOOK_CONSOLIDATION_RUNS", "runs that must have ended since"
    )
    consolidation_signals: int = _setting(
        _LIMITS.consolidation_signals,
        "MINUTEBOOK_CONSOLIDATION_SIGNALS",
        "memories that must have been written since, or recalled often",
    )
    consolidation_recalls: int = _setting(
        _LIMITS.consolidation_recalls, "MINUTEBOOK_CONSOLIDATION_RECALLS", "how often that is"
    )
    consolidation_score: float = _setting(
        _LIMITS.consolidation_score,
        "MINUTEBOOK_CONSOLIDATION_SCORE",
        "and how much that must be worth, 0 to 1: by number, and by how lately it was recalled and written",
    )
    consolidation_suggestions: int = _setting(
        _LIMITS.consolidation_suggestions,
        "MINUTEBOOK_CONSOLIDATION_SUGGESTIONS",
        "the most suggestions that wait at once",
    )
    consolidation_unused_days: int = _setting(
        _LIMITS.consolidation_unused_days,
        "MINUTEBOOK_CONSOLIDATION_UNUSED_DAYS",
        "days without use after which a memory is called unused; 0 is never",
    )
    promotion_rules: str = _setting(
        _LIMITS.promotion_rules,
        "MINUTEBOOK_PROMOTION_RULES",
        "proposals that a consolidation finds well founded: TYPES: confidence>=N evidence>=N similar>=N days>=N; …; - is none",
    )
    service: str = _setting(
        "auto",
        "MINUTEBOOK_SERVICE",
        "auto: join the service and start it when absent; join: never start it; "
        "never: each command owns the ledger itself",
    )
    service_url: str = _setting(
        "", "MINUTEBOOK_SERVICE_URL", "a remote service, https://…; empty is the one of the home"
    )
    token: str = _setting("", "MINUTEBOOK_TOKEN", "the bearer token to ask with; it says who asks")
    host: str = _setting("127.0.0.1", "MINUTEBOOK_HOST", "where the service listens for HTTP")
    port: int = _setting(0, "MINUTEBOOK_PORT", "its port; 0 is 8646, or another free one when that is taken")
    allowed_hosts: str = _setting(
        "", "MINUTEBOOK_ALLOWED_HOSTS", "host names besides loopback that the service answers for, by comma"
    )
    body_bytes: int = _setting(12 * 1024**2, "MINUTEBOOK_BODY_BYTES", "the largest body of a request")
    body_seconds: float = _setting(20.0, "MINUTEBOOK_BODY_SECONDS", "seconds for a body to arrive")
    connections: int = _setting(
        1000, "MINUTEBOOK_CONNECTIONS", "connections open at once; more are told to wait"
    )
    requests_per_minute: int = _setting(
        6000, "MINUTEBOOK_REQUESTS_PER_MINUTE", "requests of one token in a minute; 0 is no limit"
    )
    idle_exit: float = _setting(
        1800.0,
        "MINUTEBOOK_IDLE_EXIT",
        "seconds without a client after which a service that a command started ends; 0 is never",
    )
    hook_seconds: float = _setting(
        1.5, "MINUTEBOOK_HOOK_SECONDS", "the most seconds that `minutebook-hook` takes of a host's time"
    )
    job_workers: int = _setting(
        _LIMITS.job_workers,
        "MINUTEBOOK_JOB_WORKERS",
        "workers of the service that do what was put off; 0 leaves it to another service of the same ledger",
    )
    sweep_at: str = _setting(
        "17 3 * * *",
        "MINUTEBOOK_SWEEP_AT",
        "when old material is let go: five fields of cron, in UTC; - is never",
    )
    keep_sources_days: int = _setting(
        _LIMITS.keep_sources_days,
        "MINUTEBOOK_KEEP_SOURCES_DAYS",
        "days that the words of a source are kept once it was read; 0 is for ever",
    )
    keep_jobs_days: int = _setting(
        _LIMITS.keep_jobs_days,
        "MINUTEBOOK_KEEP_JOBS_DAYS",
        "days that jobs are kept once they are done; 0 is for ever",
    )
    keep_daily_days: int = _setting(
        _LIMITS.keep_daily_days,
        "MINUTEBOOK_KEEP_DAILY_DAYS",
        "days that archived daily logs are kept in the home; 0 is for ever",
    )
    log_level: str = _setting("info", "MINUTEBOOK_LOG_LEVEL", "debug, info, warning or error")

    @property
    def url(self) -> str:
        return self.database_url or f"sqlite://{self.home / 'ledger.db'}"

    @property
    def weights(self) -> Weights:
        """How a search weighs what it knows."""
        return Weights(**{f.name: getattr(self, f"search_{f.name}") for f in dataclasses.fields(Weights)})

    @property
    def limits(self) -> Limits:
        return Limits(
            job_workers=self.job_workers,
            sweep_at=_unless_off(self.sweep_at),
            keep_sources_days=self.keep_sources_days,
            keep_jobs_days=self.keep_jobs_days,
            keep_daily_days=self.keep_daily_days,
            writes_per_minute=self.writes_per_minute,
            content_bytes=self.content_bytes,
            near_hold=self.near_hold,
            near_skip=self.near_skip,
            inbox_expiry_days=self.inbox_expiry_days,
            context_boundary_tokens=self.context_boundary_tokens,
            context_items=self.context_items,
            context_tokens=self.context_tokens,
            context_lessons=self.context_lessons,
            context_profile=self.context_profile,
            context_episodes=self.context_episodes,
            context_session_tokens=self.context_session_tokens,
            context_points=self.context_points,
            context_linked_points=self.context_linked_points,
            context_linked=self.context_linked,
            model_budget=self.model_budget,
            consolidation_at=_unless_off(self.consolidation_at),
            consolidation_hours=self.consolidation_hours,
            consolidation_runs=self.consolidation_runs,
            consolidation_signals=self.consolidation_signals,
            consolidation_recalls=self.consolidation_recalls,
            consolidation_score=self.consolidation_score,
            consolidation_suggestions=self.consolidation_suggestions,
            consolidation_unused_days=self.consolidation_unused_days,
            promotion_rules=_unless_off(self.promotion_rules),
            search=self.weights,
            search_fresh_days=self.search_fresh_days,
        )


def _unless_off(text: str) -> str:
    """An empty variable is one that was not set; so what is to be nothing is spelt `-`."""
    return "" if text == "-" else text


def table() -> list[Setting]:
    """All settings, for the documentation."""
    return [
        Setting(f.name, f.metadata["environment"], f.default, f.metadata["meaning"])
        for f in dataclasses.fields(Settings)
    ]


def load(environ: Mapping[str, str], **given: Any) -> Settings:
    """Settings from the environment; what is given explicitly comes first. None counts as not given."""
    values: dict[str, Any] = {}
    for row in table():
        text = environ.get(row.environment, "").strip()
        if text:
            values[row.name] = _parsed(row, text)
    values |= {name: value for name, value in given.items() if value is not None}
    home = _home(Path(values.get("home", Settings.__dataclass_fields__["home"].default)))
    settings = Settings(**{**values, "home": home})
    if not 0 < settings.near_hold <= settings.near_skip <= 1:
        raise MinutebookError("bad_setting", "Near-duplicate shares must be 0 < near_hold <= near_skip <= 1.")
    if not math.isfinite(settings.lock_wait):
        raise MinutebookError("bad_setting", "MINUTEBOOK_LOCK_WAIT must be a number of seconds.")
    if min(settings.writes_per_minute, settings.inbox_expiry_days, settings.lock_wait) < 0:
        raise MinutebookError("bad_setting", "Limits and waits cannot be negative.")
    if min(getattr(settings, row.name) for row in table() if row.name.startswith("context_")) < 0:
        raise MinutebookError("bad_setting", "The budgets of a compiled context cannot be negative.")
    if settings.service not in ("auto", "join", "never"):
        raise MinutebookError("bad_setting", "MINUTEBOOK_SERVICE must be auto, join or never.")
    if not 0 <= settings.port <= 65535:
        raise MinutebookError("bad_setting", "MINUTEBOOK_PORT must be 0 to 65535.")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise MinutebookError("bad_setting", "MINUTEBOOK_LOG_LEVEL must be debug, info, warning or error.")
    if min(settings.body_bytes, settings.body_seconds, settings.connections) <= 0:
        raise MinutebookError("bad_setting", "The limits of a request must be more than 0.")
    if min(settings.requests_per_minute, settings.idle_exit) < 0:
        raise MinutebookError("bad_setting", "Limits and waits cannot be negative.")
    if not 0 < settings.hook_seconds <= 60:
        raise MinutebookError("bad_setting", "MINUTEBOOK_HOOK_SECONDS must be more than 0, and 60 at most.")
    _check_search(settings)
    if min(getattr(settings, row.name) for row in table() if row.name.startswith(("keep_", "job_"))) < 0:
        raise MinutebookError("bad_setting", "Days and workers cannot be negative.")
    if min(settings.provider_seconds, settings.provider_failures, settings.provider_pause) <= 0:
        raise MinutebookError("bad_setting", "The limits of a provider must be more than 0.")
    if settings.content_bytes < 1:
        raise MinutebookError("bad_setting", "MINUTEBOOK_CONTENT_BYTES must be at least 1.")
    return settings


def _check_search(settings: Settings) -> None:
    weights = dataclasses.asdict(settings.weights)
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights.values()):
        raise MinutebookError("bad_setting", "The weights of a search cannot be negative.")
    if settings.search_half_life_days <= 0 or settings.search_text <= 0:
        raise MinutebookError(
            "bad_setting", "The weight of the text and the half-life of a search must be more than 0."
        )
    if min(settings.search_days, settings.search_fresh_days) < 0:
        raise MinutebookError("bad_setting", "Days cannot be negative.")
    beside = (weights[name] for name in ("scope", "recency", "confidence", "importance", "signal"))
    if sum(beside) > 0.25:
        # More, and what does not fit the question could stand above what does.
        raise MinutebookError(
            "bad_setting", "What counts beside the lists of a search is 0.25 together at most."
        )
    if settings.embedder not in ("auto", "none"):
        raise MinutebookError("bad_setting", "MINUTEBOOK_EMBEDDER must be auto or none.")
    if not 0 < settings.embedder_seconds <= 600:
        raise MinutebookError(
            "bad_setting", "MINUTEBOOK_EMBEDDER_SECONDS must be more than 0, and 600 at most."
        )


def _home(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise MinutebookError(
            "bad_setting", f"There is no home directory for {str(path)[:80]!r}.", hint="set MINUTEBOOK_HOME"
        ) from None


def _parsed(row: Setting, text: str) -> Any:
    kind = type(row.default)
    try:
        return Path(text) if isinstance(row.default, Path) else kind(text)
    except ValueError:
        raise MinutebookError(
            "bad_setting", f"{row.environment} must be a number, not {text[:40]!r}.", setting=row.name
        ) from None
