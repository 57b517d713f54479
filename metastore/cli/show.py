"""`metastore databases`, `metastore tables` and `metastore table`: show the catalog of a running server."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from metastore.cli.client import connected
from metastore.cli.printing import Cell, is_json, json_key, print_properties, print_table
from metastore.client.care import policies_of
from metastore.domain.care import PROPERTIES

_NUMBER: Final = re.compile("[0-9]{1,19}")


def show_databases(uri: str) -> None:
    """Prints the name, location and description of every database."""
    with connected(uri) as client:
        databases = [client.get_database(name) for name in client.get_all_databases()]
    print_table(
        "Databases",
        ("database", "location", "description"),
        [(database.name, database.locationUri, database.description) for database in databases],
    )


def show_tables(uri: str, database: str) -> None:
    """Prints the name, type, partition keys, skewed columns and location of every table of a database."""
    with connected(uri) as client:
        client.get_database(database)
        tables = client.get_table_objects_by_name(database, client.get_all_tables(database))
    rows = [
        (table.tableName, table.tableType, _keys(table), _skewed_columns(table), table.sd.location) for table in tables
    ]
    print_table(f"Tables of {database}", ("table", "type", "partitioned by", "skewed by", "location"), rows)


def show_table(uri: str, database: str, name: str, limit: int) -> None:
    """Prints the properties, columns, policies, skewed values with directories, and at most `limit` partitions."""
    with connected(uri) as client:
        table = client.get_table(database, name)
        total = client.get_num_partitions_by_filter(database, name, "") if table.partitionKeys else 0
        partitions = client.get_partitions(database, name, min(limit, 32767)) if total else []
        care = [] if table.tableType == "VIRTUAL_VIEW" else policies_of(client, database, table)
    full_name = f"{table.dbName}.{table.tableName}"
    properties, parameters = _properties(table), sorted((table.parameters or {}).items())
    if is_json():  # a parameter may have the name of a property
        print_properties(full_name, [(json_key(name), value) for name, value in properties], name="properties")
        print_properties(full_name, parameters, name="parameters")
    else:
        print_properties(full_name, [*properties, *parameters])
    keys = {key.name for key in table.partitionKeys}
    columns = [
        (col.name, col.type, "partition key" if col.name in keys else "", col.comment)
        for col in [*table.sd.cols, *table.partitionKeys]
    ]
    print_table(f"Columns of {full_name}", ("column", "type", "kind", "comment"), columns, name="columns")
    if care:
        rows = [
            (
                one.name,
                one.value,
                one.origin,
                f"No effect: {one.problem}" if one.problem else PROPERTIES[one.name].meaning,
            )
            for one in care
        ]
        print_table(f"Policies of {full_name}", ("policy", "value", "from", "meaning"), rows, name="policies")
    owners = [(None, table.sd), *((_name(table, partition), partition.sd) for partition in partitions)]
    skew = [row for owner, descriptor in owners for row in _skew_rows(owner, descriptor)]
    if skew:
        print_table(f"Skew of {full_name}", ("partition", "skewed value", "location"), skew, name="skew")
    if total:
        shown = f"{len(partitions)} of {total}"
        rows = [
            (_name(table, partition), partition.sd.location, *_statistics(partition.parameters))
            for partition in partitions
        ]
        header = ("partition", "location", "files", "bytes", "rows")
        print_table(f"Partitions of {full_name}: {shown}", header, rows, name="partitions")


def _properties(table: Any) -> list[tuple[str, str | None]]:
    properties = [
        ("type", table.tableType),
        ("owner", table.owner),
        ("location", table.sd.location),
        ("input format", table.sd.inputFormat),
        ("serde", table.sd.serdeInfo.serializationLib if table.sd.serdeInfo else None),
        ("partitioned by", _keys(table)),
        ("skewed by", _skewed_columns(table)),
        ("stored as directories", "yes" if table.sd.storedAsSubDirectories else None),
        ("buckets", f"{table.sd.numBuckets} by {', '.join(table.sd.bucketCols)}" if table.sd.bucketCols else None),
    ]
    return [each for each in properties if each[1]]


def _keys(table: Any) -> str:
    return ", ".join(f"{key.name} {key.type}" for key in table.partitionKeys or [])


def _skewed_columns(table: Any) -> str:
    return ", ".join((table.sd.skewedInfo.skewedColNames or []) if table.sd.skewedInfo else [])


def _skew_rows(owner: str | None, descriptor: Any) -> Iterable[tuple[str | None, str, str | None]]:
    """Yields owner, skewed value and location.

    For a table (`owner` None), yields all skewed values. For a partition, yields only those that have a directory.
    """
    skew = descriptor.skewedInfo
    if skew is None:
        return
    locations = {tuple(value): location for value, location in (skew.skewedColValueLocationMaps or {}).items()}
    for value in skew.skewedColValues or []:
        location = locations.get(tuple(value))
        if owner is None or location is not None:
            yield owner or "(table)", ", ".join(value), location


def _statistics(parameters: dict[str, str] | None) -> tuple[Cell, ...]:
    """Returns the numbers of files, bytes and rows; a text that is no number, which clients may store, as it is."""
    values = [(parameters or {}).get(name) for name in ("numFiles", "totalSize", "numRows")]
    return tuple(int(value) if value and _NUMBER.fullmatch(value) else value for value in values)


def _name(table: Any, partition: Any) -> str:
    return "/".join(f"{key.name}={value}" for key, value in zip(table.partitionKeys, partition.values, strict=True))
