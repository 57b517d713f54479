"""The data of the page of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from metastore.console.overview import ExaminedTable, Overview
from metastore.domain.care import PROPERTIES, resolve
from metastore.domain.names import PROTECTED, TableName
from metastore.domain.privileges import PrincipalKind
from metastore.domain.table_ddl import statements
from metastore.domain.table_definitions import definition_of
from metastore.services.rules.statistics_values import kind_of
from metastore.services.rules.tables import VIEW
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Table

_POLICIES: Final = {
    PROTECTED: "drops and truncations are rejected",
    "transactional": "Hive ACID",
    "auto.purge": "dropped data is not kept",
    "external.table.purge": "a drop deletes the files",
}
_SIZES: Final = ("partitions", "rows", "bytes", "files", "small_files")


class TableOverviewService(Overview):
    """Reads a table with its sizes, privileges and last change."""

    def read(self, name: TableName) -> dict[str, Any]:
        """Returns a table, its sizes, its newest partition, its last change and its privileges.

        `dependents`: the number of visible ones; None with a policy engine, which SQL cannot ask.
        Raises NotFoundError if it does not exist or is hidden.
        """
        examined = self._examine(name)
        table = examined.table
        with self._store.read() as work:
            overview = work.table_pages.overview(examined.id, name, table.createTime or 0, examined.scope)
        analyzed = overview["analyzed"] if examined.may_read else []
        return {
            **_definition(name, table),
            "columns": _columns(table, {column["column_name"]: column for column in analyzed}),
            "keys": [_column(key) for key in table.partitionKeys or ()],
            "size": _size(table, overview),
            "newest": overview["newest"],
            "changed": overview["changed"],
            "privileges": _privileges(examined, overview["privileges"] or []),
            "rights": sorted(examined.rights),
            "dependents": overview["dependents"] if examined.sees_dependents else None,
            "bases": overview["bases"],
            "care": [] if examined.table.tableType == VIEW else _care(table, overview["inherited"] or ({}, {})),
        }


def _definition(name: TableName, table: Table) -> dict[str, Any]:
    declared = definition_of(table)
    is_view = declared.type == VIEW  # engines store any format and serde with it
    parameters = table.parameters or {}
    return {
        "catalog": name.catalog,
        "database": name.database,
        "table": name.name,
        "type": declared.type,
        "is_view": is_view,
        "owner": table.owner,
        "created": table.createTime,
        "comment": declared.comment,
        "location": "" if is_view else declared.location,
        "format": "" if is_view else declared.format or declared.input_format,
        "serde": "" if is_view else declared.serde,
        "skewed_by": list(declared.skewed_columns),
        "skewed_values": len(declared.skewed_values),
        "as_directories": declared.as_directories,
        "buckets": max(0, declared.buckets),
        "bucketed_by": list(declared.bucket_columns),
        "parameters": dict(sorted(parameters.items())),
        "policies": {key: [text, parameters[key]] for key, text in _POLICIES.items() if key in parameters},
        "ddl": statements(declared),
    }


def _care(table: Table, inherited: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Returns the policies of table care that apply. `inherited`: parameters of the database and the catalog."""
    settings = resolve([key.name for key in table.partitionKeys or ()], table.parameters, *inherited)
    return [{**one._asdict(), "meaning": PROPERTIES[one.name].meaning} for one in settings]


def _columns(table: Table, analyzed: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**_column(column), **_statistics(analyzed.get(column.name))} for column in table.sd.cols or ()]


def _statistics(analyzed: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the time of analysis of a column, and its numbers of distinct values and nulls, if known."""
    if analyzed is None:
        return {"analyzed": None, "distinct": None, "nulls": None}
    statistics = analyzed["statistics"]
    data = statistics and getattr(statistics.statsData, kind_of(statistics))
    figures = {"distinct": getattr(data, "numDVs", None), "nulls": getattr(data, "numNulls", None)}
    return {"analyzed": analyzed["analyzed_at"], **figures}


def _column(column: FieldSchema) -> dict[str, Any]:
    return {"name": column.name, "type": column.type, "comment": column.comment or ""}


def _size(table: Table, overview: dict[str, Any]) -> dict[str, Any]:
    """Returns the sizes of a partitioned table from its partitions if there are few, otherwise the last measurement."""
    counted, measured = overview["counted"], overview["measured"]
    if table.partitionKeys and overview["few"]:
        return {**{name: counted[name] for name in _SIZES}, "changed": counted["changed"], "measured_at": None}
    if table.partitionKeys:
        figures = measured or dict.fromkeys(_SIZES)
        return {**{name: figures[name] for name in _SIZES}, "changed": None, "measured_at": figures.get("measured_at")}
    figures = {name: _number(table, key) for name, key in (("rows", "numRows"), ("bytes", "totalSize"))}
    return {
        "partitions": None,
        **figures,
        "files": _number(table, "numFiles"),
        "small_files": None,
        "changed": _number(table, "transient_lastDdlTime"),
        "measured_at": None,
    }


def _number(table: Table, key: str) -> int | None:
    text = (table.parameters or {}).get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _privileges(examined: ExaminedTable, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the privileges on the table. Only its owner gets other principals' privileges."""
    grants = examined.grants
    kept = rows
    if not examined.is_owned:
        kept = [row for row in rows if grants.is_principal(row["principal_type"], row["principal"])]
    names = {kind.value: kind.name.lower() for kind in PrincipalKind}
    return [{**row, "principal_type": names.get(row["principal_type"], "")} for row in kept]
