"""Which tools an MCP client is shown, and what it is told of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from minutebook.model.actors import Role
from minutebook.operations.registry import REGISTRY, Access, to_plain
from minutebook.surfaces.mcp import prompts, tools
from tests.houses import House
from tests.lived_in import live_in

AGENT = [
    "runs_start", "runs_finish", "context", "search", "decisions_list", "decisions_show", "memories_show",
    "memories_write", "memories_edit", "inbox_submit", "inbox_list", "inbox_show",
]  # fmt: skip
#: Of all that the host of an agent or a coordinator shows to its model. Whoever changes a word here knows that they change prompts.
WORDS_OF_TOOLS = "63df05c625e2d134"
WORDS_OF_PROMPTS = "b6a9a8084226e403"


def names(role: Role) -> list[str]:
    return [tools.tool_of(operation).name for operation in tools.listed_for(role)]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def test_an_agent_sees_the_dozen_that_it_needs() -> None:
    assert names(Role.AGENT) == AGENT


def test_a_viewer_sees_the_reads_among_them() -> None:
    seen = names(Role.VIEWER)
    assert set(seen) < set(AGENT)
    assert all(tools.by_name()[name].access is Access.READ for name in seen)
    assert {"search", "decisions_show", "inbox_list"} <= set(seen)
    assert not {"memories_write", "inbox_submit"} & set(seen)


def test_a_coordinator_sees_those_and_the_review() -> None:
    seen = names(Role.COORDINATOR)
    assert set(AGENT) < set(seen)
    assert {"inbox_promote", "inbox_reject", "verdicts_revert", "decisions_write"} <= set(seen)
    assert len(seen) < 40
    assert all(tools.by_name()[name].access <= Access.REVIEW for name in seen)


def test_an_operator_sees_those_and_the_keeping_of_the_house_and_can_call_the_rest() -> None:
    seen = names(Role.OPERATOR)
    assert set(names(Role.COORDINATOR)) < set(seen)
    assert {"system_health", "system_backup", "audit", "jobs_list", "adopt", "files_status"} <= set(seen)
    assert len(seen) < 60
    assert len(REGISTRY.all()) == len(tools.by_name())


def test_the_words_that_reach_a_model_are_the_ones_that_were_reviewed() -> None:
    listed = [tools.tool_of(operation) for operation in tools.listed_for(Role.OPERATOR)]
    words = json.dumps([[tool.name, tool.title, tool.description, _said(tool)] for tool in listed])
    assert hashlib.sha256(words.encode()).hexdigest()[:16] == WORDS_OF_TOOLS
    words = prompts.INSTRUCTIONS + "".join(prompt.text for prompt in prompts.PROMPTS.values())
    assert hashlib.sha256(words.encode()).hexdigest()[:16] == WORDS_OF_PROMPTS


def _said(tool: tools.Tool) -> dict[str, str]:
    """What is said of each parameter."""
    return {name: about.get("description", "") for name, about in tool.input_schema["properties"].items()}


def test_the_words_name_only_tools_that_an_agent_has() -> None:
    said = prompts.INSTRUCTIONS + "".join(prompt.text for prompt in prompts.PROMPTS.values())
    words = {word.strip(".,;:()`") for word in said.split()}
    assert words & set(tools.by_name()) <= set(AGENT)
    assert len(words & set(AGENT)) >= 8


@pytest.mark.parametrize("name", sorted(tools.by_name()))
def test_every_schema_can_be_read_by_every_client(name: str) -> None:
    tool = tools.tool_of(tools.by_name()[name])
    for schema in (tool.input_schema, tool.output_schema):
        assert schema["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(schema)
        for node in nodes(schema):
            assert "$ref" not in node
            assert "$defs" not in node
            assert not isinstance(node.get("type"), list)
    assert tool.input_schema["additionalProperties"] is False
    for parameter in tool.input_schema.get("properties", {}).values():
        assert "type" in parameter or "anyOf" in parameter


def test_annotations_say_what_a_tool_does() -> None:
    said = {name: tools.tool_of(operation) for name, operation in tools.by_name().items()}
    assert said["search"].reads
    assert not said["memories_write"].reads
    assert not said["memories_write"].takes_away
    assert said["memories_erase"].takes_away
    assert said["inbox_reject"].takes_away
    assert not said["inbox_promote"].takes_away
    assert said["inbox_submit"].idempotent
    assert not said["sessions_start"].idempotent
    assert not said["consolidation_run"].idempotent
    assert said["consolidation_take"].takes_away
    assert said["runs_prune"].takes_away
    assert said["projects_forget"].takes_away
    assert said["audit"].reads
    assert not [name for name, tool in said.items() if tool.reads and tool.takes_away]
    assert [tool.title for name, tool in said.items() if name == "inbox_submit"] == ["Inbox submit"]


def test_tools_are_small_enough_for_a_prompt() -> None:
    listed = [tools.tool_of(operation) for operation in tools.listed_for(Role.AGENT)]
    assert sum(len(json.dumps(tool.input_schema)) + len(tool.description) for tool in listed) < 16_500
    # Of them runs_start and context answer with a whole bundle.
    assert sum(len(json.dumps(tool.output_schema)) for tool in listed) < 25_000


def test_what_each_role_is_shown_leaves_room_for_the_work() -> None:
    """In thousands of characters, with the schemas of the answers: about a quarter of that in tokens."""
    size = {
        role: sum(
            len(json.dumps([tool.input_schema, tool.output_schema])) + len(tool.description)
            for tool in map(tools.tool_of, tools.listed_for(role))
        )
        for role in (Role.VIEWER, Role.AGENT, Role.COORDINATOR, Role.OPERATOR)
    }
    assert list(size.values()) == sorted(size.values())
    assert size[Role.AGENT] < 42_000
    assert size[Role.COORDINATOR] < 90_000
    assert size[Role.OPERATOR] < 150_000


def test_every_listing_answers_in_the_shape_that_its_tool_promises(house: House) -> None:
    live_in(house)
    seen = 0
    for name, operation in tools.by_name().items():
        named = operation.name in ("inbox.digest", "scope.show", "sessions.current", "system.health")
        if operation.verb != "list" and not named:
            continue
        answer = to_plain(house.mother.invoke(operation, {}))
        tool = tools.tool_of(operation)
        jsonschema.validate(tool.structured(answer), tool.output_schema)
        seen += 1
        assert name
    assert seen > 9
