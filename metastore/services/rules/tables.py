"""What a table must be before it is stored: names folded, gaps filled, types and skew checked (Hive's HMSHandler)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from metastore.domain.names import DatabaseName, check_column_name, check_object_name, fold
from metastore.domain.skew import Skew, check_skew
from metastore.domain.skew_limit import check_count
from metastore.domain.skew_values import distinct_values, typed_locations
from metastore.domain.type_strings import check_type
from metastore.errors import InvalidInputError, InvalidObjectError
from metastore.services.rules.materialized_views import complete_metadata
from metastore.storage.mapping.descriptors import complete
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, PrincipalType, StorageDescriptor, Table

MANAGED, EXTERNAL, VIEW, MATERIALIZED_VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW"
DDL_TIME = "transient_lastDdlTime"
BASIC = ("numFiles", "totalSize")


def is_view(table: Table) -> bool:
    """Tells whether a table is a view: views have no directory."""
    return bool(table.tableType == VIEW)


def prepare(table: Table, database: DatabaseName, now: int) -> Table:
    """Completes a new table. `now` in seconds since 1970. Raises InvalidObjectError, InvalidInputError."""
    check_given(table)
    table.createTime = now
    table = normalise(table, database)
    check_count(len(table.sd.skewedInfo.skewedColValues), table.parameters, f"{database}.{table.tableName}")
    table.parameters.setdefault(DDL_TIME, str(now))
    return table


def check_given(table: Table, *, located: bool = False) -> None:
    """Refuses (InvalidInputError), as Hive, a table without what says how its rows lie, a name or, if it must be
    `located`, its place.
    """
    sd = table.sd or StorageDescriptor()
    given = {
        "sd": table.sd,
        "sd.cols": sd.cols,
        "sd.serdeInfo": sd.serdeInfo,
        "dbName": table.dbName,
        "tableName": table.tableName,
        "sd.location": sd.location if located else "",
    }
    if missing := [name for name, value in given.items() if value is None]:
        raise InvalidInputError(f"Table {table.tableName} was sent without {', '.join(missing)}")


def normalise(table: Table, database: DatabaseName) -> Table:
    """Folds names, fills gaps and checks. Raises InvalidObjectError."""
    table.catName, table.dbName, table.tableName = database.catalog, database.name, fold(table.tableName)
    check_object_name("table", table.tableName)
    table.parameters = table.parameters or {}
    table.tableType = table_type(table)
    table.ownerType = table.ownerType or PrincipalType.USER
    table.id = None  # it is given, not taken
    table.lastAccessTime, table.retention = table.lastAccessTime or 0, table.retention or 0
    table.rewriteEnabled = bool(table.rewriteEnabled)
    table.sd = complete(table.sd)
    table.partitionKeys = table.partitionKeys or []
    table.creationMetadata = complete_metadata(table.creationMetadata, table)
    check_columns(table.sd.cols)
    check_columns(table.partitionKeys)  # Hive takes one that is a column, too
    if table.tableType in (MANAGED, EXTERNAL, MATERIALIZED_VIEW):  # nothing is written to others
        check_descriptor(table.sd, [key.name for key in table.partitionKeys], f"{database}.{table.tableName}")
        if table.partitionKeys:  # of a table without partitions, files may lie as the texts that were sent say
            _type_skew(table.sd)
    return table


def table_type(table: Table) -> str:
    """Returns the type: of tables, the parameter EXTERNAL decides between managed and external, not what was sent
    (Hive's ObjectStore).
    """
    if table.tableType not in (None, "", MANAGED, EXTERNAL):
        return str(table.tableType)
    return EXTERNAL if is_true(table.parameters, "EXTERNAL") else MANAGED


def check_columns(columns: Sequence[FieldSchema]) -> None:
    """Folds the names. Raises InvalidObjectError for a bad name or type, or a name that stands twice; InvalidInputError
    where a type is null.
    """
    check_names(columns)
    for column in columns:
        if column.type is None:
            raise InvalidInputError(f"Column {column.name} has no type")
        check_type(column.type)


def check_names(columns: Iterable[FieldSchema]) -> None:
    """Folds the names. Raises InvalidObjectError for a bad one, or one that stands twice."""
    seen: set[str] = set()
    for column in columns:
        column.name = fold(column.name)
        check_column_name(column.name)
        if column.name in seen:
            raise InvalidObjectError(f"Duplicate column name {column.name} in the table definition.")
        seen.add(column.name)


def check_descriptor(sd: StorageDescriptor, keys: list[str], owner: str) -> None:
    """The skew and the buckets of a table or partition, whose columns' names are folded as its columns' are: Hive's own
    client refuses to alter a table CLUSTERED BY (B) that has a column b.

    Raises InvalidObjectError.
    """
    info = sd.skewedInfo
    info.skewedColNames = [fold(name) for name in info.skewedColNames]
    sd.bucketCols = [fold(name) for name in sd.bucketCols or ()]
    for order in sd.sortCols or ():
        order.col = fold(order.col)
    skew = Skew(tuple(info.skewedColNames), tuple(tuple(value) for value in info.skewedColValues))
    check_skew([column.name for column in sd.cols], keys, skew, table=owner)
    if sd.storedAsSubDirectories and skew.columns and sd.bucketCols:
        raise InvalidObjectError(
            f"{owner} (skewed by {', '.join(skew.columns)}) is CLUSTERED BY {', '.join(sd.bucketCols)}, which "
            "STORED AS DIRECTORIES excludes"
        )


def _type_skew(sd: StorageDescriptor) -> None:
    """Writes each skewed value once, as its column's type has it."""
    info, types = sd.skewedInfo, {column.name: column.type for column in sd.cols}
    kinds = [types[name] for name in info.skewedColNames]
    info.skewedColValues = distinct_values(kinds, info.skewedColValues)
    info.skewedColValueLocationMaps = typed_locations(kinds, info.skewedColValueLocationMaps)


def has_statistics(parameters: dict[str, str]) -> bool:
    """Tells whether the client brought Hive's basic statistics."""
    return "numFiles" in parameters and "totalSize" in parameters


def count(owners: Iterable[Table | Partition], warehouse: Warehouse) -> dict[str, DirectoryStatistics]:
    """Counts files in the directories of tables and partitions that are there, by location. File systems are asked."""
    return warehouse.statistics(list(dict.fromkeys(owner.sd.location for owner in owners if owner.sd.location)))


def fill_statistics(owners: Iterable[Table | Partition], counted: Mapping[str, DirectoryStatistics | None]) -> None:
    """Gives tables and partitions whose directories are there Hive's basic statistics: files, and bytes in them."""
    for owner in owners:
        if (statistics := counted.get(owner.sd.location)) is not None:
            owner.parameters |= {"numFiles": str(statistics.files), "totalSize": str(statistics.bytes)}


def is_true(parameters: dict[str, str], key: str) -> bool:
    """Reads one of Hive's boolean parameters: the word true in any case."""
    return parameters.get(key, "").lower() == "true"
