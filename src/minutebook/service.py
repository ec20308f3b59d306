"""Run one operation, for one actor: parse, authorise, hand to the writer."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.call import Call, Caller, LongCall, Preview, Watch, World
from minutebook.client import Client
from minutebook.ledger import actors, fulltext, ids, projects, requests, shelves, tokens
from minutebook.ledger.database import Database, Tx
from minutebook.ledger.requests import Answered
from minutebook.model.actors import Actor, Origin, Role, rank
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.model.ids import is_ulid
from minutebook.model.projects import Project
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import fold_name
from minutebook.model.tokens import Grant, NewToken, digest_of
from minutebook.model.verdicts import Outcome
from minutebook.operations.registry import Access, Operation, from_plain, to_plain

log = logging.getLogger("minutebook.service")

#: The rank that each access level takes.
_NEEDED = {
    Access.READ: Role.VIEWER,
    Access.PROPOSE: Role.AGENT,
    Access.REVIEW: Role.COORDINATOR,
    Access.OPERATE: Role.OPERATOR,
}
#: Nouns of whose writes no run is recorded, and which an ended run does not keep from asking.
_RUNLESS = frozenset({"runs", "hooks", "system", "projects", "actors", "tokens"})
#: The longest key that a caller may send.
_KEY_CHARS = 200


class Service:
    """The ledger's operations, for whoever is asking through whichever door."""

    def __init__(self, database: Database, world: World) -> None:
        self.database = database
        self.world = world
        self._uses = tokens.Uses(database)
        with database.read() as tx:
            newest = ids.newest(tx)
            unshelved, unread = shelves.unfilled(tx), fulltext.unread(tx)
        if unshelved or unread:
            from minutebook.ledger import derived

            if unshelved:
                derived.shelve(database)
            if unread:
                derived.read_texts(database)
        if newest is not None:
            world.ids.after(newest)

    def invoke(
        self,
        operation: Operation,
        arguments: Mapping[str, Any],
        *,
        actor: Actor,
        origin: Origin,
        project: str | None = None,
        key: str | None = None,
        run: str | None = None,
        token: str | None = None,
        workspace: Path | None = None,
        watch: Watch | None = None,
        condition: Callable[[Call], None] | None = None,
        within: Tx | None = None,
    ) -> Any:
        """Carry out an operation with raw arguments, and return its typed answer.

        `token` is the id of the bearer token that named the actor, if one did; `workspace` is where the caller
        works, if its files can be read from here; `watch` is told how a write comes along; `condition` looks at what stands, in the write's own transaction, and raises to stop it;
        `within` is an open snapshot, for a read that shares it with others.
        """
        authorise(actor, operation)
        parsed = operation.parse(arguments)
        caller = Caller(
            actor=actor,
            origin=origin,
            project=None,
            run=run,
            key=check_key(key),
            token=token,
            workspace=workspace,
        )
        if token is not None:
            self._uses.note(token, self.world.clock())
        if operation.outside:
            with self.database.read_last() as tx:
                caller = self._admit(tx, caller, project, operation)
            return operation.function(
                LongCall(database=self.database, caller=caller, world=self.world), **parsed
            )
        if operation.access is Access.READ and within is not None:
            return self._run(operation, within, self._admit(within, caller, project, operation), parsed)
        if operation.access is Access.READ:
            with self.database.read() as tx:
                return self._run(operation, tx, self._admit(tx, caller, project, operation), parsed)
        digest = "" if key is None else _digest(operation, arguments)
        try:
            return self.database.write(
                self._lane(project or actor.project),
                _watched(
                    lambda tx: self._write(operation, tx, caller, parsed, project, digest, condition), watch
                ),
            )
        except Preview as preview:
            return preview.value

    def invoke_soon(
        self,
        operation: Operation,
        arguments: Mapping[str, Any],
        tell: Callable[[Any, BaseException | None], None],
        *,
        actor: Actor,
        origin: Origin,
        project: str | None = None,
        key: str | None = None,
        run: str | None = None,
        token: str | None = None,
        workspace: Path | None = None,
        watch: Watch | None = None,
        condition: Callable[[Call], None] | None = None,
    ) -> None:
        """Start a write for a caller that must not sleep: `tell(value, error)` comes when it is durable.

        Only where `can_be_soon` says so. What is wrong with the request itself is raised at once.
        """
        authorise(actor, operation)
        parsed = operation.parse(arguments)
        caller = Caller(
            actor=actor,
            origin=origin,
            project=None,
            run=run,
            key=check_key(key),
            token=token,
            workspace=workspace,
        )
        if token is not None:
            self._uses.note(token, self.world.clock())
        digest = "" if key is None else _digest(operation, arguments)

        def told(value: Any, error: BaseException | None) -> None:
            if isinstance(error, Preview):
                value, error = error.value, None
            tell(value, error)

        self.database.write_soon(
            "",
            _watched(
                lambda tx: self._write(operation, tx, caller, parsed, project, digest, condition), watch
            ),
            told,
        )

    def can_be_soon(self, operation: Operation) -> bool:
        """Whether `invoke_soon` takes the operation: a write, where no lane has to be looked up first."""
        return operation.access is not Access.READ and not operation.outside and not self.database.lanes

    def _run(self, operation: Operation, tx: Tx, caller: Caller, parsed: dict[str, Any]) -> Any:
        return operation.function(
            Call(tx=tx, caller=caller, world=self.world, now=self.world.clock()), **parsed
        )

    def _write(
        self,
        operation: Operation,
        tx: Tx,
        caller: Caller,
        parsed: dict[str, Any],
        project: str | None,
        digest: str,
        condition: Callable[[Call], None] | None = None,
    ) -> Any:
        """One write inside its transaction: answered before, or carried out now."""
        key, actor = caller.key, caller.actor
        # Before the first answer is given again: who may not ask any more is told nothing.
        caller = self._admit(tx, caller, project, operation)
        if key is not None:
            # With the project it is about, whoever named that: an actor may be at work in two.
            digest = f"{digest} {'' if caller.project is None else caller.project.id}"
            before = requests.find(tx, actor.id, key)
            if before is not None:
                return _again(operation, before, digest)
        if condition is not None:
            condition(Call(tx=tx, caller=caller, world=self.world, now=self.world.clock()))
        error: Refusal | None = None
        value: Any = None
        try:
            value = self._run(operation, tx, caller, parsed)
        except Refusal as refusal:
            error = refusal
        if key is not None:
            kept_value = value.without_secret() if isinstance(value, NewToken) else value
            answer = {"error": error.as_dict()} if error is not None else {"value": to_plain(kept_value)}
            kept = Answered(operation.name, digest, json.dumps(answer, ensure_ascii=False))
            requests.keep(tx, actor.id, key, kept, self.world.clock())
        if error is not None:
            raise error
        return value

    def _lane(self, project: str | None) -> str:
        """The lane of a write: its project's id, so that writes of one project never run side by side."""
        if project is None or project == GLOBAL or not self.database.lanes:
            return GLOBAL
        if is_ulid(project):
            return project
        with self.database.read() as tx:
            found = projects.find(tx, project)
        return GLOBAL if found is None else found.id

    def _admit(self, tx: Tx, caller: Caller, project: str | None, operation: Operation) -> Caller:
        """The caller as the ledger knows it now: a role that was taken away is gone at once."""
        if caller.token is not None:
            return self._admit_bearer(tx, caller, project, operation)
        known = tx.remember(("actor", caller.actor.id), lambda: actors.get(tx, caller.actor.id))
        actor = caller.actor
        if known is not None:
            check_not_retired(known)
            actor = replace(known, project=known.project or caller.actor.project)
            authorise(actor, operation)
        found = self._project(tx, actor, project, operation)
        return _in_run(tx, replace(caller, actor=actor, project=found), operation)

    def _admit_bearer(self, tx: Tx, caller: Caller, project: str | None, operation: Operation) -> Caller:
        """The caller as its token says, at this moment and in this transaction."""
        token = caller.token or ""
        grant = _known(tx.remember(("token", token), lambda: tokens.grant(tx, token)))
        actor = _bearer(grant, self.world.clock())
        if actor.id != caller.actor.id:
            raise MinutebookError("other_agent", f"The token is not that of {caller.actor.name}.")
        authorise(actor, operation)
        found = self._project(tx, actor, project, operation)
        return _in_run(tx, replace(caller, actor=actor, as_agent=grant.as_agent, project=found), operation)

    def _project(self, tx: Tx, actor: Actor, ref: str | None, operation: Operation) -> Project | None:
        """The project a call is about. A caller bound to one cannot name another."""
        if ref is None:
            ref = actor.project
        if ref is None:
            return None
        found = tx.remember(("project", ref), lambda: projects.find(tx, ref))
        if actor.project is not None and (found is None or found.id != actor.project):
            raise MinutebookError("other_project", f"{actor.name} is bound to another project.")
        if found is None and operation.noun in ("system", "projects", "actors"):
            # They concern the whole ledger: a directory whose project is not in it yet may ask for an import.
            return None
        if found is None:
            raise MinutebookError(
                "not_found",
                f"There is no project {ref[:80]!r}.",
                hint="minutebook projects list, or minutebook init",
            )
        archived = found.archived_at is not None
        housekeeping = operation.noun in ("projects", "system", "tokens")
        if archived and operation.access is not Access.READ and not housekeeping:
            raise MinutebookError(
                "bad_transition",
                f"The project {found.slug!r} is archived and takes no writes.",
                hint=f"minutebook projects restore {found.slug}",
            )
        return found

    def actor(self, name: str, within: Tx | None = None) -> Actor | None:
        """A registered actor by name; one that was retired can ask for nothing."""
        if within is None:
            with self.database.read_last() as tx:
                return self.actor(name, tx)
        id = fold_name(name)
        found = within.remember(("actor", id), lambda: actors.get(within, id))
        if found is not None:
            check_not_retired(found)
        return found

    def bearer(self, secret: str, within: Tx | None = None) -> tuple[Actor, Grant]:
        """Who asks with a secret, as the ledger knows them now, and what the token gives; or `bad_token`."""
        if within is None:
            with self.database.read_last() as tx:
                return self.bearer(secret, tx)
        digest, now = digest_of(secret), self.world.clock()
        grant = None
        if digest is not None:
            grant = within.remember(("secret", digest), lambda: tokens.grant_of(within, digest))
        grant = _known(grant)
        actor = _bearer(grant, now)
        self._uses.note(grant.id, now)
        return actor, grant

    def still_holds(self, token: str | None, expires_at: str | None) -> bool:
        """Whether a token, of which nothing else can have changed, has not ended; its use is noted."""
        if token is None:
            return True
        now = self.world.clock()
        if expires_at is not None and expires_at <= now:
            return False
        self._uses.note(token, now)
        return True

    def close(self) -> None:
        self.world.providers.close()
        try:
            self.world.traces.flush(self.database)
        except MinutebookError as error:
            # Traces are for looking back; a full disk must not turn an answer into an error.
            log.warning("the traces of the last searches are lost: %s", error.message)
        finally:
            self.database.close()


