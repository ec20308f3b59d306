"""The MCP server over HTTP, for both eras: its sessions, and whom each of them belongs to."""

from __future__ import annotations

from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from minutebook.surfaces.asking import Asker
from minutebook.surfaces.reach import Reach

#: Sessions of the older era open at once, and the seconds after which an unused one ends.
_SESSIONS = 1000
_SESSION_SECONDS = 1800.0


def session_manager(reach: Reach, server: Server[Any]) -> StreamableHTTPSessionManager:
    """The server over HTTP, for both eras. The guard before it checks Host and Origin too; this one must as well."""
    return StreamableHTTPSessionManager(
        server,
        security_settings=_security(reach.settings.allowed_hosts),
        max_request_body_size=reach.settings.body_bytes,
        session_idle_timeout=_SESSION_SECONDS,
        max_sessions=_SESSIONS,
    )


def owner(asker: Asker) -> AuthenticatedUser:
    """Whom a session of the older era belongs to: its id is of no use to anybody else."""
    name = f"token:{asker.token}" if asker.token else f"peer:{asker.actor.id}"
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[], subject=asker.project))


def _security(allowed: str) -> TransportSecuritySettings:
    named = [host.strip() for host in allowed.split(",") if host.strip()]
    hosts = ["127.0.0.1", "localhost", "[::1]", *named]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[
            f"{scheme}://{host}{port}"
            for scheme in ("http", "https")
            for host in hosts
            for port in ("", ":*")
        ],
    )
