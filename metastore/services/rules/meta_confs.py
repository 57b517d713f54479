"""Settings of one connection that change the server's behaviour (Hive's "meta confs")."""

from __future__ import annotations

from typing import Final

from metastore.context import caller

DISALLOW_TYPE_CHANGES: Final = "metastore.disallow.incompatible.col.type.changes"


def disallows_type_changes() -> bool:
    """Returns whether incompatible types are rejected. A connection can switch that off with `setMetaConf`."""
    current = caller.get()
    return current is None or current.meta_confs.get(DISALLOW_TYPE_CHANGES, "true").lower() != "false"
