"""Every setting: its default, what it means, and the name of its environment variable."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.model.errors import MinutebookError
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
    body_bytes: int = _setting(4 * 1024**2, "MINUTEBOOK_BODY_BYTES", "the largest body of a request")
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
    log_level: str = _setting("info", "MINUTEBOOK_LOG_LEVEL", "debug, info, warning or error")

    @property
    def url(self) -> str:
        return self.database_url or f"sqlite://{self.home / 'ledger.db'}"

    @property
    def limits(self) -> Limits:
        return Limits(
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
        )


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
    if settings.content_bytes < 1:
        raise MinutebookError("bad_setting", "MINUTEBOOK_CONTENT_BYTES must be at least 1.")
    return settings


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
