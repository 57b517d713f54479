"""Records of calls that are exported as spans as well."""

from __future__ import annotations

import time
from typing import Any, Final

from metastore.monitoring.logs import one_line
from metastore.monitoring.shared_metrics import OUTCOMES, WorkerMetrics
from metastore.monitoring.tracing import Spans
from metastore.protocol.call_record import CallRecords, rows_of
from metastore.protocol.exceptions import text_of

_SHAPE: Final = 200  # characters of a statement


class TracedRecords(CallRecords):
    """Adds a span for each call to CallRecords. Attributes have OpenTelemetry's names where it defines them."""

    def __init__(self, slow: float, metrics: WorkerMetrics | None, spans: Spans) -> None:
        super().__init__(slow, metrics)
        self._spans = spans

    def end(
        self,
        number: int,
        outcome: int,
        error: Exception | None,
        request: int = 0,
        reply: int = 0,
        answer: Any = None,
    ) -> None:
        """Ends a call as CallRecords does, and adds its span."""
        peer, method, label, started = self._now[number]
        super().end(number, outcome, error, request, reply, answer)
        attributes = {
            "rpc.system": "apache_thrift",
            "rpc.service": "ThriftHiveMetastore",
            "rpc.method": method,
            "network.peer.address": peer.peer,
            "enduser.id": one_line(peer.user) if peer.user else None,
            "db.query.summary": one_line(" ".join(peer.call.statement.split()), _SHAPE) or None,
            "metastore.client": peer.client,
            "metastore.object": one_line(label()) or None,
            "metastore.outcome": OUTCOMES[outcome],
            "metastore.rows": rows_of(getattr(answer, "success", None)),
            "metastore.request_bytes": request,
            "metastore.reply_bytes": reply,
            "metastore.database_seconds": peer.call.database_seconds,
            "metastore.waiting_seconds": peer.call.waiting_seconds,
        }
        message = None if error is None else one_line(text_of(error))
        self._spans.add(f"metastore/{method}", time.perf_counter() - started, attributes, message)
