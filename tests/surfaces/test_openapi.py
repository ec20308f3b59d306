"""The description of the API: whole, valid, true to the operations; and the page that people read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from minutebook.model.errors import CODES, HTTP_STATUS
from minutebook.operations import inbox, memories
from minutebook.operations.registry import REGISTRY, Access
from minutebook.surfaces import spelling
from minutebook.surfaces.http import docs_page, openapi, samples
from minutebook.surfaces.mcp import tools
from tests.houses import House
from tests.surfaces.serving import Served

DOCUMENT = openapi.document()


@pytest.fixture
def served(house: House, tmp_path: Path) -> Iterator[Served]:
    with Served(house, tmp_path) as running:
        yield running


def _described(name: str) -> dict[str, Any]:
    method, path = spelling.http(REGISTRY.get(name))
    return DOCUMENT["paths"][path][method.lower()]


def test_every_operation_is_described_with_all_its_parameters() -> None:
    for operation in REGISTRY.all():
        said = _described(operation.name)
        assert said["operationId"] == operation.name
        assert said["summary"] == operation.summary
        named = {parameter["name"] for parameter in said["parameters"] if "name" in parameter}
        body = said.get("requestBody", {"content": {"application/json": {"schema": {}}}})
        named |= set(body["content"]["application/json"]["schema"].get("properties", ()))
        assert named == {parameter.name for parameter in operation.parameters}, operation.name
        assert ("requestBody" in said) == (operation.access is not Access.READ)


def test_words_of_the_command_line_stay_there() -> None:
    said = [
        text
        for operation in REGISTRY.all()
        for text in (
            _described(operation.name)["description"],
            tools.tool_of(operation).description,
            *(parameter.help for parameter in operation.parameters),
        )
    ]
    assert any("dry_run" in text or "confirm" in text for text in said)
    assert [text for text in said if re.search(r"(?<!\w)--\w|@file|stdin|standard input", text)] == []


def test_every_reference_leads_somewhere_and_nothing_is_left_unused() -> None:
    used = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(DOCUMENT)))
    known = {
        f"#/components/{kind}/{name}" for kind, parts in DOCUMENT["components"].items() for name in parts
    }
    assert used <= known
    unused = {name for name in known - used if "/securitySchemes/" not in name}
    # 405 is the answer to what is not described.
    assert unused == {"#/components/responses/Error405"}


def test_every_code_of_the_table_is_described_under_its_status() -> None:
    for code, (kind, _) in CODES.items():
        response = DOCUMENT["components"]["responses"][f"Error{HTTP_STATUS[kind]}"]
        schema = response["content"]["application/json"]["schema"]
        assert code in schema["properties"]["code"]["enum"]


def test_two_types_of_one_name_are_told_apart() -> None:
    parts = openapi._Parts()
    first = {"$defs": {"Layer": {"type": "string", "title": "Layer"}}, "$ref": "#/$defs/Layer"}
    other = {"$defs": {"Layer": {"type": "integer"}}, "items": {"$ref": "#/$defs/Layer"}}
    assert parts.take(first, "one") == {"$ref": "#/components/schemas/Layer"}
    assert parts.take(other, "two") == {"items": {"$ref": "#/components/schemas/TwoLayer"}}
    assert parts.schemas == {"Layer": {"type": "string"}, "TwoLayer": {"type": "integer"}}


def test_the_description_is_a_document_that_a_json_schema_reader_takes() -> None:
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **DOCUMENT}
    for name in DOCUMENT["components"]["schemas"]:
        jsonschema.Draft202012Validator.check_schema(DOCUMENT["components"]["schemas"][name])
        jsonschema.Draft202012Validator({**whole, "$ref": f"#/components/schemas/{name}"})


def _check(schema: dict[str, Any], value: Any) -> None:
    jsonschema.Draft202012Validator({"components": DOCUMENT["components"], **schema}).validate(value)


def test_answers_are_as_they_are_described(served: Served) -> None:
    house = served.house
    house.ripley(inbox.submit, type="technical", title="Use Rust", content="It is fast.", slug="rust")
    house.mother(memories.write, type="learning", content="Something to show.", slug="shown", tag=["a"])
    for name, path in (
        ("inbox.list", "/api/inbox"),
        ("inbox.show", "/api/inbox/rust"),
        ("inbox.digest", "/api/inbox/digest"),
        ("memories.list", "/api/memories"),
        ("memories.show", "/api/memories/shown"),
        ("memories.history", "/api/memories/shown/history"),
        ("memories.diff", "/api/memories/shown/diff"),
        ("search.search", "/api/search?query=show"),
        ("scope.show", "/api/scope"),
        ("verdicts.list", "/api/verdicts"),
        ("events.list", "/api/events"),
        ("projects.show", "/api/projects/-"),
        ("actors.list", "/api/actors"),
        ("system.health", "/api/system/health"),
    ):
        reply = served.ask("GET", path)
        assert reply.status == 200, reply.body
        _check(_described(name)["responses"]["200"]["content"]["application/json"]["schema"], reply.json)
    missing = served.ask("GET", "/api/inbox/nothing")
    _check(
        DOCUMENT["components"]["responses"]["Error404"]["content"]["application/json"]["schema"], missing.json
    )


def test_the_examples_fit_what_they_are_examples_of() -> None:
    shown = 0
    for operation in REGISTRY.all():
        body = _described(operation.name).get("requestBody")
        if body is not None and "example" in body["content"]["application/json"]:
            content = body["content"]["application/json"]
            _check(content["schema"], content["example"])
            shown += 1
    assert shown > 35


def test_an_example_of_the_help_becomes_a_line_for_curl() -> None:
    line = samples.curl(REGISTRY.get("memories.tag"), "http://localhost:1")
    words = shlex.split(line.replace("$MINUTEBOOK_TOKEN", "T"))
    assert words[:3] == ["curl", "-H", "Authorization: Bearer T"]
    assert json.loads(words[4]) == {"tags": ["cross-team", "infra"]}
    assert words[-1] == "http://localhost:1/api/memories/staging-proxy/tag"
    listing = samples.curl(REGISTRY.get("memories.list"), "http://localhost:1")
    assert listing.endswith("'http://localhost:1/api/memories?type=learning&tag=cross-team'")


def test_the_description_and_the_page_are_served_to_whoever_has_a_token(served: Served) -> None:
    token = served.token("viewer", "Jones")
    assert served.ask("GET", "/openapi.json", token=token).json == DOCUMENT
    page = served.ask("GET", "/docs", token=token)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == docs_page.POLICY
    assert page.headers["x-frame-options"] == "DENY"
    assert page.body.decode() == docs_page.render()


def test_a_browser_is_asked_for_the_token_as_a_password_on_constant_pages_alone(served: Served) -> None:
    token = served.token("viewer", "Jones")
    basic = {"Authorization": "Basic " + base64.b64encode(f"me:{token}".encode()).decode()}
    for path in ("/docs", "/openapi.json"):
        asked = served.ask("GET", path, tcp=True)
        assert asked.status == 401
        assert 'Basic realm="' in asked.headers["www-authenticate"]
        assert served.ask("GET", path, tcp=True, headers=basic).status == 200
        wrong = {"Authorization": "Basic " + base64.b64encode(b"me:mbk_wrong").decode()}
        assert served.ask("GET", path, tcp=True, headers=wrong).code == "bad_token"
        assert served.ask("GET", path, tcp=True, headers={"Authorization": "Basic ///"}).code == "bad_token"
    for path in ("/metrics", "/api/inbox", "/api/events/follow", "/nothing"):
        refused = served.ask("GET", path, tcp=True, headers=basic)
        assert refused.code == "bad_token"
        assert "Basic" not in refused.headers["www-authenticate"]


def test_what_is_counted_is_served_to_whoever_is_bound_to_no_project(served: Served) -> None:
    reply = served.ask("GET", "/metrics", token=served.token("viewer", "Jones", everywhere=True))
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain")
    assert b"minutebook_" in reply.body
    # Counts of other projects are among it.
    for role, name in (("viewer", "Jones"), ("operator", "Mother")):
        refused = served.ask("GET", "/metrics", token=served.token(role, name))
        assert (refused.status, refused.code) == (403, "other_project")
        assert b"minutebook_" not in refused.body


class _Page(HTMLParser):
    """What a browser would see of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style":
            self.style += data


def test_the_page_loads_nothing_runs_nothing_and_every_link_in_it_leads_somewhere() -> None:
    page = _Page()
    page.feed(docs_page.render())
    kinds = {tag for tag, _ in page.tags}
    assert not kinds & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "svg"}
    attributes = {name for _, attrs in page.tags for name in attrs}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcset")]
    targets = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    links = [str(attrs["href"]) for tag, attrs in page.tags if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= targets
    assert {link for link in links if not link.startswith("#")} == {"/openapi.json"}
    assert {operation.name for operation in REGISTRY.all()} <= targets
    digest = base64.b64encode(hashlib.sha256(page.style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in docs_page.POLICY
    assert "url(" not in page.style
    assert "@import" not in page.style
