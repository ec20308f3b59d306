"""Reads turns out of transcripts: Claude Code and Codex (JSON lines), messages, chat, and plain text.

A line that cannot be read costs nothing but itself. What a host puts into a person's mouth (reminders, output of
commands, instructions, the working directory) is nobody's word, and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minutebook.policy.extraction.turns import Form, Speaker, Turn

#: A line longer than this is not read: it is a picture or a file.
MOST_LINE = 2_000_000
#: So many lines at the start tell how a source is written.
_SAMPLE = 40

#: What a host writes between tags: names with a dash or an underscore, and a few without. People write words.
_OPENING = re.compile(
    r"<([a-z]+(?:[-_][a-z]+)+|skill|context|attachment|INSTRUCTIONS|permissions instructions)\b[^<>]{0,400}>"
)
#: Names of tags that are never closed after which no more are looked for.
_MOST_OPEN = 50
#: Those of them that are cut off now and then: what comes behind is nobody's word either.
_INJECTED = re.compile(
    r"<(?:system-reminder|command-name|command-message|command-args|local-command-\w+|environment_context"
    r"|user_instructions|user-prompt-submit-hook|ide_opened_file|ide_selection|bash-std(?:out|err)|task-notification"
    r"|INSTRUCTIONS|permissions instructions)\b"
)
#: How messages begin that a host writes in a person's name.
_HOSTS = (
    "Caveat: The messages below were generated",
    "This session is being continued from a previous conversation",
    "Base directory for this skill:",
    "Stop hook feedback:",
    "# AGENTS.md instructions for",
    "[Request interrupted",
    "<command-name>",
    "<command-message>",
)
#: Behind such a heading stands what a person asked, before it what their editor shows.
_ASKED = re.compile(r"\A# Context from my IDE setup:.*^## My request for \w+:", re.DOTALL | re.MULTILINE)
_AGENTS = frozenset(
    {
        "assistant", "agent", "ai", "bot", "chatgpt", "claude", "claude code", "codex", "copilot", "cursor", "gemini",
        "gpt", "gpt-4", "model", "opencode",
    }
)  # fmt: skip
_ASKERS = frozenset({"user", "human", "you", "me", "prompt"})
#: A line that is a speaker's name alone, as programs export a conversation in Markdown.
_TITLE = re.compile(
    r"^(?:#{1,4} +|_?\*\*)(?:[^\w\s]{1,3} ?)?([A-Za-z][A-Za-z -]{1,20}?):?(?:\*\*)?:?(?: \([^)\n]{1,60}\))?_?(?:\*\*)?_?[ \t]*$"
)
_TOOLS = frozenset({"tool", "system", "function", "developer", "log", "output"})
_SAID = re.compile(
    r"\s{0,3}(?:[-*]\s+)?(?:\[[^\]\n]{3,40}\]\s*|\d{1,2}:\d{2}(?::\d{2})?\s+)?"
    r"(?:\*\*|__)?([A-Za-zÀ-ÿ][\w .'-]{0,30}?)(?:\s*\([^)\n]{1,40}\))?(?:\*\*|__)?\s*:(?:\*\*|__)?\s+(\S.*)$"
)
#: Codex's events that say what was said, and who says it.
_EVENTS = {
    "user_message": "user", "UserMessage": "user", "agent_message": "assistant", "AgentMessage": "assistant",
}  # fmt: skip
#: Words before a colon that name no speaker.
_NO_NAME = frozenset(
    {
        "decision", "decisions", "note", "notes", "todo", "summary", "agreed", "approved", "resolved", "warning", "error",
        "info", "debug", "http", "https", "example", "tip", "gotcha", "title", "type", "date", "author", "status", "what",
        "why", "by", "reason", "context", "outcome", "rationale", "conclusion", "final call", "final decision", "so the plan is",
        "lesson learned", "key insight", "what i learned", "note for the future", "for next time", "tip for later",
        "key takeaway", "takeaway", "til", "fyi", "ps", "re", "subject", "from", "to", "cc", "action", "actions", "next",
        "next steps", "default", "learning", "learnings", "the plan", "the plan is", "important", "rule", "rules",
    }
)  # fmt: skip


def read(text: str, step: Callable[[], None] = lambda: None) -> tuple[Form, list[Turn]]:
    """How a source is written, and what was said in it. `step` is called for each line of a log."""
    lines = text.split("\n")
    form = form_of(lines)
    if form is Form.CLAUDE_CODE:
        return form, list(_claude(_objects(lines, step)))
    if form is Form.CODEX:
        return form, list(_codex(list(_objects(lines, step))))
    if form is Form.MESSAGES:
        return form, list(_messages(_array(text) or _objects(lines, step)))
    if form is Form.CHAT:
        return form, _exported(lines) or _chat(lines)
    return form, [Turn(Speaker.PERSON, text, 1, len(lines), in_lines=True)] if text.strip() else []


def form_of(lines: list[str]) -> Form:
    """How a source is written, told by its first lines."""
    head = [line for line in lines[: _SAMPLE * 2] if line.strip()][:_SAMPLE]
    if head and head[0].lstrip().startswith("["):
        whole = _array("\n".join(lines))
        if whole is not None and any(_is_message(one) for _, one in whole):
            return Form.MESSAGES
    found = [one for _, one in _objects(head)]
    if found and (len(found) * 2 > len(head) or head[0].startswith("{")):
        if any("payload" in one and isinstance(one.get("type"), str) for one in found):
            return Form.CODEX
        if any(
            one.get("type") in ("user", "assistant") and isinstance(one.get("message"), dict) for one in found
        ):
            return Form.CLAUDE_CODE
        if any(_is_message(one) for one in found):
            return Form.CODEX if any(one.get("record_type") == "state" for one in found) else Form.MESSAGES
    if _is_exported(name for line in lines if (name := _title_of(line)) is not None):
        return Form.CHAT
    # Documents have lines of that kind too, but none begins with them, unless it is their front matter.
    if head and head[0].strip() == "---":
        return Form.TEXT
    if not any(_speaker_of(line) for line in head[:3]):
        return Form.TEXT
    names = [name for line in head if (name := _speaker_of(line)) is not None]
    if len(names) >= 2 and len(set(names)) <= max(2, len(names) // 2 + 1):
        return Form.CHAT
    return Form.TEXT


def _objects(
    lines: Iterable[str], step: Callable[[], None] = lambda: None
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        step()
        if not line.lstrip().startswith("{") or len(line) > MOST_LINE:
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield number, found


def _array(text: str) -> list[tuple[int, dict[str, Any]]] | None:
    """The objects of a JSON array; of these no line is known, so all of them are said to be in the first."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    last = text.count("\n") + 1
    return [(1 if last == 1 else last, one) for one in found if isinstance(one, dict)]


