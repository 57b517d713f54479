"""Column statistics to rows."""

from __future__ import annotations

from typing import Any

from metastore.storage.mapping.layout import all_fields
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj


def statistics_row(statistics: ColumnStatisticsObj) -> dict[str, Any]:
    """Returns the columns of `column_statistics` that follow from the struct."""
    return {"column_name": statistics.colName, "encoded": all_fields(statistics)}
