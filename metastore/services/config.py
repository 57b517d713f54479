"""Settings that clients can read, and set for their connection, under Hive's names."""

from __future__ import annotations

import re

from metastore.context import caller
from metastore.domain.names import DEFAULT_CATALOG
from metastore.errors import InvalidInputError
from metastore.services.rules.meta_confs import DISALLOW_TYPE_CHANGES
from metastore.settings import Settings

# As in HMSHandler.get_config_value, only these families may be read, and no secrets.
_READABLE = re.compile(r"(hive|hdfs|mapred|metastore)\..*", re.IGNORECASE)
_SECRET = re.compile(r"password|secret", re.IGNORECASE)

# The variables that a client may set for its connection (Hive's "meta confs"), with their defaults.
_META_CONFS = {
    f"hive.{DISALLOW_TYPE_CHANGES}": "true",
    "hive.metastore.client.socket.timeout": "600s",
    "hive.metastore.partition.order.expr": "",
    "hive.metastore.try.direct.sql": "true",
    "hive.metastore.try.direct.sql.ddl": "true",
    "hive.metastore.client.capability.check": "false",
    "hive.metastore.partition.name.whitelist.pattern": "",
    "hive.metastore.callerctx": "",
    # MSCK REPAIR uses expressions only if this is the class that evaluates them in Hive.
    "hive.metastore.expression.proxy": "org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore",
}
# Since Hive 3, each variable also has the name without "hive.".
_META_CONFS |= {key.removeprefix("hive."): value for key, value in _META_CONFS.items()}


class ConfigService:
    """Returns this server's values, or the client's default."""

    def __init__(self, settings: Settings) -> None:
        self._known = {
            "hive.metastore.warehouse.dir": settings.warehouse,
            "metastore.warehouse.dir": settings.warehouse,
            "metastore.catalog.default": DEFAULT_CATALOG,
            "hive.exec.default.partition.name": "__HIVE_DEFAULT_PARTITION__",
            # Impala reads these before it follows the notification log.
            "hive.metastore.dml.events": "true",
            "metastore.dml.events": "true",
            "hive.metastore.notifications.add.thrift.objects": "true",
            "hive.metastore.alter.notifications.basic": "false",
            "hive.metastore.event.db.listener.timetolive": f"{settings.event_retention:g}s",
            "metastore.event.db.listener.timetolive": f"{settings.event_retention:g}s",
            "hive.txn.timeout": _time(settings.txn_timeout),
            "metastore.txn.timeout": _time(settings.txn_timeout),
            "metastore.thrift.port": str(settings.port),
            "hive.metastore.port": str(settings.port),
        }

    def value(self, name: str | None, default: str | None) -> str:
        """Reads a setting. Raises InvalidInputError for a name that may not be read."""
        if name is None:
            return default or ""
        if not _READABLE.fullmatch(name) or _SECRET.search(name):
            raise InvalidInputError(f"For security reasons, the config key {name} cannot be accessed")
        return self._known.get(name, default or "")

    def meta_conf(self, key: str | None) -> str:
        """Reads a variable of the connection. Raises InvalidInputError for an unknown one."""
        if key is None or key not in _META_CONFS:
            raise InvalidInputError(f"Invalid configuration key {key}")
        current = caller.get()
        return (current.meta_confs if current else {}).get(key.removeprefix("hive."), _META_CONFS[key])

    def set_meta_conf(self, key: str | None, value: str | None) -> None:
        """Sets a variable of the connection. Only DISALLOW_TYPE_CHANGES has an effect.

        Raises InvalidInputError for an unknown key, or without a value.
        """
        if key is None or key not in _META_CONFS:
            raise InvalidInputError(f"Invalid configuration key {key}")
        if value is None:
            raise InvalidInputError(f"Invalid configuration value of {key}: null")
        if (current := caller.get()) is not None:
            current.meta_confs[key.removeprefix("hive.")] = value


def _time(seconds: float) -> str:
    """Formats seconds for Hive's MetastoreConf and Trino: a whole number and its unit."""
    return f"{seconds:.0f}s" if seconds % 1 == 0 else f"{seconds * 1000:.0f}ms"
