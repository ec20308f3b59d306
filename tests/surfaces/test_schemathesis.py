"""Schemathesis over the description: whatever is sent, the answer is as described, and never a failure of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis import checks as known
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.generation.case import Case

from minutebook.model.errors import HTTP_STATUS
from minutebook.operations import decisions, inbox, memories, sessions, tombstones, verdicts
from minutebook.operations import tokens as passes
from minutebook.policy.limits import Limits
from minutebook.surfaces.http import openapi
from tests.conftest import Clock
from tests.houses import House
from tests.surfaces.serving import Served

#: Cases of each kind for each operation. More are for a night's run; see `schemathesis run`.
EXAMPLES = 5

#: What an answer to anything must keep. That valid data is always taken is not promised: a description cannot
#: say that a memory must exist, that a text must not hold a secret, or what an age looks like.
CHECKS = [
    known.not_a_server_error,
    known.status_code_conformance,
    known.content_type_conformance,
    known.response_headers_conformance,
    known.response_schema_conformance,
    known.negative_data_rejection,
]
PROJECT = {"$ref": "#/components/parameters/Minutebook-Project"}
REFUSALS = sorted({str(status) for status in HTTP_STATUS.values() if status < 500})


def _schema() -> Any:
    described = openapi.document()
    del described["paths"]["/api/events/follow"]  # it has no end; tests of its own read it
    for methods in described["paths"].values():
        for said in methods.values():  # the project is ours to name: in any other the token opens nothing
            said["parameters"] = [each for each in said.get("parameters", ()) if each != PROJECT]
    config = SchemathesisConfig.from_dict(
        {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
    )
    return schemathesis.openapi.from_dict(described, config=config)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    limits = Limits(writes_per_minute=0)
    house = House(f"sqlite://{tmp_path}/ledger/ledger.db", tmp_path / "home", Clock(), limits)
    with contextlib.closing(house), Served(house, tmp_path, requests_per_minute=0) as running:
        yield running


def _run(operation: Any, mode: GenerationMode, ask: Any, **fixed: Any) -> int:
    """Send some cases of an operation; how many there were."""
    sent = 0

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(operation.as_strategy(mode, **fixed))
    def each(case: Case) -> None:
        nonlocal sent
        sent += 1
        ask(case)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing of it can be wrong
        each()
    return sent


def _lived_in(house: House) -> dict[str, str]:
    """Something of each kind, by the operation's noun: the name that a path may hold."""
    house.ripley(inbox.submit, type="technical", title="Use Rust", content="It is fast.", slug="rust")
    house.ripley(inbox.submit, type="technical", title="Use Go", content="It is simple.", slug="go")
    house.dallas(inbox.reject, ref="go", reason="not now")
    house.mother(memories.write, type="learning", content="The proxy drops large bodies.", slug="proxy")
    house.mother(decisions.write, type="technical", title="Database", content="PostgreSQL.", slug="db")
    house.mother(sessions.start, focus="Look around", session="first")
    house.mother(passes.create, role="viewer", agent="Jones")
    return {
        "inbox": "rust",
        "memories": "proxy",
        "decisions": "db",
        "sessions": "first",
        "projects": "nostromo",
        "actors": "ripley",
        "verdicts": house.mother(verdicts.list_).items[0].id,
        "tombstones": house.mother(tombstones.list_).items[0].id,
        "tokens": house.mother(passes.list_).items[0].id,
    }


def test_whatever_is_asked_with_a_token_is_answered_as_described(served: Served) -> None:
    named = _lived_in(served.house)
    sent = statuses_2xx = 0
    for found in _schema().get_all_operations():
        operation = found.ok()
        # A fresh one for each: some operations take tokens away.
        headers = {
            "Authorization": f"Bearer {served.token(everywhere=True)}",
            "Minutebook-Project": served.house.project,
        }

        def ask(case: Case, headers: dict[str, str] = headers) -> None:
            nonlocal statuses_2xx
            url = f"http://127.0.0.1:{served.port}"
            reply = case.call(base_url=url, headers=headers)
            statuses_2xx += reply.status_code < 300
            case.validate_response(reply, checks=CHECKS, headers=headers)

        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            sent += _run(operation, mode, ask)
        noun = operation.path.split("/")[2] if operation.path.startswith("/api/") else ""
        if "{" in operation.path and noun in named:
            name = operation.path.partition("{")[2].partition("}")[0]
            sent += _run(operation, GenerationMode.POSITIVE, ask, path_parameters={name: named[noun]})
    assert sent > 400
    assert statuses_2xx > 50


def test_whatever_is_asked_without_a_token_is_refused_as_described(served: Served) -> None:
    refused = 0

    def ask(case: Case) -> None:
        nonlocal refused
        reply = case.call(base_url=f"http://127.0.0.1:{served.port}")
        # An address that no parser takes is refused before anybody is asked for a token.
        assert reply.status_code in (400, 401, 413), (case.path, reply.status_code)
        refused += reply.status_code == 401
        case.validate_response(reply, checks=CHECKS[:-1])

    for found in _schema().get_all_operations():
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _run(found.ok(), mode, ask)
    assert refused > 100
    assert served.house.mother(memories.list_).items == ()
