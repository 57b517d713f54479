"""Functions to rows."""

from __future__ import annotations

from typing import Any

from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import Function


def function_row(function: Function) -> dict[str, Any]:
    """Returns the columns of `functions` that follow from the struct."""
    return {"name": function.functionName, "encoded": all_fields(function)}
