"""What a host tells when one of its sessions starts, pauses or ends, and what it is told in return."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HookEvent(StrEnum):
    """A moment in the life of a host's session, whatever the host itself calls it."""

    SESSION_START = "session-start"
    SESSION_END = "session-end"
    PROMPT_SUBMIT = "prompt-submit"
    STOP = "stop"
    PRE_COMPACT = "pre-compact"
    POST_COMPACT = "post-compact"
    SUBAGENT_START = "subagent-start"
    SUBAGENT_STOP = "subagent-stop"


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What the host is told. `context` is for the agent to read; None is nothing to say."""

    event: HookEvent
    host: str
    #: the slug of the project that the host's session belongs to
    project: str | None
    context: str | None
