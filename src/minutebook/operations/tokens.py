"""Secrets that name who asks over the network."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.controller.write import check_no_secret
from minutebook.ledger import actors, events
from minutebook.ledger import tokens as kept
from minutebook.model.actors import Actor, Role, rank
from minutebook.model.errors import MinutebookError
from minutebook.model.ids import is_ulid
from minutebook.model.paging import Page
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import check_name, fold_name, one_line
from minutebook.model.tokens import NewToken, Token, TokenState, digest_of, parse_expiry, secret_from
from minutebook.operations.actors import RoleName
from minutebook.operations.given import AfterId, Limit, Reason, page_of, reason_of
from minutebook.operations.registry import Access, Help, operation

TokenId = Annotated[str, Help("a token's id"), MaxLen(100)]

#: Tokens that one call of `revoke_all` takes; more than anybody makes, and it says so when there are more.
_MOST = 10_000


@operation(Access.OPERATE)
def create(
    call: Call,
    role: Annotated[RoleName, Help("the most it lets its bearer do")] = Role.AGENT,
    agent: Annotated[
        str | None,
        Help("who asks with it: any agent's name, or somebody registered; you, if not given"),
        MaxLen(400),
    ] = None,
    expires: Annotated[str, Help("when it ends: 12h, 30d, a date, or never"), MaxLen(60)] = "90d",
    note: Annotated[str, Help("what it is for"), MaxLen(400)] = "",
    everywhere: Annotated[bool, Help("good for every project, not only for this one")] = False,
) -> NewToken:
    """Make a token: who sends it acts as that agent, with that role, in that project, and as nobody else.

    The secret is shown this once; only its hash is kept. What its bearer may do is never more than what the
    actor itself may do at that moment. A token that is made with a token ends with it.

    Example:
        minutebook tokens create --role agent --agent ripley
        minutebook tokens create --role viewer --agent dashboard --expires never --note "the screen"
        minutebook tokens create --role operator --everywhere --expires 12h
    """
    # One at a time: what a token makes must not slip past the revocation of that token.
    call.tx.lock(GLOBAL)
    project = _reach(call, everywhere=everywhere)
    bearer = _bearer(call, agent, role, project)
    expires_at = _within(call, parse_expiry(expires, call.now))
    note = one_line(note)
    check_no_secret({"note": note})
    secret = secret_from(call.world.secret())
    digest = digest_of(secret)
    assert digest is not None
    token = Token(
        id=call.new_id(),
        agent=bearer.id,
        role=role,
        project=project,
        state=TokenState.ACTIVE,
        note=note,
        created_by=call.actor.id,
        created_at=call.now,
        expires_at=expires_at,
        made_with=call.caller.token,
    )
    kept.insert(call.tx, token, digest=digest, name=bearer.name)
    _event(call, "token.created", token)
    return NewToken(secret, token)


def _reach(call: Call, *, everywhere: bool) -> str | None:
    """The only project of the token, or None."""
    if not everywhere:
        return call.project.id
    if call.actor.project is not None:
        raise MinutebookError(
            "other_project",
            f"{call.actor.name} is bound to one project and makes no token that reaches further.",
        )
    return None


def _bearer(call: Call, agent: str | None, role: Role, project: str | None) -> Actor:
    """Who will ask with the token: somebody whom the caller may speak for."""
    if agent is None and role is Role.AGENT:
        raise MinutebookError("invalid_input", "Say which agent asks with it: --agent NAME.")
    name = check_name(call.actor.name if agent is None else agent, "agent")
    known = actors.get(call.tx, fold_name(name))
    mine = fold_name(name) == call.actor.id
    if known is None:
        bearer = Actor(fold_name(name), name, role, project)
        if rank(role) > rank(Role.AGENT) and not mine:
            raise MinutebookError(
                "not_found",
                f"There is no actor {name!r}; a token of the role {role} is for somebody registered.",
                hint=f"minutebook actors add {name!r} --role {role}",
            )
        if not mine:
            actors.check_free(call.tx, bearer, bound=call.actor.project)
        return bearer
    if known.retired_at is not None:
        raise MinutebookError("bad_transition", f"{known.name} was retired.", actor=known.id)
    if known.project not in (None, project):
        raise MinutebookError(
            "other_project", f"{known.name} is bound to a project, and a token reaches no further."
        )
    if call.actor.project not in (None, known.project) and not mine:
        raise MinutebookError(
            "other_project", f"{known.name} is not of the project that {call.actor.name} is bound to."
        )
    if known.role is Role.SCRIBE or rank(role) > rank(known.role):
        raise MinutebookError(
            "not_allowed",
            f"{known.name} has the role {known.role}, and a token gives no more than its bearer has.",
            role=known.role,
        )
    return known


def _within(call: Call, expires_at: str | None) -> str | None:
    """The end of the new token: not after that of the token which it is made with."""
    if call.caller.token is None:
        return expires_at
    parent = kept.get(call.tx, call.caller.token, call.now)
    if parent is None or parent.state is not TokenState.ACTIVE:
        raise MinutebookError("bad_token")
    ends = [end for end in (expires_at, parent.expires_at) if end is not None]
    return min(ends, default=None)


def _event(call: Call, kind: str, token: Token) -> None:
    events.append(
        call.tx,
        kind=kind,
        subject=token.id,
        project=token.project or GLOBAL,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now,
        detail={"agent": token.agent, "role": token.role, "expires_at": token.expires_at},
    )


@operation(Access.READ)
def list_(
    call: Call,
    agent: Annotated[str | None, Help("only those of this agent or actor"), MaxLen(400)] = None,
    state: Annotated[Literal["active", "expired", "revoked", "all"], Help("how they stand")] = "active",
    after: AfterId | None = None,
    limit: Limit = 50,
) -> Page[Token]:
    """List tokens, newest first, with their last use; never a secret.

    Operators see all, or those of the one project they are bound to; everybody else sees their own.

    Example:
        minutebook tokens list
        minutebook tokens list --agent ripley --state all
    """
    wanted = kept.Filter(
        agent=None if agent is None else fold_name(agent),
        state=None if state == "all" else TokenState(state),
        project=call.actor.project,
    )
    if call.actor.role is not Role.OPERATOR:
        if wanted.agent not in (None, call.actor.id):
            return Page(())
        wanted = kept.Filter(agent=call.actor.id, state=wanted.state, project=wanted.project)
    return page_of(kept.list_(call.tx, wanted, now=call.now, after=after, limit=limit + 1), limit, "id")


@operation(Access.READ)
def show(call: Call, id: TokenId) -> Token:
    """Show one token: whom it names, how far it reaches, when it was last used. Never its secret.

    Example:
        minutebook tokens show 01K9…
    """
    return _token(call, id)


def _token(call: Call, id: str) -> Token:
    """A token that the caller may know of."""
    found = kept.get(call.tx, id.upper(), call.now) if is_ulid(id.upper()) else None
    if found is not None and call.actor.project not in (None, found.project):
        found = None
    if found is not None and call.actor.role is not Role.OPERATOR and found.agent != call.actor.id:
        found = None
    if found is None:
        raise MinutebookError("not_found", f"There is no token {id[:80]!r}.", hint="minutebook tokens list")
    return found


@operation(Access.OPERATE)
def revoke(call: Call, id: TokenId, reason: Reason = "revoked") -> Page[Token]:
    """Revoke a token, and every token that was made with it. The next request with one is refused.

    The answer lists all that were revoked.

    Example:
        minutebook tokens revoke 01K9… --reason "it was in a log"
    """
    token = _token(call, id)
    if token.revoked_at is not None:
        raise MinutebookError("bad_transition", "It was revoked before.", token=token.id)
    return _revoke(call, [token], reason)


@operation(Access.OPERATE)
def revoke_all(
    call: Call,
    agent: Annotated[str | None, Help("those of this agent or actor"), MaxLen(400)] = None,
    everyone: Annotated[bool, Help("those of everyone, also the one that you ask with")] = False,
    reason: Reason = "revoked",
) -> Page[Token]:
    """Revoke every token of an agent, or of everyone.

    Example:
        minutebook tokens revoke-all --agent ripley --reason "its machine was stolen"
        minutebook tokens revoke-all --everyone
    """
    if (agent is None) is not everyone:
        raise MinutebookError("invalid_input", "Say whose: --agent NAME, or --everyone.")
    wanted = kept.Filter(
        agent=None if agent is None else fold_name(agent),
        state=TokenState.ACTIVE,
        project=call.actor.project,
    )
    found = kept.list_(call.tx, wanted, now=call.now, after=None, limit=_MOST + 1)
    if len(found) > _MOST:
        raise MinutebookError("too_many", f"More than {_MOST:,} tokens; revoke them agent by agent.")
    return _revoke(call, found, reason)


def _revoke(call: Call, tokens: list[Token], reason: str) -> Page[Token]:
    call.tx.lock(GLOBAL)
    reason = reason_of(reason)
    ids = dict.fromkeys(id for token in tokens for id in kept.made_with(call.tx, token.id))
    kept.revoke(call.tx, list(ids), by=call.actor.id, reason=reason, at=call.now)
    revoked = [token for id in ids if (token := kept.get(call.tx, id, call.now)) is not None]
    for token in revoked:
        _event(call, "token.revoked", token)
    return Page(tuple(revoked))