class LocalClient(Client):
    """A client of the service in this process, for one actor and one project."""

    def __init__(
        self,
        service: Service,
        *,
        actor: Actor,
        origin: Origin,
        project: str | None,
        run: str | None = None,
        token: str | None = None,
        workspace: Path | None = None,
    ) -> None:
        self.service = service
        self.actor = actor
        self.origin = origin
        self.project = project
        self.run = run
        self.token = token
        self.workspace = workspace

    def invoke(self, operation: Operation, arguments: Mapping[str, Any], key: str | None = None) -> Any:
        return self.service.invoke(
            operation,
            arguments,
            actor=self.actor,
            origin=self.origin,
            project=self.project,
            key=key,
            run=self.run,
            token=self.token,
            workspace=self.workspace,
        )

    def close(self) -> None:
        self.service.close()


def _watched(work: Callable[[Tx], Any], watch: Watch | None) -> Callable[[Tx], Any]:
    if watch is None:
        return work

    def told(tx: Tx) -> Any:
        watch.taken_up()
        try:
            return work(tx)
        finally:
            watch.done()

    return told


def authorise(actor: Actor, operation: Operation) -> None:
    """Deny by default: the declaration says who may ask."""
    needed = _NEEDED[operation.access]
    if actor.role is Role.SCRIBE or rank(actor.role) < rank(needed):
        raise MinutebookError(
            "not_allowed",
            f"{operation.name} takes the role {needed}; {actor.name} has the role {actor.role}.",
            operation=operation.name,
            needed=needed,
            role=actor.role,
        )


