"""What a running service tells of itself, from outside: its health, its log, its numbers, without content."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.scenarios.program import Program
from tests.surfaces.services import Served


class OnSocket(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


class House:
    """A service with a project and a token for one of its agents."""

    def __init__(self, program: Program, facts: dict[str, Any]) -> None:
        self.program = program
        self.facts = facts
        self.project = program.ok("projects", "create", "Nostromo")["id"]
        made = program.ok(
            "tokens", "create", "--role", "agent", "--agent", "ripley", MINUTEBOOK_PROJECT=self.project
        )
        self.token: str = made["secret"]

    def ask(
        self, method: str, path: str, body: Any = None, *, tcp: bool = False, **headers: str
    ) -> tuple[int, str]:
        if tcp:
            at = urlsplit(self.facts["url"])
            connection: http.client.HTTPConnection = http.client.HTTPConnection(
                at.hostname or "", at.port, timeout=60
            )
            headers = {"authorization": f"Bearer {self.token}", **headers}
        else:
            connection = OnSocket(self.facts["socket"])
            headers = {"minutebook-project": self.project, **headers}
        try:
            data = None if body is None else body if isinstance(body, str) else json.dumps(body)
            if data is not None:
                headers.setdefault("content-type", "application/json")
            connection.request(method, path, data, {name.replace("_", "-"): v for name, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def log(self) -> list[dict[str, Any]]:
        text = (self.program.home / "run" / "service.log").read_text("ascii")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    served = Served(tmp_path / "h", tmp_path, MINUTEBOOK_SERVICE="join", MINUTEBOOK_LOG_LEVEL="debug")
    with served.serving("--with-parent"):
        yield House(served, facts_of(served))


def facts_of(served: Served) -> dict[str, Any]:
    return json.loads(Path(served.places.facts).read_bytes())


def test_nothing_that_was_stored_or_asked_or_sent_is_in_the_log(house: House) -> None:
    content = {"type": "learning", "title": "Canary title", "content": "Canary body, a whole sentence of it."}
    for tcp in (False, True):
        house.ask("POST", "/api/memories", content, tcp=tcp)
        house.ask("POST", "/api/memories", '{"type": "canary-broken', tcp=tcp)
        house.ask("POST", "/api/memories", {**content, "canary_field": 1}, tcp=tcp)
        house.ask("POST", "/api/memories", {"type": "canary-type", "content": "x"}, tcp=tcp)
        house.ask("POST", "/api/memories", content, tcp=tcp, idempotency_key="canary-key")
        house.ask("GET", "/api/search?query=canary-query", tcp=tcp)
        house.ask("GET", "/api/memories/canary-reference", tcp=tcp)
        house.ask("GET", "/canary/path?canary=1", tcp=tcp)
        house.ask("GET", "/api/memories", tcp=tcp, x_canary="canary-header", user_agent="canary-agent/1")
        house.ask("GET", "/api/memories", tcp=tcp, minutebook_project="canary-project")
        house.ask("GET", "/api/memories", tcp=tcp, minutebook_run="canary-run")
        house.ask("GET", "/api/memories", tcp=tcp, host="canary.example")
        house.ask("GET", "/api/memories", tcp=tcp, origin="https://canary.example")
        house.ask("GET", "/api/memories", tcp=tcp, authorization="Bearer mbk_canary-token")
        secret = {"type": "learning", "content": "The canary key is AKIA" + "Q3EGRFFKJ2LMNOPQ"}
        house.ask("POST", "/api/memories", secret, tcp=tcp)
    lines = house.log()
    text = json.dumps(lines).casefold()
    assert len(lines) > 25
    assert "canary" not in text
    assert house.token.casefold() not in text
    assert "akia" not in text
    told = {line.get("code") for line in lines}
    assert {"invalid_input", "not_found", "bad_token", "foreign_host", "foreign_origin", "secret"} <= told
    assert {line["surface"] for line in lines if "surface" in line} == {"http", "socket"}
    assert {"ripley"} <= {line.get("actor") for line in lines}
    assert house.project in {line.get("project") for line in lines}


def test_health_is_the_same_over_every_door_and_names_who_was_seen(house: House) -> None:
    _, over_socket = house.ask("GET", "/api/system/health", user_agent="curl/8")
    by_command = house.program.ok("health")
    for found in (json.loads(over_socket), by_command):
        assert (found["state"], found["owner"]["pid"]) == ("ok", house.facts["pid"])
        assert found["owner"]["what"] == "the service"
        assert house.facts["url"] in found["service"]["addresses"]
        assert found["about"] == "the whole ledger"
    assert any(seen["client"].startswith("curl/8") for seen in by_command["visitors"])
    status, text = house.ask("GET", "/api/system/health", tcp=True)
    bound = json.loads(text)
    assert (status, bound["about"], bound["state"]) == (200, "nostromo", "ok")
    assert (bound["where"], bound["projects"], bound["service"]["requests"]) == (None, None, None)
    assert {seen["project"] for seen in bound["visitors"]} <= {house.project, "nostromo"}


def test_numbers_are_served_to_whoever_may_read_and_to_nobody_else(house: House) -> None:
    house.ask("GET", "/api/memories", tcp=True)
    viewer = ("tokens", "create", "--role", "viewer", "--agent", "prometheus", "--everywhere")
    everywhere = f"Bearer {house.program.ok(*viewer)['secret']}"
    for more in ({"tcp": False}, {"tcp": True, "authorization": everywhere}):
        status, text = house.ask("GET", "/metrics", **more)
        assert status == 200
        assert 'minutebook_requests_total{operation="memories.list",status="200",surface="http"} 1.0' in text
        assert "ripley" not in text
        assert "nostromo" not in text
    assert house.ask("GET", "/metrics", tcp=True, authorization="Bearer nonsense")[0] == 401
    assert house.ask("GET", "/metrics", tcp=True)[0] == 403  # bound to one project


def test_a_person_reads_the_health_of_the_service_at_a_glance(house: House) -> None:
    done = house.program("health")
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert first == "ok: all is well"
    assert any(line.startswith("  listens ") and house.facts["url"] in line for line in rest)
    assert any(line.startswith("  owner ") and str(house.facts["pid"]) in line for line in rest)


_SDK = """
import sys
if "serve" in sys.argv:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    lines = ConsoleSpanExporter(out=open({file!r}, "w"), formatter=lambda span: span.to_json(indent=None) + "\\n")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(lines))
    trace.set_tracer_provider(provider)
