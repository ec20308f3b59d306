"""The programs that agents live in: where each keeps its configuration, and how it spells ours.

Only data and spelling: no configuration is read or written here. A host that changes its mind is one row.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

Scope = Literal["user", "project"]
Transport = Literal["stdio", "http"]

#: What we are called in every configuration, and how what is ours is known again.
NAME = "minutebook"
HOOK_PROGRAM = "minutebook-hook"
TOKEN_VARIABLE = "MINUTEBOOK_TOKEN"
#: Seconds that a host gives a hook; the hook itself takes less than two.
_HOOK_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a configuration should say."""

    transport: Transport = "stdio"
    scope: Scope = "user"
    #: the programs, as the host is to call them
    command: str = NAME
    hook_command: str = HOOK_PROGRAM
    #: where the service answers for MCP over HTTP
    url: str = ""
    #: the token itself, only where it was asked for expressly
    token: str | None = None
    agent: str | None = None
    project: str | None = None
    #: what the program needs to know of the environment
    environment: Mapping[str, str]

    @property
    def words(self) -> list[str]:
        """The command line of the server."""
        return [self.command, "mcp", *self._bound()]

    def hook(self, host: str, *event: str) -> list[str]:
        """The command line of a hook."""
        words = [self.hook_command, *event, "--host", host, *self._bound()]
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return ["env", *settings, *words] if settings else words

    def _bound(self) -> list[str]:
        agent = ["--agent", self.agent] if self.agent else []
        return [*agent, "--project", self.project] if self.project else agent

    def headers(self, variable: str) -> dict[str, str]:
        """The headers of a request; `variable` is how the host spells the token's environment variable."""
        said = {"Authorization": f"Bearer {self.token or variable}"}
        return said | ({"Minutebook-Project": self.project} if self.project else {})


@dataclass(frozen=True, slots=True)
class Hooks:
    """How a host is told to call us at the start and end of its sessions."""

    #: where it reads that, by scope; a scope that is not here has no such file
    files: Mapping[Scope, str]
    #: the host's events, with ours
    events: Mapping[str, str]
    #: what stands in the list of an event
    item: Callable[[str], Any]
    #: what must stand in the file beside the hooks
    beside: Mapping[str, Any]
    note: str = ""
    #: a file of our own that is no JSON, in place of all that
    own_file: Callable[[Wanted], str] | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """One program that speaks MCP."""

    id: str
    title: str
    #: its command, and a directory that it makes: either shows that it is on this machine
    program: str
    trace: str
    files: Mapping[Scope, str]
    form: Literal["json", "toml"]
    #: where our entry stands in the file
    path: tuple[str, ...]
    entry: Callable[[Wanted], dict[str, Any]]
    #: the host's own command that does the same, if it has one
    line: Callable[[Wanted], str]
    hooks: Hooks
    note: str = ""

    def file(self, scope: Scope, home: Path, root: Path) -> Path:
        return _place(self.files[scope], home, root)

    def hooks_file(self, scope: Scope, home: Path, root: Path) -> Path | None:
        found = self.hooks.files.get(scope)
        return None if found is None else _place(found, home, root)