def _in_run(tx: Tx, caller: Caller, operation: Operation) -> Caller:
    """The caller, with the run that its write belongs to: an open one of this agent and project, or none.

    `current` is the caller's newest open run, if there is one: for whoever cannot say it anew with each write.
    """
    given = caller.run
    if given is None or operation.access is Access.READ or operation.noun in _RUNLESS:
        return caller
    from minutebook.ledger import runs  # costs more to import than a command without a run should pay
    from minutebook.model.runs import CURRENT

    if given.strip().casefold() == CURRENT:
        project = None if caller.project is None else caller.project.id
        found = [] if project is None else runs.open_of(tx, project, caller.actor.id, limit=1)
        return replace(caller, run=found[0].id if found else None)
    id = given.strip().upper()
    run = tx.remember(("run", id), lambda: runs.get(tx, id))
    if run is None or caller.project is None or run.project != caller.project.id:
        raise MinutebookError(
            "not_found",
            f"The write is said to belong to the run {given[:80]!r}, which this project does not have.",
            hint="minutebook runs start, then MINUTEBOOK_RUN or the header Minutebook-Run",
        )
    if run.agent != caller.actor.id:
        raise MinutebookError(
            "other_agent", f"{run.id} is a run of {run.agent}; {caller.actor.name} cannot write in it."
        )
    if not run.open:
        raise MinutebookError(
            "bad_transition",
            f"The run {run.id} is {run.status} and takes no more writes.",
            hint="minutebook runs start",
            run=run.id,
            status=run.status,
        )
    return replace(caller, run=run.id)


