"""Our answers and errors as the MCP SDK has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from minutebook.model.errors import Kind, MinutebookError
from minutebook.operations.registry import Operation, to_plain
from minutebook.surfaces.mcp import prompts, resources, tools

#: Where an error travels in its closed shape. It is in the text too; a model sees that, a program this.
ERROR = "minutebook/error"
#: JSON-RPC's code for an error of the server's own making.
_OUR_ERROR = -32000


def tool(operation: Operation) -> types.Tool:
    tool = tools.tool_of(operation)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.takes_away,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def input_schema(name: str) -> Mapping[str, Any] | None:
    operation = tools.by_name().get(name)
    return None if operation is None else tools.tool_of(operation).input_schema


def text(plain: Any) -> types.TextContent:
    return types.TextContent(type="text", text=json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def refused(error: MinutebookError) -> types.CallToolResult:
    """An error of the operation. Not as structured content: many clients hold that to the answer's schema."""
    plain = to_plain(error.as_dict())
    return types.CallToolResult(content=[text(plain)], is_error=True, _meta={ERROR: plain})


def protocol_error(error: MinutebookError, **about: str) -> MCPError:
    """An error of what is not a tool, whole in its data, with what the protocol wants beside it."""
    invalid = error.kind in (Kind.INVALID, Kind.NOT_FOUND, Kind.SIZE)
    code = types.INVALID_PARAMS if invalid else _OUR_ERROR
    return MCPError(code, error.message, {**to_plain(error.as_dict()), **about})


def one_page(params: types.PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "The list has one page, and no cursor continues it.")


def resource(each: resources.Resource) -> types.Resource:
    return types.Resource(
        uri=each.uri,
        name=each.name,
        title=each.title,
        description=each.description,
        mime_type=resources.MEDIA,
    )


def template(each: resources.Template) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=each.uri_template,
        name=each.name,
        title=each.title,
        description=each.description,
        mime_type=resources.MEDIA,
    )


def prompt(each: prompts.Prompt) -> types.Prompt:
    return types.Prompt(
        name=each.name,
        title=each.title,
        description=each.description,
        arguments=[
            types.PromptArgument(
                name=argument.name, description=argument.description, required=argument.required
            )
            for argument in each.arguments
        ],
    )
