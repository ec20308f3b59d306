"""What the official conformance suite wants to find on a server, added to what ours has.

Nothing of this is part of minutebook. The suite asks for tools, resources and prompts of fixed names that
exercise every corner of the protocol; they are answered here, behind our own transport, guard and session
handling, and everything else is answered by our own conversation.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import warnings
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from minutebook.model.actors import Actor, Origin, Role
from minutebook.operations import actors
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.mcp.server import Context, Conversation

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = base64.b64encode(
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0"
).decode()
PAUSE = 0.05
_SECRET = b"the state of a fixture is nobody's secret"

TEXT = "This is a simple text response for testing."
EMBEDDED = "This is an embedded resource content."
PLAIN_TOOLS = (
    "test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_tool_with_logging", "test_logging_tool", "test_tool_with_progress",
    "test_error_handling", "test_missing_capability", "test_streaming_elicitation",
    "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation", "test_input_required_result_sampling",
    "test_input_required_result_list_roots", "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs", "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state", "test_input_required_result_capabilities",
    "test_trigger_tool_change",
)  # fmt: skip
#: A schema that uses much of its language, which must reach the client as it is.
RICH_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
#: Tools that are listed for their schemas alone.
SCHEMAS = {
    "json_schema_2020_12_tool": RICH_SCHEMA,
    "test_x_mcp_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
        "required": ["region"],
    },
}
ASKING_TOOLS = {"test_sampling": "prompt", "test_elicitation": "message"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def done(words: str) -> dict[str, Any]:
    return {"content": [text(words)]}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def elicitation(message: str, **properties: Any) -> dict[str, Any]:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": fields(**properties)},
    }


STRING = {"type": "string"}
SAMPLING = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": text("What is the capital of France?")}],
        "maxTokens": 100,
    },
}
GREETING = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": text("Generate a greeting")}], "maxTokens": 50},
}
ROOTS = {"method": "roots/list", "params": {}}
NAME = elicitation("What is your name?", name=STRING)
CONFIRM = elicitation("Please confirm", ok={"type": "boolean"})

DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}
TITLED = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
    "required": [],
}


def typed(kind: type[Any], plain: dict[str, Any]) -> Any:
    """The answer as the SDK has it, which adds what each era wants."""
    if plain.get("resultType") == "input_required":
        kind = types.InputRequiredResult
    return kind.model_validate(plain, by_name=False)


def sealed(state: str) -> str:
    return f"{state}.{hmac.new(_SECRET, state.encode(), hashlib.sha256).hexdigest()}"


def opened(given: str | None) -> str | None:
    """The state that was sealed; an error when somebody changed it."""
    if given is None:
        return None
    state, _, _ = given.rpartition(".")
    if not hmac.compare_digest(sealed(state), given):
        raise MCPError(types.INVALID_PARAMS, "The request state is not as it was given out.")
    return state


def wanted(requests: dict[str, Any], state: str | None = None) -> dict[str, Any]:
    asked: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    return asked if state is None else {**asked, "requestState": sealed(state)}


class Fixtures(Conversation):
    """Our conversation, and the suite's own tools, resources and prompts beside it."""

    def server(self) -> Server[Any]:
        made = super().server()
        made.add_request_handler("completion/complete", types.CompleteRequestParams, self.complete)
        made.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self.set_level)
        made.get_tool_input_schema = None  # so that it is looked for in the list, where the fixtures are
        return made

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Any:
        return typed(types.CompleteResult, {"completion": {"values": [], "total": 0, "hasMore": False}})

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Any:
        return types.EmptyResult()

    # --- tools --------------------------------------------------------------------------------------

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        listed = await super().list_tools(ctx, params)
        for name in PLAIN_TOOLS:
            listed.tools.append(
                types.Tool(name=name, description="A fixture.", input_schema={"type": "object"})
            )
        for name, argument in ASKING_TOOLS.items():
            schema = fields(**{argument: STRING})
            listed.tools.append(types.Tool(name=name, description="A fixture.", input_schema=schema))
        for name, schema in SCHEMAS.items():
            listed.tools.append(types.Tool(name=name, description="A fixture.", input_schema=schema))
        return listed

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in SCHEMAS:
            return typed(types.CallToolResult, done("It is there for its schema."))
        if params.name not in PLAIN_TOOLS and params.name not in ASKING_TOOLS:
            return await super().call_tool(ctx, params)
        if params.name.startswith("test_input_required_result_"):
            return typed(types.CallToolResult, self._rounds(ctx, params))
        made = await getattr(self, params.name)(ctx, **(params.arguments or {}))
        return typed(types.CallToolResult, made)

    async def test_simple_text(self, ctx: Context) -> Any:
        return done(TEXT)

    async def test_image_content(self, ctx: Context) -> Any:
        return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}

    async def test_audio_content(self, ctx: Context) -> Any:
        return {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]}

    async def test_embedded_resource(self, ctx: Context) -> Any:
        resource = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": EMBEDDED}
        return {"content": [{"type": "resource", "resource": resource}]}

    async def test_multiple_content_types(self, ctx: Context) -> Any:
        data = json.dumps({"test": "data", "value": 123})
        resource = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": data}
        return {
            "content": [
                text("Multiple content types test:"),
                {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                {"type": "resource", "resource": resource},
            ]
        }

    async def test_tool_with_logging(self, ctx: Context) -> Any:
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await _log(ctx, words)
            await asyncio.sleep(PAUSE)
        return done("It said what it did.")

    async def test_logging_tool(self, ctx: Context) -> Any:
        await _log(ctx, "A word")
        return done("It said a word, to whoever asked for it.")

    async def test_tool_with_progress(self, ctx: Context) -> Any:
        token = (ctx.meta or {}).get("progress_token", (ctx.meta or {}).get("progressToken"))
        for progress in (0, 50, 100):
            if token is not None:
                await ctx.session.send_progress_notification(
                    token, progress, 100, related_request_id=str(ctx.request_id)
                )
            await asyncio.sleep(PAUSE)
        return done("It went on step by step.")

    async def test_trigger_tool_change(self, ctx: Context) -> Any:
        """Give the suite's own actor another role, so that it is shown other tools."""
        await asyncio.to_thread(self._another_role)
        return done("You have another role now.")

    def _another_role(self) -> None:
        service = self._reach.service
        operator = Actor(id="mother", name="Mother", role=Role.OPERATOR)
        known = service.actor("Dallas")
        role = "agent" if known is not None and known.role is Role.COORDINATOR else "coordinator"
        given = {"name": "Dallas", "role": role}
        service.invoke(REGISTRY.of(actors.edit), given, actor=operator, origin=Origin.SYSTEM)

    async def test_error_handling(self, ctx: Context) -> Any:
        return {**done("This tool intentionally returns an error for testing"), "isError": True}

    async def test_missing_capability(self, ctx: Context) -> Any:
        if ctx.session.client_capabilities is None or ctx.session.client_capabilities.sampling is None:
            data = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "It takes sampling.", data)
        return done("The client can sample.")

    async def test_streaming_elicitation(self, ctx: Context) -> Any:
        return wanted({"user_name": NAME})

    async def test_sampling(self, ctx: Context, prompt: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            answer = await ctx.session.create_message(
                messages=[
                    types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
                ],
                max_tokens=100,
                related_request_id=ctx.request_id,
            )
        return done(f"LLM response: {getattr(answer.content, 'text', '')}")

    async def test_elicitation(self, ctx: Context, message: str) -> Any:
        return await self._elicit(ctx, message, fields(username=STRING, email=STRING))

    async def test_elicitation_sep1034_defaults(self, ctx: Context) -> Any:
        return await self._elicit(ctx, "Say who you are.", DEFAULTS)

    async def test_elicitation_sep1330_enums(self, ctx: Context) -> Any:
        return await self._elicit(ctx, "Choose.", ENUMS)

    async def _elicit(self, ctx: Context, message: str, schema: dict[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            answer = await ctx.session.elicit_form(message, schema, ctx.request_id)
        return done(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")

    # --- results that ask for more ------------------------------------------------------------------

    def _rounds(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        answers = _answers(params)
        state = opened(params.request_state)
        match params.name.removeprefix("test_input_required_result_"):
            case "elicitation":
                if (content := _accepted(answers.get("user_name"))) and isinstance(content.get("name"), str):
                    return done(f"Hello, {content['name']}!")
                return wanted({"user_name": NAME})
            case "sampling":
                answer = answers.get("capital_question")
                return (
                    done(f"It said {json.dumps(answer)}.")
                    if answer
                    else wanted({"capital_question": SAMPLING})
                )
            case "list_roots":
                answer = answers.get("client_roots")
                return done(f"Roots: {json.dumps(answer)}.") if answer else wanted({"client_roots": ROOTS})
            case "request_state":
                return (
                    done("state-ok")
                    if state and answers.get("confirm")
                    else wanted({"confirm": CONFIRM}, "1")
                )
            case "tampered_state":
                return (
                    done("untouched")
                    if state and answers.get("confirm")
                    else wanted({"confirm": CONFIRM}, "1")
                )
            case "multiple_inputs":
                asked = {"user_name": NAME, "greeting": GREETING, "client_roots": ROOTS}
                return done("All three came.") if asked.keys() <= answers.keys() else wanted(asked, "1")
            case "multi_round":
                if state == "2" and answers.get("step2"):
                    return done("Both steps are done.")
                if state == "1" and answers.get("step1"):
                    asked = elicitation("Step 2: What is your favorite color?", color=STRING)
                    return wanted({"step2": asked}, "2")
                return wanted({"step1": elicitation("Step 1: What is your name?", name=STRING)}, "1")
        able = ctx.session.client_capabilities
        can = {"user_name": NAME} if able is not None and able.elicitation is not None else {}
        if able is not None and able.sampling is not None:
            can["capital_question"] = SAMPLING
        return wanted(can) if can else done("The client can do nothing that would be asked.")

    # --- resources ----------------------------------------------------------------------------------

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        listed = await super().list_resources(ctx, params)
        for name, media in (
            ("static-text", "text/plain"),
            ("static-binary", "image/png"),
            ("watched-resource", "text/plain"),
        ):
            listed.resources.append(
                types.Resource(uri=f"test://{name}", name=name, description="A fixture.", mime_type=media)
            )
        return listed

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        listed = await super().list_templates(ctx, params)
        uri = "test://template/{id}/data"
        listed.resource_templates.append(types.ResourceTemplate(uri_template=uri, name="template"))
        return listed

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if uri == "test://static-text":
            contents = {"mimeType": "text/plain", "text": "This is the content of the static text resource."}
        elif uri == "test://static-binary":
            contents = {"mimeType": "image/png", "blob": PIXEL}
        elif uri.startswith("test://template/") and uri.endswith("/data"):
            identity = uri.removeprefix("test://template/").removesuffix("/data")
            data = {"id": identity, "templateTest": True, "data": f"Data for ID: {identity}"}
            contents = {"mimeType": "application/json", "text": json.dumps(data)}
        else:
            return await super().read_resource(ctx, params)
        return typed(types.ReadResourceResult, {"contents": [{"uri": uri, **contents}]})

    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        if str(params.uri) == "test://watched-resource":
            return types.EmptyResult()
        return await super().subscribe(ctx, params)

    # --- prompts ------------------------------------------------------------------------------------

    async def list_prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        listed = await super().list_prompts(ctx, params)
        arguments = {
            "test_simple_prompt": (),
            "test_prompt_with_arguments": ("arg1", "arg2"),
            "test_prompt_with_embedded_resource": ("resourceUri",),
            "test_prompt_with_image": (),
            "test_input_required_result_prompt": (),
        }
        for name, names in arguments.items():
            given = [types.PromptArgument(name=each, description="A word.", required=True) for each in names]
            listed.prompts.append(types.Prompt(name=name, description="A fixture.", arguments=given))
        return listed

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        given = params.arguments or {}
        match params.name:
            case "test_simple_prompt":
                said = [text("This is a simple prompt for testing.")]
            case "test_prompt_with_arguments":
                said = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
            case "test_prompt_with_embedded_resource":
                resource = {
                    "uri": given["resourceUri"],
                    "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                }
                said = [
                    {"type": "resource", "resource": resource},
                    text("Please process the embedded resource above."),
                ]
            case "test_prompt_with_image":
                said = [
                    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
                    text("Please analyze the image above."),
                ]
            case "test_input_required_result_prompt":
                content = _accepted(_answers(params).get("user_context"))
                if content is None:
                    asked = elicitation("What context should the prompt use?", context=STRING)
                    return typed(types.GetPromptResult, wanted({"user_context": asked}))
                said = [text(f"Use this context: {content.get('context')}")]
            case _:
                return await super().get_prompt(ctx, params)
        messages = [{"role": "user", "content": each} for each in said]
        return typed(types.GetPromptResult, {"messages": messages})


def _answers(params: Any) -> dict[str, Any]:
    """What the client answered, as plain data."""
    given = params.input_responses or {}
    return {
        name: answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if hasattr(answer, "model_dump")
        else answer
        for name, answer in given.items()
    }


def _accepted(answer: Any) -> dict[str, Any] | None:
    if (
        isinstance(answer, dict)
        and answer.get("action") == "accept"
        and isinstance(answer.get("content"), dict)
    ):
        return answer["content"]
    return None


async def _log(ctx: Context, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
