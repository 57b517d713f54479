"""Executes ALTER TABLE … [PARTITION (…)] SET SKEWED LOCATION, which changes directories of heavy values. No file moves.

Hive: AlterTableSetSkewedLocationAnalyzer. In addition, each value must be declared, and locations must not overlap,
because rows would be read twice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from metastore.client.structs import Partition, Skew, Table
from metastore.domain.expression import FALSE
from metastore.domain.skew_directories import is_flat, skew_directories
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchPartitionError
from spark_client.jvm.files import Files
from spark_client.jvm.parser import literal_value
from spark_client.jvm.sql_text import stored_literal
from spark_client.scan.predicate import partition_predicate
from spark_client.statements.grammar.skewed_tables import SetSkewedLocation
from spark_client.statements.run.clauses import resolve_table, typed_values
from spark_client.statements.run.skew_rules import DEFAULT_KEY, check_own_format, typed
from spark_client.table.paths import comparable, is_below
from spark_client.table.skew_layout import FLAT, LAYOUT
from spark_client.write.snapshot import with_existing_locations

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)


def set_locations(context: Context, statement: SetSkewedLocation) -> tuple[str, str]:
    """Sets the locations. Returns the database and name of the table.

    Raises InvalidStatementError, NoSuchPartitionError, and MetastoreRefusedError if another write came in between.
    """
    database, name = resolve_table(context, statement.table)
    table = context.metastore.get_table(database, name)
    check_own_format(table)
    if statement.partition is None:
        version = context.metastore.plan_scan(database, name, FALSE).table_version
        table = context.metastore.get_table(database, name)
        skew = _with_locations(context, table.full_name, table, table.location or "", statement)
        context.metastore.alter_table(replace(table, skew=skew), expected_version=version)
        return database, name
    values = typed_values(context, table, statement.table, statement.partition)
    owner_name = f"{table.full_name} partition {list(values)}"
    own = dict(zip((column.name for column in table.partition_columns), values, strict=True))
    scanned = context.metastore.plan_scan(database, name, partition_predicate(own), is_query=False).partitions
    stored = context.metastore.get_partition(database, name, values)
    if stored is None or not scanned:
        raise NoSuchPartitionError(f"{owner_name} does not exist: create it first")
    skew = _with_locations(context, owner_name, stored, stored.location, statement)
    changed = replace(stored, skew=skew)
    context.metastore.alter_partition(database, name, changed, expected_version=scanned[0].version)
    return database, name


def _with_locations(
    context: Context, owner_name: str, owner: Table | Partition, location: str, statement: SetSkewedLocation
) -> Skew:
    """Returns the skew of a table or partition (`owner`) with the new locations. `location` is the owner's."""
    skew = owner.skew
    if not skew.is_list_bucketed:
        raise InvalidStatementError(
            f"[Error 10196]: This operation is only valid on skewed table. {owner_name} has no skew directories"
        )
    if owner.parameters.get(LAYOUT) == FLAT and (isinstance(owner, Partition) or not owner.partition_columns):
        raise InvalidStatementError(
            f"{owner_name} has {LAYOUT}={FLAT}: the files of its skewed values are in {location} and have no separate "
            "locations"
        )
    uneven = next((value for value, _ in statement.locations if len(value) != len(skew.columns)), None)
    if uneven is not None:
        raise InvalidStatementError(
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different: "
            f"{len(skew.columns)} : {len(uneven)} in ({', '.join(uneven)}) "
            f"({owner_name}, skewed by {', '.join(skew.columns)})"
        )
    default = f"{location}/{skew_directories(skew.columns, ())[0]}"
    locations = dict(with_existing_locations(Files(context.spark), location, skew).locations)
    for literals, text in statement.locations:
        address = literal_value(context, text)
        if not _ABSOLUTE.fullmatch(address):
            raise InvalidStatementError(
                f"{address} is not absolute or has no scheme information. Please specify a complete absolute uri with "
                f"scheme information. ({owner_name}, skewed by {', '.join(skew.columns)})"
            )
        if is_flat(address):
            raise InvalidStatementError(f"{owner_name}: {address} cannot be a location, because it ends with =")
        if [literal_value(context, key) for key in literals] == [DEFAULT_KEY] * len(literals):
            _check_default(owner_name, address, default)
        else:
            locations[_declared(context, owner_name, owner, literals)] = address.rstrip("/")
    _check_apart(owner_name, {"all other values": default} | {", ".join(k): v for k, v in locations.items()})
    return replace(skew, locations=locations)


def _declared(context: Context, owner_name: str, owner: Table | Partition, literals: Sequence[str]) -> tuple[str, ...]:
    """Returns the declared value that equals the literals, as stored. A client may have stored 01 for 1."""
    skew = owner.skew
    (value,) = typed(context, owner_name, owner.columns, skew.columns, [literals])
    stored = [[stored_literal(text) for text in value] for value in skew.values]
    known = dict(zip(typed(context, owner_name, owner.columns, skew.columns, stored), skew.values, strict=True))
    if value not in known:
        raise InvalidStatementError(
            f"{', '.join(literals)} is not a skewed value of {owner_name}. Its skewed values of "
            f"({', '.join(skew.columns)}) are: " + "; ".join(map(", ".join, skew.values))
        )
    return known[value]


def _check_default(owner_name: str, location: str, default: str) -> None:
    if comparable(location) != comparable(default):
        raise InvalidStatementError(
            f"{owner_name}: values that are not listed are stored in {default}, which {DEFAULT_KEY} cannot change; "
            "use SET LOCATION"
        )


def _check_apart(owner_name: str, locations: Mapping[str, str]) -> None:
    """Raises InvalidStatementError if one location contains another.

    The default directory stands for the owner's location: one that contains the owner's contains the default.
    """
    paths = sorted((comparable(location), value) for value, location in locations.items())
    for (above, first), (below, second) in itertools.pairwise(paths):
        if is_below(below, above):
            raise InvalidStatementError(
                f"{owner_name}: the locations of {first} and {second} overlap: {above}, {below}"
            )
