"""Bearer tokens: a secret that names an actor, with a role and a project that it can only narrow."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from minutebook.model.actors import Actor, Role, rank
from minutebook.model.errors import MinutebookError
from minutebook.model.times import parse_deadline

#: What every secret begins with, so that people and scanners know one when they see it.
PREFIX = "mbk_"
_SECRET = re.compile(r"mbk_[A-Za-z0-9_-]{43}", re.ASCII)


class TokenState(StrEnum):
    """How a token stands."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it may be shown: everything but the secret, which nobody has but its holder."""

    id: str
    #: who asks with it
    agent: str
    role: Role
    #: the only project it is good for; None is every one
    project: str | None
    state: TokenState
    note: str
    created_by: str
    created_at: str
    #: None is never
    expires_at: str | None = None
    #: to within a minute
    last_used_at: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    reason: str | None = None
    #: the token that its maker asked with, if one
    made_with: str | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made, with its secret: the only answer that ever holds one."""

    #: None where the answer is given again: it was shown the first time, and is kept nowhere
    secret: str | None
    token: Token

    def without_secret(self) -> NewToken:
        """What of the answer may be kept for a retry."""
        return replace(self, secret=None)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token gives, as the ledger knows it now."""

    id: str
    actor_id: str
    name: str
    role: Role
    project: str | None
    expires_at: str | None
    revoked_at: str | None
    #: whom the actor's name is registered for, if anybody
    known: Actor | None

    def check(self, now: str) -> None:
        """Raise unless the token still holds. Only who has the secret hears why."""
        if self.revoked_at is not None:
            raise MinutebookError("bad_token", f"The token was revoked on {self.revoked_at[:10]}.")
        if self.expires_at is not None and self.expires_at <= now:
            raise MinutebookError("bad_token", f"The token expired on {self.expires_at[:10]}.")

    def actor(self) -> Actor:
        """Who asks: the actor with the smaller of the two roles, bound as either of them says."""
        known = self.known
        if known is None:
            return Actor(self.actor_id, self.name, self.role, self.project)
        if None not in (known.project, self.project) and known.project != self.project:
            raise MinutebookError(
                "other_project", f"{known.name} is bound to another project than the token is."
            )
        role = known.role if rank(known.role) <= rank(self.role) else self.role
        return replace(known, role=role, project=known.project or self.project)

    @property
    def as_agent(self) -> bool:
        """Whether its bearer sees what an agent sees.

        A viewer writes less than an agent and reads more: of the two, a token gives the less of each.
        """
        return Role.AGENT in (self.role, self.known.role if self.known is not None else None)


def secret_from(random: str) -> str:
    """A new secret, from 256 random bits in hexadecimal."""
    return PREFIX + base64.urlsafe_b64encode(bytes.fromhex(random)).decode("ascii").rstrip("=")


def digest_of(secret: str) -> str | None:
    """What is kept of a secret; None for a text that cannot be one."""
    if _SECRET.fullmatch(secret) is None:
        return None
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def parse_expiry(text: str, now: str) -> str | None:
    """When a token ends: a span such as 30d, a date, or `never`."""
    return None if text.strip().casefold() == "never" else parse_deadline(text, now)
