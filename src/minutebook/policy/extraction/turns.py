"""What was said, turn by turn, whatever the form it came in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Speaker(StrEnum):
    #: a person, in a conversation or as the author of a document
    PERSON = "person"
    #: the agent whose transcript it is
    AGENT = "agent"
    #: what a program printed: never read for what it says
    TOOL = "tool"


class Form(StrEnum):
    """How a source is written."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    MESSAGES = "messages"  # JSON with role and content
    CHAT = "chat"  # `Name: words`
    TEXT = "text"  # Markdown, notes, anything else


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said by one speaker, and the lines of the source that hold it, counted from 1."""

    speaker: Speaker
    text: str
    first: int
    last: int
    #: whether a line break of the text is one of the source, so that lines can be told apart
    in_lines: bool = False
    at: str | None = None
    #: how the speaker is called, where the source says so
    name: str | None = None
