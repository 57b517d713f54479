"""Completes and checks tables, and their locations, before they are stored (Hive's HMSHandler).

Managed tables must be within the roots. External ones may be anywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from metastore.domain.care import check_properties
from metastore.domain.column_statistics import NOT_UPDATED, restated
from metastore.domain.dependencies import DEPENDENT
from metastore.domain.names import DatabaseName, TableName, check_object_name, fold, fold_column, folded_column_names
from metastore.domain.skew import MAX_VALUES, Skew, check_count, check_skew
from metastore.domain.skew_values import distinct_values, typed_locations
from metastore.domain.type_strings import check_type
from metastore.errors import InvalidInputError, InvalidObjectError
from metastore.services.rules.materialized_views import complete_metadata
from metastore.storage.mapping.descriptors import complete
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, PrincipalType, StorageDescriptor, Table

MANAGED, EXTERNAL, VIEW, MATERIALIZED_VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW"
DDL_TIME = "transient_lastDdlTime"
DATES = (DDL_TIME, "last_modified_by", "last_modified_time")
"""Parameters that clients change with every alteration."""
BASIC = ("numFiles", "totalSize")
"""Hive's basic statistics, which the server counts."""


def is_view(table: Table) -> bool:
    """Returns whether a table is a view, and so has no directory."""
    return bool(table.tableType == VIEW)


def is_managed(table: Table) -> bool:
    """Returns whether the server creates and deletes the table's directories. Owners do that for external tables."""
    return not is_view(table) and table_type(table) != EXTERNAL


def is_dependent(table: Table) -> bool:
    """Returns whether a table is a dependent table: a view over the partitions of other tables."""
    return is_view(table) and table.parameters.get(DEPENDENT) == "true"


def check_unmarked(table: Table) -> None:
    """Raises InvalidObjectError if an ordinary table has the parameter of dependent tables."""
    if is_dependent(table):
        raise InvalidObjectError(
            f"{TableName.of(table)} has the parameter {DEPENDENT}, which only CREATE DEPENDENT TABLE may set: remove it"
        )


def prepare(table: Table, database: DatabaseName, now: int) -> Table:
    """Completes a new table. `now` in seconds since 1970. Raises InvalidObjectError, InvalidInputError."""
    check_given(table)
    table.createTime = now
    table = normalise(table, database)
    values = table.sd.skewedInfo.skewedColValues
    if values or MAX_VALUES in table.parameters:
        check_count(len(values), table.parameters, f"{database}.{table.tableName}")
    check_policies(table)
    table.parameters.setdefault(DDL_TIME, str(now))
    return table


def check_policies(table: Table, old: Table | None = None) -> None:
    """Raises InvalidObjectError for an invalid policy of table care that `old` does not have."""
    keys = [key.name for key in table.partitionKeys]
    check_properties(str(TableName.of(table)), table.parameters, old.parameters if old else None, keys)


def check_given(table: Table, *, located: bool = False) -> None:
    """Raises InvalidInputError, as Hive does, if a required field is missing. `located`: the location is required."""
    sd = table.sd or StorageDescriptor()
    required = {
        "sd": table.sd,
        "sd.cols": sd.cols,
        "sd.serdeInfo": sd.serdeInfo,
        "dbName": table.dbName,
        "tableName": table.tableName,
        "sd.location": sd.location if located else "",
    }
    if missing := [name for name, value in required.items() if value is None]:
        raise InvalidInputError(f"Table {table.tableName} was sent without {', '.join(missing)}")


def normalise(table: Table, database: DatabaseName) -> Table:
    """Converts names to lower case, sets defaults, and checks. Raises InvalidObjectError."""
    table.catName, table.dbName, table.tableName = database.catalog, database.name, fold(table.tableName)
    table.parameters = table.parameters or {}
    table.tableType = table_type(table)
    table.ownerType = table.ownerType or PrincipalType.USER
    table.id = None  # the server assigns it
    table.lastAccessTime, table.retention = table.lastAccessTime or 0, table.retention or 0
    table.rewriteEnabled = bool(table.rewriteEnabled)
    table.partitionKeys = table.partitionKeys or []
    if table.creationMetadata is not None:
        table.creationMetadata = complete_metadata(table.creationMetadata, table)
    table.sd = complete(table.sd)
    check_object_name("table", table.tableName)
    check_columns(table.sd.cols)
    check_columns(table.partitionKeys)  # as in Hive, a key may have the name of a column
    if table.tableType in (MANAGED, EXTERNAL, MATERIALIZED_VIEW):  # not views, nor the index tables of Hive 2
        check_descriptor(table.sd, [key.name for key in table.partitionKeys], f"{database}.{table.tableName}")
        info = table.sd.skewedInfo
        # Each value is written once, in its type's canonical form. Without partitions, directories may be named by the
        # texts that were sent.
        if table.partitionKeys and (info.skewedColNames or info.skewedColValueLocationMaps):
            types = {column.name: column.type for column in table.sd.cols}
            kinds = [types[name] for name in info.skewedColNames]
            info.skewedColValues = distinct_values(kinds, info.skewedColValues)
            info.skewedColValueLocationMaps = typed_locations(kinds, info.skewedColValueLocationMaps)
    return table


