"""The definition and the layout of a table, from Hive's struct Table, which this module only reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metastore.domain.layout_advice import TableLayout
from metastore.domain.names import fold_column
from metastore.domain.table_ddl import Column, TableDefinition


def definition_of(table: Any) -> TableDefinition:
    """Returns the definition of a table, as CREATE TABLE declares it. `table`: Hive's struct Table."""
    sd, parameters = table.sd, table.parameters or {}
    skew = sd.skewedInfo
    return TableDefinition(
        database=table.dbName,
        name=table.tableName,
        type=table.tableType or "",
        columns=[Column(column.name, column.type, column.comment or "") for column in sd.cols or ()],
        keys=[Column(key.name, key.type, key.comment or "") for key in table.partitionKeys or ()],
        location=sd.location or "",
        input_format=sd.inputFormat or "",
        output_format=sd.outputFormat or "",
        serde=(sd.serdeInfo.serializationLib or "") if sd.serdeInfo else "",
        serde_parameters=(sd.serdeInfo.parameters or {}) if sd.serdeInfo else {},
        parameters=parameters,
        comment=parameters.get("comment", ""),
        bucket_columns=sd.bucketCols or (),
        buckets=sd.numBuckets or 0,
        sort_columns=[(order.col, bool(order.order)) for order in sd.sortCols or ()],
        skewed_columns=(skew.skewedColNames or ()) if skew else (),
        skewed_values=(skew.skewedColValues or ()) if skew else (),
        as_directories=bool(sd.storedAsSubDirectories),
        view_text=table.viewExpandedText or table.viewOriginalText or "" if "VIEW" in (table.tableType or "") else "",
    )


def layout_of(table: Any) -> TableLayout:
    """Returns what the layout of a table depends on. `table`: Hive's struct Table."""
    declared = definition_of(table)
    directories = declared.as_directories
    return TableLayout(
        name=f"{table.dbName}.{table.tableName}",
        keys=_folded(key.name for key in declared.keys),
        skewed=_folded(declared.skewed_columns) if directories else (),
        values=tuple(map(tuple, declared.skewed_values)) if directories else (),
        bucketed=_folded(declared.bucket_columns) if declared.buckets > 0 else (),
        buckets=max(0, declared.buckets),
    )


def _folded(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(fold_column, names))
