"""Hosts that call when a session of theirs starts or ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import Call
from minutebook.model.hooks import HookAnswer, HookEvent
from minutebook.model.text import check_name
from minutebook.operations.registry import Access, Help, operation

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

    `minutebook-hook` calls this for the hosts; see `minutebook connect --hooks`.

    Example:
        minutebook hooks receive session-start claude-code --session 5f3a --cwd ~/src/checkout
    """
    name = check_name(host, "host")
    project = call.caller.project
    return HookAnswer(event=event, host=name, project=None if project is None else project.slug, context=None)
