"""Spans of OpenTelemetry: there where an SDK is, with the caller's trace above them and no content in them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from minutebook.model.errors import MinutebookError
from minutebook.operations import memories
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.observing.tracing import Tracing
from tests.houses import House
from tests.surfaces.accounting import ask, asker

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """An SDK that keeps what it is told, for as long as one test."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    # The API lets a provider be set once in a process; a test is no process.
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield kept
    provider.shutdown()


def observer() -> Observer:
    return Observer(Tracing({}, "9.9"))


def by_name(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_write_is_a_request_an_operation_and_a_write_one_within_the_other(
    house: House, spans: InMemorySpanExporter
) -> None:
    operation = REGISTRY.of(memories.write)
    caller = house.ripley
    with observer().request("http", operation.name, request="r-1") as seen:
        seen.asked_by(asker())
        house.service.invoke(
            operation,
            {"type": "learning", "content": "The doors jam in the cold."},
            actor=caller.actor,
            origin=caller.origin,
            project=caller.project,
            watch=seen,
        )
        seen.status(201)
    found = by_name(spans)
    request, inner, write = found["http memories.write"], found["memories.write"], found["write"]
    assert (request.parent, request.kind) == (None, SpanKind.SERVER)
    assert inner.parent is not None
    assert write.parent is not None
    assert inner.parent.span_id == request.context.span_id
    assert write.parent.span_id == inner.context.span_id
    assert dict(request.attributes or {}) == {
        "minutebook.operation": "memories.write",
        "minutebook.surface": "http",
        "minutebook.request": "r-1",
        "http.response.status_code": 201,
    }
    told = dict(write.attributes or {})
    parts = [float(str(told[f"minutebook.write.{part}_seconds"])) for part in ("wait", "work", "commit")]
    assert all(part > 0 for part in parts)
    assert [event.name for event in write.events] == ["taken up", "worked"]
    moments = [inner.start_time, *(event.timestamp for event in write.events), write.end_time]
    assert moments == sorted(moments, key=lambda moment: moment or 0)
    assert abs((request.start_time or 0) - time.time_ns()) < 60e9
    assert request.instrumentation_scope is not None
    assert request.instrumentation_scope.version == "9.9"


@pytest.mark.parametrize("carrier", [{"traceparent": PARENT}, {"traceparent": PARENT, "tracestate": "a=b"}])
def test_a_trace_that_the_caller_names_goes_on(carrier: dict[str, str], spans: InMemorySpanExporter) -> None:
    ask(observer(), carrier=carrier)
    (span,) = spans.get_finished_spans()
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent is not None
    assert span.parent.is_remote


@pytest.mark.parametrize(
    "carrier",
    [
        None,
        {},
        {"traceparent": "nonsense"},
        {"traceparent": 7},
        {"traceparent": ["a", "b"]},
        {"traceparent": None},
        {"traceparent": "0" * 100_000},
        {"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"},
        {"tracestate": "a=b"},
    ],
)
def test_a_trace_that_is_named_wrongly_counts_as_none(carrier: object, spans: InMemorySpanExporter) -> None:
    ask(observer(), carrier=carrier)  # type: ignore[arg-type]
    (span,) = spans.get_finished_spans()
    assert span.parent is None


def test_another_span_of_the_thread_is_not_taken_for_the_callers(spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("somebody").start_as_current_span("else"):
        ask(observer())
    assert by_name(spans)["http inbox.list"].parent is None


def test_an_error_is_told_by_its_code(spans: InMemorySpanExporter) -> None:
    ask(observer(), "memories.show", error=MinutebookError("not_found", "There is no canary."))
    ask(observer(), "system.health", error=MinutebookError("internal", "canary"))
    found = by_name(spans)
    mine, ours = found["http memories.show"], found["http system.health"]
    assert (mine.attributes or {})["error.type"] == "not_found"
    assert (mine.status.status_code, ours.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)


def test_no_content_and_no_name_is_in_a_span(spans: InMemorySpanExporter) -> None:
    carrier = {"traceparent": PARENT, "authorization": "Bearer canary", "baggage": "who=canary"}
    who = asker("canary", project="canary", token="canary")
    ask(observer(), by=who, client="canary", carrier=carrier, write=True)
    told = [span.to_json() for span in spans.get_finished_spans()]
    assert len(told) == 3
    assert "canary" not in "".join(told)


def test_without_an_sdk_nothing_is_recorded_and_it_costs_next_to_nothing() -> None:
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    silent, tracing = Observer(), observer()

    def cost(of: Observer) -> float:
        began = time.perf_counter()
        for _ in range(2_000):
            ask(of, carrier={"traceparent": PARENT})
        return (time.perf_counter() - began) / 2_000

    # The best of a few: what the machine does besides is not the question.
    added = min(cost(tracing) for _ in range(5)) - min(cost(silent) for _ in range(5))
    assert added < 10e-6


def test_without_an_sdk_opentelemetry_is_not_even_imported() -> None:
    script = """
import sys
from minutebook.surfaces.observing.observer import Observer
from minutebook.surfaces.observing.tracing import Tracing
with Observer(Tracing({})).request("http", "inbox.list", {"traceparent": "x"}) as seen:
    seen.status(200)
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