def _is_message(one: dict[str, Any]) -> bool:
    return isinstance(one.get("role"), str) and "content" in one


def _words(content: Any, *kinds: str) -> str:
    """The text of a message: a string, or the parts of these kinds."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        part["text"]
        for part in content
        if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)
    ]
    return "\n".join(parts)


def _turn(role: str, words: str, line: int, at: Any = None) -> Turn | None:
    """A turn, if anybody said something in it."""
    speaker = _role(role)
    if speaker is Speaker.PERSON:
        words = _meant(words)
    if not words.strip():
        return None
    return Turn(speaker, words, line, line, at=at if isinstance(at, str) else None)


def _meant(words: str) -> str:
    """What a person wrote of a message, without what their host put there."""
    words = _ASKED.sub("", words) if words.startswith("# Context") else words
    if words.lstrip().startswith(_HOSTS):
        return ""
    if "<" in words:
        words = _without_blocks(words)
        injected = _INJECTED.search(words)
        if injected is not None:
            words = words[: injected.start()]
    return words


def _without_blocks(words: str) -> str:
    parts: list[str] = []
    place, never_closed = 0, set[str]()
    for opening in _OPENING.finditer(words):
        name = opening[1]
        if opening.start() < place or name in never_closed:
            continue
        end = words.find(f"</{name}>", opening.end())
        if end < 0:
            never_closed.add(name)
            if len(never_closed) > _MOST_OPEN:
                break
            continue
        parts.append(words[place : opening.start()])
        place = end + len(name) + 3
    return "".join([*parts, words[place:]])


def _role(role: str) -> Speaker:
    folded = role.strip().casefold()
    if folded in _AGENTS:
        return Speaker.AGENT
    return Speaker.TOOL if folded in _TOOLS else Speaker.PERSON


def _claude(objects: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[Turn]:
    """Claude Code: tool results come as a user's message, and a subagent's chatter is on a side chain."""
    for line, one in objects:
        message = one.get("message")
        if one.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if one.get("isSidechain") or one.get("isMeta") or one.get("isCompactSummary"):
            continue
        role = message.get("role")
        turn = _turn(
            role if isinstance(role, str) else one["type"],
            _words(message.get("content"), "text"),
            line,
            one.get("timestamp"),
        )
        if turn is not None:
            yield turn


def _codex(objects: list[tuple[int, dict[str, Any]]]) -> Iterator[Turn]:
    """Codex: what was said stands in response items, and once more in events.

    The events of a person are what was typed, without what the program adds to it; where there are any, they count.
    """
    typed = [turn for turn in _events(objects) if turn.speaker is Speaker.PERSON]
    items = [turn for turn in _items(objects) if turn.speaker is not Speaker.PERSON or not typed]
    if not items:
        yield from _events(objects)
        return
    yield from sorted([*typed, *items], key=lambda turn: turn.first)


def _items(objects: list[tuple[int, dict[str, Any]]]) -> Iterator[Turn]:
    for line, one in objects:
        if one.get("type") not in ("response_item", "message"):
            continue
        item = one["payload"] if isinstance(one.get("payload"), dict) else one
        if item.get("type") == "message" and isinstance(item.get("role"), str):
            said = _words(item.get("content"), "input_text", "output_text", "text")
            turn = _turn(item["role"], said, line, one.get("timestamp"))
            if turn is not None:
                yield turn


def _events(objects: list[tuple[int, dict[str, Any]]]) -> Iterator[Turn]:
    for line, one in objects:
        payload = one.get("payload")
        if one.get("type") != "event_msg" or not isinstance(payload, dict):
            continue
        kind, said = str(payload.get("type")), payload.get("message")
        item = payload.get("item")
        if kind == "item_completed" and isinstance(item, dict):
            kind, said = str(item.get("type")), _words(item.get("content"), "text", "Text")
        role = _EVENTS.get(kind)
        turn = (
            _turn(role, said, line, one.get("timestamp"))
            if role is not None and isinstance(said, str)
            else None
        )
        if turn is not None:
            yield turn


def _messages(objects: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[Turn]:
    for line, one in objects:
        if _is_message(one):
            turn = _turn(
                one["role"],
                _words(one["content"], "text", "input_text", "output_text"),
                line,
                one.get("timestamp"),
            )
            if turn is not None:
                yield turn


def _speaker_of(line: str) -> str | None:
    if len(line) > 4_000 or ":" not in line[:120]:
        return None
    said = _SAID.match(line)
    if said is None:
        return None
    name = " ".join(said[1].split()).casefold()
    return None if name in _NO_NAME or len(name.split()) > 3 else name


def _chat(lines: list[str]) -> list[Turn]:
    """`Name: words`, and the lines that follow up to the next name."""
    turns: list[Turn] = []
    start, name, words = 0, "", []
    for number, line in enumerate(lines, start=1):
        speaker = _speaker_of(line)
        if speaker is None:
            words.append(line)
            continue
        if start or any(word.strip() for word in words):
            turns.append(_spoken(name, words, start or 1, number - 1))
        said = _SAID.match(line)
        assert said is not None
        start, name, words = number, said[1], [said[2]]
    if start:
        turns.append(_spoken(name, words, start, len(lines)))
    return [turn for turn in turns if turn.text.strip()]


def _title_of(line: str) -> str | None:
    """The speaker that a line of Markdown names and nothing else."""
    if line[:1] not in ("#", "*", "_") or len(line) > 120:
        return None
    title = _TITLE.match(line)
    return None if title is None else title[1].casefold()


def _is_exported(titles: Iterable[str]) -> bool:
    found = set(titles)
    return bool(found & _AGENTS and found & _ASKERS)


def _exported(lines: list[str]) -> list[Turn]:
    """A conversation in Markdown, each turn under the name of its speaker; nothing where it is none."""
    known = _AGENTS | _ASKERS | _TOOLS
    starts = [
        (number, name)
        for number, line in enumerate(lines)
        if (name := _title_of(line)) is not None and name in known
    ]
    if not _is_exported(name for _, name in starts):
        return []
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    turns = [
        _spoken(name, ["", *lines[start + 1 : end]], start + 1, end)
        for (start, name), end in zip(starts, ends, strict=True)
    ]
    return [turn for turn in turns if turn.text.strip()]


def _spoken(name: str, words: list[str], first: int, last: int) -> Turn:
    return Turn(_role(name), "\n".join(words), first, last, in_lines=True, name=name or None)
