"""Connects the console with the database, the users and the services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from metastore.app.security import make_authorization
from metastore.app.timers import audit_writing
from metastore.console.activity import ActivityService
from metastore.console.attention import AttentionService
from metastore.console.dependencies import DependencyOverviewService
from metastore.console.layouts import LayoutService
from metastore.console.partition_calendar import PartitionCalendarService
from metastore.console.scans import ScanOverviewService
from metastore.console.search import SearchService
from metastore.console.sizes import SizeOverview
from metastore.console.table import TableOverviewService
from metastore.identity import AuthenticationFailedError, Identity
from metastore.monitoring.gauges import Gauges
from metastore.monitoring.shared_metrics import SharedMetrics
from metastore.security.authenticator import make_authenticator
from metastore.security.groups import Groups
from metastore.security.listener_settings import listeners
from metastore.services.audit import AuditService
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.everyone import Everyone
from metastore.services.logins import FailedLoginService
from metastore.settings import Settings
from metastore.storage.postgres.engine import make_engine
from metastore.storage.unit_of_work import Store
from metastore.warehouse.filesystem import Warehouse
from metastore.web.console.activity import ActivityPages
from metastore.web.console.authentication import ConsoleAuthenticator
from metastore.web.console.catalog import CatalogPages, near_names
from metastore.web.console.dependencies import DependencyPages
from metastore.web.console.growth import GrowthPages
from metastore.web.console.health import HealthPages
from metastore.web.console.layouts import LayoutPages
from metastore.web.console.now import NowPages
from metastore.web.console.partitions import PartitionPages
from metastore.web.console.routes import Console
from metastore.web.console.scans import ScanPages
from metastore.web.console.sessions import Sessions
from metastore.web.console.site import Page, Site
from metastore.web.console.table import TablePages

_CONNECTIONS: Final = 3  # pages that read the database at the same time
_TIMEOUT: Final = 5.0  # seconds for a statement, and to wait for a connection


def make_console(settings: Settings, url: str, metrics: SharedMetrics, gauges: Callable[[], Gauges]) -> Console:
    """Returns the console. It has a few database connections of its own, so that pages and calls do not wait for each
    other. `gauges`: gauges that need no database. Raises ConfigurationError.
    """
    bounded = replace(settings, pool_size=_CONNECTIONS, pool_timeout=_TIMEOUT)
    engine = make_engine(bounded, url, statement_timeout=_TIMEOUT, application="metastore console", parallel=False)
    store = Store(engine, bounded)
    warehouse = Warehouse(settings.warehouse, settings.roots)
    rights = make_authorization(settings, store, warehouse.roots) or Everyone(store)
    groups = Groups(settings)
    activity = ActivityService(store, _timeout(settings), rights)
    authenticator = _authenticator(settings, store)
    near = partial(near_names, SearchService(store, rights))
    site = Site(authenticator, groups.of, activity.sees_health, activity.privileges_version, near, _CONNECTIONS)
    now = NowPages(metrics, activity, settings.slow_call_threshold)
    now.start()
    pages = pages_of(store, warehouse, rights, settings, gauges, lambda: _pool(metrics))
    return Console(site, [*now.pages(), *pages])


def _pool(metrics: SharedMetrics) -> tuple[float, float]:
    """Returns the number of used and of all database connections of the workers."""
    gauges = [worker.gauges() for worker in metrics.workers()]
    used, size = (sum(each.get(name, 0.0) for each in gauges) for name in ("pool_used", "pool_size"))
    return used, size


def _timeout(settings: Settings) -> timedelta:
    return timedelta(seconds=settings.txn_timeout)


def pages_of(
    store: Store,
    warehouse: Warehouse,
    rights: Authorization,
    settings: Settings,
    gauges: Callable[[], Gauges] = dict,
    pool: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0),
) -> list[Page]:
    """Returns the pages that read the database. `gauges`, `pool`: see `HealthPages`."""
    timeout = _timeout(settings)
    sizes, activity = SizeOverview(store, rights), ActivityService(store, timeout, rights)
    health = HealthPages(activity, sizes, settings, gauges, pool)
    groups = (
        health,
        ActivityPages(activity),
        CatalogPages(SearchService(store, rights), AttentionService(store, rights, timeout), health.warnings),
        TablePages(TableOverviewService(store, rights), sizes),
        PartitionPages(PartitionCalendarService(store, rights)),
        GrowthPages(sizes),
        DependencyPages(DependencyOverviewService(store, rights)),
        LayoutPages(LayoutService(store, warehouse, rights)),
        ScanPages(ScanOverviewService(store, rights)),
    )
    return [page for group in groups for page in group.pages()]


def _authenticator(settings: Settings, store: Store) -> ConsoleAuthenticator:
    """Returns the authentication of the console: the same users as the listeners'."""
    methods = frozenset[str]().union(*(listener.authentication for listener in listeners(settings)))
    audit = AuditService(store, 0.0) if settings.audit != "off" else None
    if audit:
        audit_writing(audit).start()
    record = audit.login_failed if audit else lambda *_: None
    # Browsers have no delegation tokens: the console offers PLAIN only.
    authenticator = make_authenticator(settings, _reject_token, set, record, FailedLoginService(store))
    return ConsoleAuthenticator(authenticator, methods, Sessions(authenticator.ended, settings.session_max_age))


def _reject_token(_: bytes) -> tuple[bytes, Identity]:
    raise AuthenticationFailedError("The console accepts no delegation tokens")