def _known(grant: Grant | None) -> Grant:
    if grant is None:
        raise MinutebookError("bad_token", "The token is unknown here.")
    return grant


def _bearer(grant: Grant, now: str) -> Actor:
    """Who asks with a token, if it holds."""
    grant.check(now)
    if grant.known is not None:
        check_not_retired(grant.known)
    return grant.actor()


def check_not_retired(actor: Actor) -> None:
    if actor.retired_at is not None:
        raise MinutebookError("not_allowed", f"{actor.name} was retired and can ask for nothing any more.")


def check_key(key: str | None) -> str | None:
    if key is None:
        return None
    if not key.strip() or len(key) > _KEY_CHARS or not key.isprintable():
        raise MinutebookError(
            "invalid_input", f"An idempotency key is 1 to {_KEY_CHARS} printable characters."
        )
    return key


def _digest(operation: Operation, arguments: Mapping[str, Any]) -> str:
    text = json.dumps([operation.name, to_plain(dict(arguments))], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _again(operation: Operation, before: Answered, digest: str) -> Any:
    """The first answer to the same request; a conflict for another one."""
    if before.digest != digest:
        raise MinutebookError(
            "key_reused", f"The key was used for another request, of {before.operation}; take a new one."
        )
    answer = json.loads(before.answer)
    if "error" in answer:
        error = answer["error"]
        raise MinutebookError(error["code"], error["message"], **error["details"])
    value = from_plain(operation.returns, answer["value"])
    return replace(value, replayed=True) if isinstance(value, Outcome) else value
