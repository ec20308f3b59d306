"""Hosts that call when a session of theirs starts or ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.ledger import events
from minutebook.model.actors import may_decide
from minutebook.model.context import ContextRequest
from minutebook.model.hooks import HookAnswer, HookEvent
from minutebook.model.text import check_name
from minutebook.operations.context import compile_bundle
from minutebook.operations.registry import Access, Help, operation

#: When an agent begins, or begins anew: for those a context is compiled. True: a child's, boundaries alone.
_BEGINS = {HookEvent.SESSION_START: False, HookEvent.POST_COMPACT: False, HookEvent.SUBAGENT_START: True}

_Place = Annotated[str, MaxLen(4_096)]


@operation(Access.PROPOSE)
def receive(
    call: Call,
    event: Annotated[HookEvent, Help("what happened in the host")],
    host: Annotated[str, Help("the program that calls, such as claude-code"), MaxLen(100)],
    session: Annotated[str | None, Help("the host's own id of its session"), MaxLen(300)] = None,
    cwd: Annotated[_Place | None, Help("where the host works")] = None,
    transcript: Annotated[Path | None, Help("the host's record of the session")] = None,
    agent: Annotated[str | None, Help("the kind of subagent it is about"), MaxLen(200)] = None,
    reason: Annotated[str | None, Help("why, in the host's word: startup, clear, …"), MaxLen(200)] = None,
) -> HookAnswer:
    """Hear from a host that a session starts, pauses or ends, and say what its agent should know.

    When an agent begins it is told its context; a subagent is told the boundaries. `minutebook-hook` calls
    this for the hosts; see `minutebook connect --hooks`.

    Example:
        minutebook hooks receive session-start claude-code --session 5f3a --cwd ~/src/checkout
    """
    name = check_name(host, "host")
    project = call.caller.project
    told = _told(call, child=_BEGINS[event]) if project is not None and event in _BEGINS else None
    return HookAnswer(event, name, None if project is None else project.slug, told)


def _told(call: Call, *, child: bool) -> str | None:
    """What an agent is told that begins now; who may review hears what waits."""
    request = ContextRequest(
        project=call.project.id,
        agent=call.actor.id,
        seq=events.last_seq(call.tx),
        child=child,
        inbox=not child and may_decide(call.actor.role),
    )
    bundle = compile_bundle(call.tx, request, call.limits, call.witness.state)
    return None if bundle is None else bundle.text