"""
_TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_a_trace_goes_through_a_service_that_somebody_gave_an_sdk(tmp_path: Path) -> None:
    told = tmp_path / "spans.jsonl"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_SDK.format(file=str(told)))
    served = Served(tmp_path / "h", tmp_path, MINUTEBOOK_SERVICE="join")
    content = {"type": "learning", "title": "Canary title", "content": "Canary body, a whole sentence of it."}
    meant = f"00-{_TRACE}-b7ad6b7169203331-01"
    with served.serving("--with-parent", PYTHONPATH=str(tmp_path / "site")):
        house = House(served, facts_of(served))
        asked = {"traceparent": meant, "x_request_id": "r-77"}
        assert house.ask("POST", "/api/memories", content, tcp=True, **asked)[0] == 201
        assert house.ask("GET", "/api/memories/canary", tcp=True, **asked)[0] == 404
    text = told.read_text()
    spans = [json.loads(line) for line in text.splitlines()]
    ours = [span for span in spans if span["context"]["trace_id"] == f"0x{_TRACE}"]
    assert [span["name"] for span in ours] == [
        "write", "memories.write", "http memories.write", "memories.show", "http memories.show",
    ]  # fmt: skip
    assert ours[2]["parent_id"] == "0xb7ad6b7169203331"
    assert ours[2]["attributes"]["minutebook.request"] == "r-77"
    assert ours[4]["attributes"]["error.type"] == "not_found"
    assert "canary" not in text.casefold()
    assert "ripley" not in text
