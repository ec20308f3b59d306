"""MCP: the same operations as tools, what is remembered as resources, for both eras of the protocol.

`door` is light and imports the SDK on the first request. Only `server`, `wire`, `lines` and `over_http` know it.
"""

from __future__ import annotations

from minutebook.surfaces.mcp.door import mcp_app, serve_stdio

__all__ = ["mcp_app", "serve_stdio"]
