"""Who is asking: the actor comes from the credential, never from what is asked.

On the unix socket the kernel vouches for the user; over TCP a bearer token does. A token that is sent on the
socket counts too, and binds as it does anywhere else.
"""

from __future__ import annotations

import pwd
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from minutebook.ledger.database import Tx
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.text import check_name, fold_name
from minutebook.service import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Somebody who proved who they are, and where they ask."""

    actor: Actor
    origin: Origin
    project: str | None = None
    run: str | None = None
    #: the id of the token that named the actor
    token: str | None = None
    #: when that ends
    expires_at: str | None = None
    #: the root of the workspace that they work in, where its files are of this machine
    workspace: Path | None = None

    def terms(self) -> dict[str, Any]:
        """As the service takes them: `service.invoke(operation, arguments, key=…, **asker.terms())`."""
        return {
            "actor": self.actor,
            "origin": self.origin,
            "project": self.project,
            "run": self.run,
            "token": self.token,
            "workspace": self.workspace,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a request says besides its credential. None of it can widen what the credential allows."""

    #: act as this agent and as nobody else (socket only)
    agent: str | None = None
    #: act as somebody registered (socket only)
    actor: str | None = None
    project: str | None = None
    run: str | None = None
    #: where they work, as a whole path (socket only)
    workspace: str | None = None

    def root(self) -> Path | None:
        return Path(self.workspace) if self.workspace is not None and self.workspace.startswith("/") else None


class Doorkeeper:
    """Turns a credential into an asker, or turns the caller away."""

    def __init__(self, service: Service, *, uid: int) -> None:
        self._service = service
        self._uid = uid

    def by_peer(self, uid: int, said: Said, origin: Origin, within: Tx | None = None) -> Asker:
        """The user at the other end of the socket, as the kernel names them; `within` is an open snapshot."""
        if uid != self._uid:
            raise MinutebookError("foreign_user")
        if said.agent is not None:
            actor = self._named(said.agent, Role.AGENT, within)
        elif said.actor is not None:
            actor = self._named(said.actor, None, within)
        else:
            actor = self._named(login_of(uid), Role.OPERATOR, within)
        return Asker(actor=actor, origin=origin, project=said.project, run=said.run, workspace=said.root())

    def by_token(self, secret: str, said: Said, origin: Origin, within: Tx | None = None) -> Asker:
        """Whoever bears the token: the actor, the role and the project that it gives, and no others."""
        actor, grant = self._service.bearer(secret, within)
        for named in (said.agent, said.actor):
            if named is not None and fold_name(named) != actor.id:
                raise MinutebookError("other_agent", f"The token is that of {actor.name} and of nobody else.")
        return Asker(
            actor=actor,
            origin=origin,
            project=said.project or actor.project,
            run=said.run,
            token=grant.id,
            expires_at=grant.expires_at,
            workspace=said.root(),
        )

    def _named(self, name: str, otherwise: Role | None, within: Tx | None) -> Actor:
        """A registered actor; a stranger has the role given, or is turned away."""
        known = self._service.actor(name, within)
        if known is not None:
            return known
        if otherwise is None:
            raise MinutebookError(
                "not_found", f"There is no actor {name[:80]!r}.", hint=f"minutebook actors add {name[:80]}"
            )
        return _stranger(name, otherwise)


@lru_cache(maxsize=1024)
def _stranger(name: str, role: Role) -> Actor:
    """Somebody whom nobody registered. Kept, since the same few ask all the time."""
    name = check_name(name, "actor")
    return Actor(id=fold_name(name), name=name, role=role)


@cache
def login_of(uid: int) -> str:
    """The name of a user of this machine, whatever their environment says it is."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid-{uid}"  # a container's user often has no name