def table_type(table: Table) -> str:
    """Returns the type. As in Hive's ObjectStore, the parameter EXTERNAL decides whether a table is external."""
    if table.tableType not in (None, "", MANAGED, EXTERNAL):
        return str(table.tableType)
    return EXTERNAL if is_true(table.parameters, "EXTERNAL") else MANAGED


def check_columns(columns: Sequence[FieldSchema]) -> None:
    """Converts names to lower case.

    Raises InvalidObjectError for a bad or duplicate name or a bad type, InvalidInputError for a missing type.
    """
    check_names(columns)
    for column in columns:
        if column.type is None:
            raise InvalidInputError(f"Column {column.name} has no type")
        check_type(column.type)


def check_names(columns: Sequence[FieldSchema]) -> None:
    """Converts names to lower case. Raises InvalidObjectError for a bad or duplicate name."""
    names = folded_column_names([column.name for column in columns])
    for column, name in zip(columns, names, strict=True):
        column.name = name


def check_descriptor(sd: StorageDescriptor, keys: list[str], owner: str) -> None:
    """Converts the column names of skew and buckets to lower case, and checks them. Raises InvalidObjectError.

    The names must match the columns: Hive's client cannot alter a table CLUSTERED BY (B) that has a column b.
    """
    info = sd.skewedInfo
    info.skewedColNames = [fold_column(name) for name in info.skewedColNames]
    sd.bucketCols = [fold_column(name) for name in sd.bucketCols or ()]
    for order in sd.sortCols or ():
        order.col = fold_column(order.col)
    if not (info.skewedColNames or info.skewedColValues):
        return
    skew = Skew(tuple(info.skewedColNames), tuple(tuple(value) for value in info.skewedColValues))
    check_skew([column.name for column in sd.cols], keys, skew, table=owner)
    if sd.storedAsSubDirectories and skew.columns and sd.bucketCols:
        raise InvalidObjectError(
            f"{owner} (skewed by {', '.join(skew.columns)}) is CLUSTERED BY {', '.join(sd.bucketCols)}, which "
            "STORED AS DIRECTORIES excludes"
        )


def admit_table(roots: Roots, table: Table, old: Table | None = None) -> None:
    """Normalises and checks the locations of a new table, or one changed from `old`. Unchanged ones are not checked.

    Raises InvalidInputError, InvalidObjectError for the root of a file system.
    """
    if not is_view(table) and table.sd.location:
        if paths.is_root(table.sd.location):
            raise InvalidObjectError(f"{table.tableName} location must not be root path")
        kept = locations_of(old.sd) if old and is_managed(table) <= is_managed(old) else []
        admit_descriptors(roots, table, [table.sd], kept)
        table.sd.location = paths.normalise(table.sd.location)


def admit_descriptors(roots: Roots, table: Table, new: Iterable[StorageDescriptor], kept: Collection[str] = ()) -> None:
    """Checks the locations of a table or its partitions, except `kept` ones. Raises InvalidInputError."""
    inside, managed = f"{table.sd.location}/", is_managed(table)
    for sd in new:
        for text in locations_of(sd):
            # The table's own location is permitted, and so is everything below it.
            is_apart = "/.." in text or paths.TRASH in text or not text.startswith(inside)
            if is_apart and text not in kept:
                # Locations of skewed values may be outside of the roots: the server never touches files there.
                roots.admit(paths.require_not_root(text), managed=managed and text == sd.location)


def locations_of(sd: StorageDescriptor) -> list[str]:
    """Returns the location and the skewed locations, except texts that are no absolute path."""
    own, skewed = [sd.location] if sd.location else [], sd.skewedInfo.skewedColValueLocationMaps
    return [*own, *paths.absolute(skewed.values())] if skewed else own


def has_statistics(parameters: dict[str, str]) -> bool:
    """Returns whether the client has sent Hive's basic statistics."""
    return "numFiles" in parameters and "totalSize" in parameters


def count(owners: Iterable[Table | Partition], warehouse: Warehouse) -> dict[str, DirectoryStatistics]:
    """Counts files in the existing directories of tables and partitions, by location. Reads file systems."""
    return warehouse.statistics(list(dict.fromkeys(owner.sd.location for owner in owners if owner.sd.location)))


def takes_counts(table: Table) -> bool:
    """Returns whether the server counts the files of a table, and removes the parameter by which a client prevents it
    (MetaStoreUtils.updateTableStatsFast)."""
    if table.partitionKeys or is_view(table):
        return False
    return bool(table.parameters.pop(NOT_UPDATED, "").lower() != "true")


def fill_statistics(
    owners: Iterable[Table | Partition],
    counted: Mapping[str, DirectoryStatistics | None],
    context: Mapping[str, str],
) -> None:
    """Sets Hive's basic statistics: files and their bytes if the directory exists, and whether statistics are accurate.

    `context`: the properties of the client's EnvironmentContext.
    """
    for owner in owners:
        if (statistics := counted.get(owner.sd.location)) is not None:
            owner.parameters |= {"numFiles": str(statistics.files), "totalSize": str(statistics.bytes)}
        owner.parameters = restated(owner.parameters, context)


def is_true(parameters: dict[str, str], key: str) -> bool:
    """Reads a boolean parameter of Hive: the word true, in any case."""
    return parameters.get(key, "").lower() == "true"


def kept_kind(new: int | None, old: int | None) -> int | None:
    """Returns the kind of an owner whose name stays. Hive 2 does not know the kind: its tables have the default."""
    return old if new in (None, PrincipalType.USER) else new
