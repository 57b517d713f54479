"""Sends a span for each call to an OpenTelemetry collector, by OTLP over HTTP.

OpenTelemetry is an optional dependency, and is imported only if METASTORE_TRACES_ENDPOINT is set.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from metastore.errors import ConfigurationError

Value = str | int | float


class Spans:
    """The spans of one process. A thread sends them, and drops them if the collector does not answer.

    OpenTelemetry's own variables (OTEL_TRACES_SAMPLER, OTEL_BSP_*) configure sampling and batches.
    """

    def __init__(self, url: str, version: str) -> None:
        """`url`: the address of the collector, as http://host:4318/v1/traces.

        Raises ConfigurationError for an invalid URL or a missing package.
        """
        if not re.match(r"https?://[^/\s]+/", url):
            raise ConfigurationError(
                f"METASTORE_TRACES_ENDPOINT is {url!r}; it must be a URL: http://host:4318/v1/traces"
            )
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise ConfigurationError(
                "METASTORE_TRACES_ENDPOINT needs OpenTelemetry. Run: pip install 'metastore[tracing]'"
            ) from error
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": "metastore", "service.version": version})
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
        self._tracer = self._provider.get_tracer("metastore", version)
        self._kind, self._failed = trace.SpanKind.SERVER, trace.StatusCode.ERROR

    def add(self, name: str, seconds: float, attributes: Mapping[str, Value | None], error: str | None) -> None:
        """Adds a span that ends now and has lasted `seconds`. `error`: the text of an error, if any."""
        end = time.time_ns()
        present = {key: value for key, value in attributes.items() if value is not None}
        span = self._tracer.start_span(
            name, kind=self._kind, attributes=present, start_time=end - int(seconds * 1_000_000_000)
        )
        if error is not None:
            span.set_status(self._failed, error)
        span.end(end)

    def close(self) -> None:
        """Sends the remaining spans."""
        self._provider.shutdown()
