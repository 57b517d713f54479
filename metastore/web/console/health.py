"""The health of the servers and of the database, with the settings that fix problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from metastore.console.activity import ActivityService
from metastore.console.sizes import SizeOverview
from metastore.monitoring.gauges import Gauges
from metastore.settings import Settings
from metastore.web.console.parameters import Parameters
from metastore.web.console.pictures.lines import line_chart
from metastore.web.console.site import Data, Page

_DAY: Final = 86_400
_CERTIFICATE_DAYS: Final = 21
_LONG_TRANSACTION: Final = 3600  # seconds
_DEAD_SHARE: Final = 0.4
_DEAD_ROWS: Final = 10_000
_FULL: Final = 0.8  # share of PostgreSQL's connections


class HealthPages:
    """The page of health.

    `gauges`: gauges that need no database. `pool`: the used and all database connections of this server.
    """

    def __init__(
        self,
        activity: ActivityService,
        sizes: SizeOverview,
        settings: Settings,
        gauges: Callable[[], Gauges],
        pool: Callable[[], tuple[float, float]],
    ) -> None:
        self._activity = activity
        self._sizes = sizes
        self._settings = settings
        self._gauges = gauges
        self._pool = pool

    def pages(self) -> list[Page]:
        """Returns the pages."""
        return [Page("/health", "health.html", self.health, with_charts)]

    def warnings(self) -> list[dict[str, str]]:
        """Returns the warnings, for administrators; nothing for others."""
        if not self._activity.sees_health():
            return []
        return list(_warnings(self._activity.health(), self._certificate(), self._settings))

    def _certificate(self) -> float | None:
        """Returns the seconds until the certificate expires; None without one."""
        return self._gauges().get("metastore_certificate_expiry_seconds", {}).get("")

    def health(self, _: Parameters) -> Data:
        """Servers, sizes and warnings. Administrators only."""
        figures = self._activity.health()
        certificate = self._certificate()
        used, size = self._pool()
        return {
            **figures,
            "pool_used": used,
            "pool_size": size,
            "certificate_days": None if certificate is None else certificate / _DAY,
            "warnings": list(_warnings(figures, certificate, self._settings)),
            "catalog": self._sizes.of_catalog(),
        }


def with_charts(data: Data) -> Data:
    """Adds charts of the counts of the catalog."""
    charts = [(name.capitalize(), line_chart(data["catalog"], name, "count")) for name in ("tables", "partitions")]
    return {**data, "charts": [(label, chart) for label, chart in charts if chart]}


def _warnings(figures: dict[str, Any], certificate: float | None, settings: Settings) -> Iterator[dict[str, str]]:
    """Yields problems, each with its fix."""
    for text, fix in (*_of_servers(figures), *_of_database(figures), *_of_settings(certificate, settings)):
        yield {"text": text, "fix": fix}


def _of_servers(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    servers = figures["servers"] or []
    if len({server["version"] for server in servers}) > 1:
        yield "Servers of several versions run.", "Upgrade all servers, then run: metastore db upgrade --finish"
    if any(server["revision"] != figures["revision"] for server in servers):
        text = f"Some servers need another schema revision than the database's {figures['revision']}."
        yield text, "Upgrade these servers, or run: metastore db upgrade"
    if figures["parked"]:
        yield (
            f"{figures['parked']} file operations have failed.",
            "Fix the cause, which the log names, then run: metastore clean",
        )


def _of_database(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if figures["connections"] > _FULL * figures["max_connections"]:
        text = f"{figures['connections']} of {figures['max_connections']} database connections are in use."
        yield text, "Lower METASTORE_POOL_SIZE or METASTORE_WORKERS, or raise PostgreSQL's max_connections"
    if (figures["oldest_transaction"] or 0) > _LONG_TRANSACTION:
        text = "A database transaction has been open for more than an hour: it prevents the removal of dead rows."
        yield text, "End its session: SELECT pid, query FROM pg_stat_activity ORDER BY xact_start"
    for relation in figures["relations"] or []:
        name, dead = relation["name"], relation["dead"]
        if dead > _DEAD_ROWS and dead > _DEAD_SHARE * (relation["live"] + dead):
            text = f"The table {name} of the database has {dead} dead rows."
            yield text, f"ALTER TABLE {name} SET (autovacuum_vacuum_scale_factor = 0.02)"


def _of_settings(certificate: float | None, settings: Settings) -> Iterator[tuple[str, str]]:
    if certificate is not None and certificate < _CERTIFICATE_DAYS * _DAY:
        text = f"The certificate expires in {certificate / _DAY:.0f} days."
        yield text, "Replace the file METASTORE_TLS_CERTIFICATE"
    if settings.authentication == "none" and settings.authorization != "off":
        yield "Privileges are checked, but clients can choose any user name.", "Set METASTORE_AUTHENTICATION"
    if settings.embedded:
        yield "The embedded PostgreSQL is for trials and tests.", "Set METASTORE_DATABASE_URL"
