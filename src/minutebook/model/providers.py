"""Providers: what other packages bring and an operator enabled. Each runs in a process of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a provider can be. Packages declare it under the entry-point group of that name."""

    EMBEDDER = "embedder"
    EXTRACTOR = "extractor"
    MODEL = "model"
    IMPORTER = "importer"

    @property
    def group(self) -> str:
        return f"minutebook.{self.value}s"

    @property
    def alone(self) -> bool:
        """Whether only one of the kind can be in use: vectors lie in one space, and one model is asked."""
        return self in (Kind.EMBEDDER, Kind.MODEL)


#: Names of what minutebook brings itself, and of what would be taken for it.
RESERVED = frozenset({"local", "endpoint", "rules", "none", "auto", "minutebook", "importer"})
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def name_of(text: str) -> str | None:
    """The name that an entry point goes by; None for one that cannot be a name."""
    folded = text.strip().lower()
    return folded if _NAME.fullmatch(folded) else None


@dataclass(frozen=True, slots=True)
class Declared:
    """What an installed package declares. Nothing of it was loaded to know this."""

    kind: Kind
    name: str
    #: the installed package, its version, and what it points to: module:attribute
    package: str
    version: str
    target: str


@dataclass(frozen=True, slots=True)
class Enabled:
    """What an operator enabled, as it was then: another package of that name is another provider."""

    kind: Kind
    name: str
    package: str
    target: str
    by: str
    at: str


class Standing(StrEnum):
    """How it stands with a provider."""

    AVAILABLE = "available"
    ENABLED = "enabled"
    #: it failed several times, and is left alone for a while
    COOLING = "cooling"
    #: it is enabled, and not installed here any more
    MISSING = "missing"
    #: it is enabled, and what is installed under its name is something else now
    CHANGED = "changed"
    #: several packages claim its name, or it is one of our own
    COLLISION = "collision"


@dataclass(frozen=True, slots=True)
class Pulse:
    """How a provider is doing in the process that answers."""

    failures: int = 0
    #: seconds for which it is left alone still
    resting: float = 0.0
    #: what went wrong last, without anybody's words
    fault: str | None = None
    #: the process that it runs in, while it runs
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderLine:
    """A provider, as it is listed."""

    name: str
    kind: Kind
    standing: Standing
    package: str
    version: str
    #: failures one after the other, and what went wrong last
    failures: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class ProviderView:
    """Everything about a provider."""

    name: str
    kind: Kind
    standing: Standing
    sentence: str
    package: str
    version: str
    target: str
    enabled_by: str | None
    enabled_at: str | None
    failures: int
    resting_seconds: float
    fault: str | None
    pid: int | None
    #: other packages that claim the name
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Switched:
    """What enabling or disabling did."""

    name: str
    kind: Kind
    standing: Standing
    sentence: str
