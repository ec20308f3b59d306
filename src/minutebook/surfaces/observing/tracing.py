"""Spans of OpenTelemetry: a request, its operation, and the write with its wait and its commit.

Made when a request has ended, from the moments that were noted on the way, and only where somebody set up an
SDK in this process; otherwise nothing of OpenTelemetry is even imported. No content, no names of people,
agents or projects: spans leave the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minutebook.surfaces.observing.observer import Observation

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

_NAME = "minutebook"
#: What W3C says names a trace, in headers and in the `_meta` of MCP.
_CARRIED = ("traceparent", "tracestate")
#: The longest that is looked at: one is 55 characters, the other 512.
_MOST_CHARS = 600


class Tracing:
    """Tells OpenTelemetry of each request."""

    def __init__(self, environ: Mapping[str, str], version: str = "") -> None:
        #: The API finds a provider by itself when this is set; else whoever sets one up imports it.
        self._named = bool(environ.get("OTEL_PYTHON_TRACER_PROVIDER"))
        self._version = version

    def ended(self, seen: Observation) -> None:
        tracer = self._tracer()
        if tracer is not None:
            _Spans(tracer, seen).tell()

    def _tracer(self) -> Tracer | None:
        if not self._named and "opentelemetry.trace" not in sys.modules:
            return None
        from opentelemetry import trace

        provider = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):
            return None  # the API alone: somebody imported it and set nothing up
        return provider.get_tracer(_NAME, self._version or None)


class _Spans:
    """The spans of one request."""

    def __init__(self, tracer: Tracer, seen: Observation) -> None:
        self._tracer = tracer
        self._seen = seen

    def tell(self) -> None:
        from opentelemetry.trace import SpanKind

        seen = self._seen
        attributes: dict[str, Any] = {
            "minutebook.operation": seen.operation,
            "minutebook.surface": seen.surface,
            "http.response.status_code": seen.status_code,
        }
        if seen.request:
            attributes["minutebook.request"] = seen.request
        request = self._begin(
            f"{seen.surface} {seen.operation}", seen.began, self._parent(), attributes, SpanKind.SERVER
        )
        seen.trace = f"{request.get_span_context().trace_id:032x}"
        if seen.asked:
            self._operation(request)
        self._end(request)

    def _parent(self) -> Context | None:
        """The caller's span, if it named one; a malformed name counts as none."""
        carrier = self._seen.carrier
        if carrier is None:
            return None
        named = {name: carrier.get(name) for name in _CARRIED}
        given = {
            name: value
            for name, value in named.items()
            if isinstance(value, str) and len(value) <= _MOST_CHARS
        }
        if "traceparent" not in given:
            return None
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        return TraceContextTextMapPropagator().extract(given)

    def _operation(self, request: Span) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        seen = self._seen
        above = set_span_in_context(request)
        operation = self._begin(seen.operation, seen.asked, above, {}, SpanKind.INTERNAL)
        if seen.left_queue:
            worked = seen.worked or seen.left_queue
            write = self._begin(
                "write",
                seen.asked,
                set_span_in_context(operation),
                {
                    "minutebook.write.wait_seconds": seen.left_queue - seen.asked,
                    "minutebook.write.work_seconds": worked - seen.left_queue,
                    "minutebook.write.commit_seconds": seen.ended - worked,
                },
                SpanKind.INTERNAL,
            )
            write.add_event("taken up", timestamp=self._at(seen.left_queue))
            write.add_event("worked", timestamp=self._at(worked))
            self._end(write)
        self._end(operation)

    def _begin(
        self, name: str, at: float, above: Context | None, attributes: dict[str, Any], kind: Any
    ) -> Span:
        from opentelemetry.context import Context

        # An empty context and not None, which would take whatever span this thread is in.
        return self._tracer.start_span(
            name, above or Context(), kind=kind, attributes=attributes, start_time=self._at(at)
        )

    def _end(self, span: Span) -> None:
        from opentelemetry.trace import StatusCode

        if self._seen.code:
            span.set_attribute("error.type", self._seen.code)
        if self._seen.status_code >= 500:
            span.set_status(StatusCode.ERROR)
        span.end(end_time=self._at(self._seen.ended))

    def _at(self, moment: float) -> int:
        return self._seen.began_ns + int((moment - self._seen.began) * 1e9)
