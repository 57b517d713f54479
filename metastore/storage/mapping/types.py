"""Named types to rows."""

from __future__ import annotations

from typing import Any

from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import Type


def type_row(new: Type) -> dict[str, Any]:
    """Returns the columns of `types`."""
    return {"name": new.name, "encoded": all_fields(new)}
