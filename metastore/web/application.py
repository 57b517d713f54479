"""The ASGI application of the HTTP port and its routes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from metastore.monitoring.exposition import render
from metastore.monitoring.gauges import Gauges
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.web.access import TOKEN_PATHS, AccessControl
from metastore.web.blocked_calls import BlockedCalls
from metastore.web.console.routes import Console
from metastore.web.events import EventRoutes
from metastore.web.iceberg import IcebergRoutes
from metastore.web.probe import DatabaseProbe

_NO_WORKER: Final = "no worker process is running"


@dataclass(frozen=True)
class Pages:
    """The handlers of all routes.

    `database` reads the gauges of the database. `other_gauges` returns gauges that need no database, without blocking.
    `blocked` finds the sessions that block calls.
    """

    metrics: SharedMetrics
    database: DatabaseProbe
    other_gauges: Callable[[], Gauges]
    blocked: BlockedCalls
    hive_names: bool = False

    async def show_metrics(self, _: Request) -> Response:
        """`/metrics`, in Prometheus' text format. If the database does not answer, its gauges are left out."""
        state = await self.database.state()
        gauges = {**state.gauges, **self.other_gauges()}
        text = render(self.metrics, gauges, database_up=not state.error, hive_names=self.hive_names)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    async def live(self, _: Request) -> Response:
        """`/health/live`: status 200 if at least one worker process runs."""
        return _health("" if self._worker_runs() else _NO_WORKER, "alive")

    async def ready(self, _: Request) -> Response:
        """`/health/ready`: status 200 if the database answers, its schema fits, and a worker process runs."""
        state = await self.database.state()
        return _health(state.error or ("" if self._worker_runs() else _NO_WORKER), "ready")

    async def slow_calls(self, _: Request) -> Response:
        """`/calls/slow`: the last slow calls, as JSON."""
        return _calls([call for worker in self.metrics.workers() for call in worker.slow_calls()])

    async def calls_in_flight(self, _: Request) -> Response:
        """`/calls/now`: the calls in flight, and the sessions of PostgreSQL that block them, as JSON."""
        calls = [call for worker in self.metrics.workers() for call in worker.calls_in_flight()]
        return _calls(await self.blocked.explain(calls))

    def _worker_runs(self) -> bool:
        pids = (int(worker.gauges()["pid"]) for worker in self.metrics.workers())
        return any(pid and Path(f"/proc/{pid}/stat").exists() for pid in pids)


def make_application(
    pages: Pages,
    console: Console | None = None,
    iceberg: IcebergRoutes | None = None,
    events: EventRoutes | None = None,
    *,
    token: str | None,
    allowed_hosts: Collection[str],
) -> Starlette:
    """Returns the application.

    `console`: None to serve no pages. `iceberg`: None to serve no catalog. `events`: None to serve no
    streams. `token`, `allowed_hosts`: see
    `AccessControl`.
    """
    routes = {
        "/metrics": pages.show_metrics,
        "/health/live": pages.live,
        "/health/ready": pages.ready,
        "/calls/slow": pages.slow_calls,
        "/calls/now": pages.calls_in_flight,
    }

    async def not_found(request: Request, _: Exception) -> Response:
        if console and not request.url.path.startswith(TOKEN_PATHS):
            return await console.site.missing(request)
        return PlainTextResponse(f"Not found. Paths: {' '.join(routes)}\n", 404)

    return Starlette(
        routes=[
            *(Route(path, handler) for path, handler in routes.items()),
            *(iceberg.routes() if iceberg else ()),
            *(events.routes() if events else ()),
            *(console.routes() if console else ()),
        ],
        middleware=[Middleware(AccessControl, token=token, allowed_hosts=allowed_hosts)],
        exception_handlers={404: not_found},
    )


def _health(error: str, healthy: str) -> Response:
    return PlainTextResponse(f"{error}\n", 503) if error else PlainTextResponse(f"{healthy}\n")


def _calls(calls: list[dict[str, Any]]) -> Response:
    return JSONResponse(calls, headers={"Cache-Control": "no-store"})