def _place(name: str, home: Path, root: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else root / name


# --- the entries -------------------------------------------------------------------------------------


def _env(wanted: Wanted, name: str = "env") -> dict[str, Any]:
    return {name: dict(wanted.environment)} if wanted.environment else {}


def _plain(wanted: Wanted) -> dict[str, Any]:
    return {"command": wanted.words[0], "args": wanted.words[1:], **_env(wanted)}


def _claude(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "http":
        headers = wanted.headers(f"${{{TOKEN_VARIABLE}}}")
        return {"type": "http", "url": wanted.url, "headers": headers}
    return {"type": "stdio", **_plain(wanted)}


def _codex(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "stdio":
        return _plain(wanted)
    headers = wanted.headers("")
    if not wanted.token:
        del headers["Authorization"]
    said: dict[str, Any] = {"url": wanted.url}
    if not wanted.token:
        said["bearer_token_env_var"] = TOKEN_VARIABLE
    return said | ({"http_headers": headers} if headers else {})


def _cursor(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "http":
        return {"url": wanted.url, "headers": wanted.headers(f"${{env:{TOKEN_VARIABLE}}}")}
    return _plain(wanted)


#: VS Code asks for it once and keeps it; it does not read environment variables in headers.
VSCODE_INPUT = {
    "type": "promptString",
    "id": "minutebook-token",
    "description": "Token of minutebook (minutebook tokens create)",
    "password": True,
}


def _vscode(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "http":
        headers = wanted.headers(f"${{input:{VSCODE_INPUT['id']}}}")
        return {"type": "http", "url": wanted.url, "headers": headers}
    return {"type": "stdio", **_plain(wanted)}


def _gemini(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "http":
        return {"httpUrl": wanted.url, "headers": wanted.headers(f"${TOKEN_VARIABLE}")}
    return _plain(wanted)


def _opencode(wanted: Wanted) -> dict[str, Any]:
    if wanted.transport == "http":
        headers = wanted.headers(f"{{env:{TOKEN_VARIABLE}}}")
        # Without `oauth: false` a 401 would send it looking for a login page.
        return {"type": "remote", "url": wanted.url, "headers": headers, "oauth": False, "enabled": True}
    return {"type": "local", "command": wanted.words, **_env(wanted, "environment"), "enabled": True}


# --- the hosts' own commands -------------------------------------------------------------------------


def _settings(wanted: Wanted, flag: str) -> list[str]:
    return [word for name, value in wanted.environment.items() for word in (flag, f"{name}={value}")]


def _claude_line(wanted: Wanted) -> str:
    scope = ["--scope", wanted.scope]
    if wanted.transport == "stdio":
        # The name comes after another option: --env takes all the words that follow it.
        words = [*_settings(wanted, "--env"), *scope, NAME, "--", *wanted.words]
    else:
        headers = [word for header in _spelled(_claude(wanted)) for word in ("--header", header)]
        words = ["--transport", "http", *scope, NAME, wanted.url, *headers]
    return shlex.join(["claude", "mcp", "add", *words])


def _codex_line(wanted: Wanted) -> str:
    if wanted.scope == "project" or wanted.token or (wanted.transport == "http" and wanted.project):
        return ""  # its command knows neither projects nor headers
    if wanted.transport == "http":
        words = [NAME, "--url", wanted.url, "--bearer-token-env-var", TOKEN_VARIABLE]
    else:
        words = [NAME, *_settings(wanted, "--env"), "--", *wanted.words]
    return shlex.join(["codex", "mcp", "add", *words])


def _vscode_line(wanted: Wanted) -> str:
    if wanted.scope == "project" or wanted.transport == "http":
        return ""
    return shlex.join(["code", "--add-mcp", json.dumps({"name": NAME, **_plain(wanted)})])


def _gemini_line(wanted: Wanted) -> str:
    scope = ["--scope", wanted.scope]
    if wanted.transport == "stdio":
        words = [*_settings(wanted, "--env"), *scope, NAME, *wanted.words]
    else:
        headers = [word for header in _spelled(_gemini(wanted)) for word in ("--header", header)]
        words = ["--transport", "http", *headers, *scope, NAME, wanted.url]
    return shlex.join(["gemini", "mcp", "add", *words])


def _no_line(_: Wanted) -> str:
    return ""


def _spelled(entry: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in entry["headers"].items()]


# --- the hooks ---------------------------------------------------------------------------------------


def _group(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": _HOOK_SECONDS}]}


def _gemini_group(command: str) -> dict[str, Any]:
    # Its timeouts are milliseconds.
    hook = {"name": NAME, "type": "command", "command": command, "timeout": _HOOK_SECONDS * 1000}
    return {"hooks": [hook]}


def _flat(command: str) -> dict[str, Any]:
    return {"command": command, "timeout": _HOOK_SECONDS}


def _flat_typed(command: str) -> dict[str, Any]:
    return {"type": "command", "command": command, "timeout": _HOOK_SECONDS}


def _opencode_plugin(wanted: Wanted) -> str:
    text = resources.files("minutebook.surfaces.hosts").joinpath("host_files/opencode.js").read_text("utf-8")
    return text.replace("@HOOK@", json.dumps(wanted.hook("opencode")))


_LIFE = {
    "SessionStart": "session-start",
    "SubagentStart": "subagent-start",
    "PreCompact": "pre-compact",
    "SessionEnd": "session-end",
}

_CLAUDE_HOOKS = Hooks(
    {"user": "~/.claude/settings.json", "project": ".claude/settings.json"}, _LIFE, _group, {}
)
_CODEX_HOOKS = Hooks(
    {"user": "~/.codex/hooks.json", "project": ".codex/hooks.json"},
    _LIFE,
    _group,
    {},
    "Codex asks once whether it may run them.",
)
_CURSOR_HOOKS = Hooks(
    {"user": "~/.cursor/hooks.json", "project": ".cursor/hooks.json"},
    {"sessionStart": "session-start", "preCompact": "pre-compact", "sessionEnd": "session-end"},
    _flat,
    {"version": 1},
)
_VSCODE_HOOKS = Hooks(
    {"project": ".github/hooks/minutebook.json"},
    {
        "SessionStart": "session-start",
        "SubagentStart": "subagent-start",
        "PreCompact": "pre-compact",
        "Stop": "stop",
    },
    _flat_typed,
    {},
    "For all projects, VS Code runs the hooks of Claude Code: minutebook connect claude-code --hooks",
)
_GEMINI_HOOKS = Hooks(
    {"user": "~/.gemini/settings.json", "project": ".gemini/settings.json"},
    {"SessionStart": "session-start", "PreCompress": "pre-compact", "SessionEnd": "session-end"},
    _gemini_group,
    {},
)
_OPENCODE_HOOKS = Hooks(
    {"user": "~/.config/opencode/plugins/minutebook.js", "project": ".opencode/plugins/minutebook.js"},
    {},
    _flat,
    {},
    own_file=_opencode_plugin,
)

_CODE = "~/Library/Application Support/Code" if sys.platform == "darwin" else "~/.config/Code"

# --- the table ---------------------------------------------------------------------------------------

HOSTS: dict[str, Host] = {
    host.id: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            "claude",
            "~/.claude",
            {"user": "~/.claude.json", "project": ".mcp.json"},
            "json",
            ("mcpServers", NAME),
            _claude,
            _claude_line,
            _CLAUDE_HOOKS,
            "A running Claude Code may write its own file anew; its command is the safer way.",
        ),
        Host(
            "codex",
            "Codex",
            "codex",
            "~/.codex",
            {"user": "~/.codex/config.toml", "project": ".codex/config.toml"},
            "toml",
            ("mcp_servers", NAME),
            _codex,
            _codex_line,
            _CODEX_HOOKS,
        ),
        Host(
            "cursor",
            "Cursor",
            "cursor",
            "~/.cursor",
            {"user": "~/.cursor/mcp.json", "project": ".cursor/mcp.json"},
            "json",
            ("mcpServers", NAME),
            _cursor,
            _no_line,
            _CURSOR_HOOKS,
        ),
        Host(
            "vscode",
            "VS Code",
            "code",
            _CODE,
            {"user": f"{_CODE}/User/mcp.json", "project": ".vscode/mcp.json"},
            "json",
            ("servers", NAME),
            _vscode,
            _vscode_line,
            _VSCODE_HOOKS,
        ),
        Host(
            "gemini-cli",
            "Gemini CLI",
            "gemini",
            "~/.gemini",
            {"user": "~/.gemini/settings.json", "project": ".gemini/settings.json"},
            "json",
            ("mcpServers", NAME),
            _gemini,
            _gemini_line,
            _GEMINI_HOOKS,
            "It starts servers in trusted folders only.",
        ),
        Host(
            "opencode",
            "opencode",
            "opencode",
            "~/.config/opencode",
            {"user": "~/.config/opencode/opencode.json", "project": "opencode.json"},
            "json",
            ("mcp", NAME),
            _opencode,
            _no_line,
            _OPENCODE_HOOKS,
        ),
    )
}

#: Other names that people give them.
ALIASES = {
    "claude": "claude-code",
    "gemini": "gemini-cli",
    "code": "vscode",
    "vs-code": "vscode",
    "copilot": "vscode",
}


def is_our_hook(item: Any) -> bool:
    """Whether what stands in an event's list is ours: it runs our hook, in either form of the lists."""
    if not isinstance(item, dict):
        return False
    command = item.get("command")
    if isinstance(command, str) and HOOK_PROGRAM in command:
        return True
    inner = item.get("hooks")
    return isinstance(inner, list) and bool(inner) and all(is_our_hook(hook) for hook in inner)
