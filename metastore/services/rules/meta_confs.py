"""What a connection has set for itself (Hive's "meta confs"), where it changes what is done."""

from __future__ import annotations

from typing import Final

from metastore.context import caller

DISALLOW_TYPE_CHANGES: Final = "metastore.disallow.incompatible.col.type.changes"


def disallows_type_changes() -> bool:
    """Tells whether columns keep compatible types, which a connection may switch off with `setMetaConf`."""
    current = caller.get()
    return current is None or current.meta_confs.get(DISALLOW_TYPE_CHANGES, "true").lower() != "false"
