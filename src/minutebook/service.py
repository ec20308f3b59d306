"""Run one operation, for one actor: parse, authorise, hand to the writer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from minutebook.call import Call, Caller, LongCall, Preview, World
from minutebook.client import Client
from minutebook.ledger import actors, ids, projects, requests
from minutebook.ledger.database import Database, Tx
from minutebook.ledger.requests import Answered
from minutebook.model.actors import Actor, Origin, Role, rank
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.model.ids import is_ulid
from minutebook.model.projects import Project
from minutebook.model.scopes import GLOBAL
from minutebook.model.text import fold_name
from minutebook.model.verdicts import Outcome
from minutebook.operations.registry import Access, Operation, from_plain, to_plain

#: The rank that each access level takes.
_NEEDED = {
    Access.READ: Role.VIEWER,
    Access.PROPOSE: Role.AGENT,
    Access.REVIEW: Role.COORDINATOR,
    Access.OPERATE: Role.OPERATOR,
}
#: The longest key that a caller may send.
_KEY_CHARS = 200


class Service:
    """The ledger's operations, for whoever is asking through whichever door."""

    def __init__(self, database: Database, world: World) -> None:
        self.database = database
        self.world = world
        with database.read() as tx:
            newest = ids.newest(tx)
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
    ) -> Any:
        """Carry out an operation with raw arguments, and return its typed answer.

        `token` is the id of the bearer token that named the actor, if one did.
        """
        authorise(actor, operation)
        parsed = operation.parse(arguments)
        caller = Caller(actor=actor, origin=origin, project=None, run=run, key=check_key(key), token=token)
        if operation.outside:
            with self.database.read() as tx:
                caller = self._admit(tx, caller, project, operation)
            return operation.function(
                LongCall(database=self.database, caller=caller, world=self.world), **parsed
            )
        if operation.access is Access.READ:
            with self.database.read() as tx:
                return self._run(operation, tx, self._admit(tx, caller, project, operation), parsed)
        digest = "" if key is None else _digest(operation, arguments, project)
        try:
            return self.database.write(
                self._lane(project),
                lambda tx: self._write(operation, tx, caller, parsed, project, digest),
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
    ) -> None:
        """Start a write for a caller that must not sleep: `tell(value, error)` comes when it is durable.

        Only where `can_be_soon` says so. What is wrong with the request itself is raised at once.
        """
        authorise(actor, operation)
        parsed = operation.parse(arguments)
        caller = Caller(actor=actor, origin=origin, project=None, run=run, key=check_key(key), token=token)
        digest = "" if key is None else _digest(operation, arguments, project)

        def told(value: Any, error: BaseException | None) -> None:
            if isinstance(error, Preview):
                value, error = error.value, None
            tell(value, error)

        self.database.write_soon(
            "", lambda tx: self._write(operation, tx, caller, parsed, project, digest), told
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
    ) -> Any:
        """One write inside its transaction: answered before, or carried out now."""
        key, actor = caller.key, caller.actor
        # Before the first answer is given again: who may not ask any more is told nothing.
        caller = self._admit(tx, caller, project, operation)
        if key is not None:
            before = requests.find(tx, actor.id, key)
            if before is not None:
                return _again(operation, before, digest)
        error: Refusal | None = None
        value: Any = None
        try:
            value = self._run(operation, tx, caller, parsed)
        except Refusal as refusal:
            error = refusal
        if key is not None:
            answer = {"error": error.as_dict()} if error is not None else {"value": to_plain(value)}
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
        known = tx.remember(("actor", caller.actor.id), lambda: actors.get(tx, caller.actor.id))
        actor = caller.actor
        if known is not None:
            check_not_retired(known)
            actor = replace(known, project=known.project or caller.actor.project)
            authorise(actor, operation)
        return replace(caller, actor=actor, project=self._project(tx, actor, project, operation))

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
        if archived and operation.access is not Access.READ and operation.noun not in ("projects", "system"):
            raise MinutebookError(
                "bad_transition",
                f"The project {found.slug!r} is archived and takes no writes.",
                hint=f"minutebook projects restore {found.slug}",
            )
        return found

    def actor(self, name: str) -> Actor | None:
        """A registered actor by name; one that was retired can ask for nothing."""
        with self.database.read() as tx:
            found = actors.get(tx, fold_name(name))
        if found is not None:
            check_not_retired(found)
        return found

    def close(self) -> None:
        self.database.close()


class LocalClient(Client):
    """A client of the service in this process, for one actor and one project."""

    def __init__(
        self, service: Service, *, actor: Actor, origin: Origin, project: str | None, run: str | None = None
    ) -> None:
        self.service = service
        self.actor = actor
        self.origin = origin
        self.project = project
        self.run = run

    def invoke(self, operation: Operation, arguments: Mapping[str, Any], key: str | None = None) -> Any:
        return self.service.invoke(
            operation,
            arguments,
            actor=self.actor,
            origin=self.origin,
            project=self.project,
            key=key,
            run=self.run,
        )

    def close(self) -> None:
        self.service.close()


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


def _digest(operation: Operation, arguments: Mapping[str, Any], project: str | None) -> str:
    text = json.dumps([operation.name, project, to_plain(dict(arguments))], sort_keys=True, default=str)
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
