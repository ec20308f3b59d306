"""How each host spells a hook: what it sends, and the form in which it takes an answer.

Pure, and of the standard library's built-ins alone: it is on the path of every session's start.
"""

from __future__ import annotations

#: The moments that the ledger knows (`model.hooks.HookEvent`, which would cost too much to import here).
EVENTS = (
    "session-start",
    "session-end",
    "prompt-submit",
    "stop",
    "pre-compact",
    "post-compact",
    "subagent-start",
    "subagent-stop",
)

#: What hosts call those moments, without case and punctuation.
_SPELLINGS = {event.replace("-", ""): event for event in EVENTS} | {
    "userpromptsubmit": "prompt-submit",  # Claude Code, Codex, VS Code
    "userpromptsubmitted": "prompt-submit",  # Copilot CLI
    "beforesubmitprompt": "prompt-submit",  # Cursor
    "beforeagent": "prompt-submit",  # Gemini CLI
    "afteragent": "stop",  # Gemini CLI
    "agentstop": "stop",  # Copilot CLI
    "precompress": "pre-compact",  # Gemini CLI
    "sessioncreated": "session-start",  # opencode, from here on
    "sessiondeleted": "session-end",
    "sessionidle": "stop",
    "sessioncompacted": "post-compact",
    "experimentalsessioncompacting": "pre-compact",
}

#: Where an answer does what it should. Elsewhere nothing is printed: a context that is returned from `stop`,
#: for one, makes Claude Code go on working until it hits a limit.
_LISTENS = {
    "claude-code": {
        "session-start": "SessionStart",
        "subagent-start": "SubagentStart",
        "prompt-submit": "UserPromptSubmit",
    },
    "codex": {
        "session-start": "SessionStart",
        "subagent-start": "SubagentStart",
        "prompt-submit": "UserPromptSubmit",
    },
    "gemini-cli": {"session-start": "SessionStart", "prompt-submit": "BeforeAgent"},
    "vscode": {"session-start": "SessionStart", "subagent-start": "SubagentStart"},
    "cursor": {"session-start": "sessionStart"},
    "opencode": {"session-start": "session.created", "pre-compact": "experimental.session.compacting"},
}

#: What is longer than the ledger takes is left out, so that the rest is heard.
_LONGEST = {"session": 300, "cwd": 4096, "transcript": 4096, "agent": 200, "reason": 200}


def event_of(word: object) -> str | None:
    """The event that a host's word means: `SessionStart`, `sessionStart` and `session-start` are one."""
    if not isinstance(word, str):
        return None
    return _SPELLINGS.get("".join(letter for letter in word if letter.isalnum()).lower())


def told_event(given: dict[str, object]) -> object:
    """The event as the host's own input names it."""
    return given.get("hook_event_name") or given.get("hookEventName")


def host_of(given: dict[str, object], environ: dict[str, str], named: str | None) -> str:
    """Who is calling, by signs that only they leave, else the name in the configuration.

    The signs come first, because VS Code and Cursor also run what Claude Code's configuration says.
    """
    if "CURSOR_VERSION" in environ or "cursor_version" in given or "conversation_id" in given:
        return "cursor"
    if "hookEventName" in given:
        return "vscode"
    if named:
        return named
    if "GEMINI_PROJECT_DIR" in environ or "GEMINI_SESSION_ID" in environ:
        return "gemini-cli"  # before Claude Code, whose variable it sets as well
    if "CLAUDE_PROJECT_DIR" in environ:
        return "claude-code"
    if "hook_event_name" in given:
        return "codex" if "turn_id" in given or "model" in given else "claude-code"
    if isinstance(given.get("timestamp"), int):
        return "copilot-cli"
    return "other"


def arguments_of(given: dict[str, object], host: str, here: str) -> dict[str, str]:
    """What a host sent, in the one form that `hooks.receive` takes."""
    roots = given.get("workspace_roots") or given.get("workspaceRoots")
    root = roots[0] if isinstance(roots, list) and roots else None
    found = {
        "session": _first(given, "session_id", "sessionId", "conversation_id", "sessionID"),
        "cwd": _first(given, "cwd", "directory") or _text(root) or here,
        "transcript": _first(given, "transcript_path", "transcriptPath"),
        "agent": _first(given, "agent_type", "agentType", "subagent_type", "agentName"),
        "reason": _first(given, "source", "reason", "trigger"),
    }
    kept = {name: value for name, value in found.items() if value and len(value) <= _LONGEST[name]}
    if not kept.get("transcript", "/").startswith("/"):
        del kept["transcript"]  # nobody knows from where
    return {"host": host, **kept}


def _first(given: dict[str, object], *names: str) -> str | None:
    return next((text for name in names if (text := _text(given.get(name))) is not None), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def answer_for(form: str, event: str, context: str) -> dict[str, object] | None:
    """The context in the form that a host reads, or None where it would do harm or nothing."""
    spelled = _LISTENS.get(form, {}).get(event)
    if spelled is None:
        return None
    if form == "cursor":
        return {"additional_context": context}
    if form == "opencode":
        return {"context": context}  # our own plug-in reads it
    return {"hookSpecificOutput": {"hookEventName": spelled, "additionalContext": context}}
