"""Spans of calls for OpenTelemetry, sent to a collector by OTLP over HTTP. Only where it is asked for and installed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from metastore.errors import ConfigurationError

Value = str | int | float


class Spans:
    """Of one process; sends them in the background, and drops them where nobody takes them.

    What is sampled, and how much is sent at once, is set as OpenTelemetry has it (OTEL_TRACES_SAMPLER, OTEL_BSP_…).
    """

    def __init__(self, url: str, version: str) -> None:
        """`url`: the collector's, http://host:4318/v1/traces. Raises ConfigurationError, also where a package is
        missing.
        """
        if not re.match(r"https?://[^/\s]+/", url):
            raise ConfigurationError(f"traces is {url!r}, but must be an address: http://host:4318/v1/traces")
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ConfigurationError(
                "traces are sent with OpenTelemetry, which is missing: run  pip install 'metastore[tracing]'"
            ) from error
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": "metastore", "service.version": version})
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self._tracer = self._provider.get_tracer("metastore", version)
        self._kind, self._failed = trace.SpanKind.SERVER, trace.StatusCode.ERROR

    def add(self, name: str, seconds: float, attributes: Mapping[str, Value | None], error: str | None) -> None:
        """Adds what has taken so long, and ends now."""
        end = time.time_ns()
        given = {key: value for key, value in attributes.items() if value is not None}
        span = self._tracer.start_span(
            name, kind=self._kind, attributes=given, start_time=end - int(seconds * 1_000_000_000)
        )
        if error is not None:
            span.set_status(self._failed, error)
        span.end(end)

    def close(self) -> None:
        """Sends what is left."""
        self._provider.shutdown()
