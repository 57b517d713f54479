"""ALTER TABLE … [PARTITION (…)] SET SKEWED LOCATION: where the rows of heavy values lie. No file is moved.

Hive: AlterTableSetSkewedLocationAnalyzer. Beyond it: a value must be a declared one, and no two places may overlap,
for rows would be read twice.
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
from spark_client.table.paths import is_below
from spark_client.table.skew_layout import FLAT, LAYOUT
from spark_client.write.snapshot import with_existing_locations

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)


def set_locations(context: Context, statement: SetSkewedLocation) -> tuple[str, str]:
    """Returns the table (database, name) that was changed.

    Raises InvalidStatementError, NoSuchPartitionError, and MetastoreRefusedError where a write has come in between.
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
    what = f"{table.full_name} partition {list(values)}"
    own = dict(zip((column.name for column in table.partition_columns), values, strict=True))
    scanned = context.metastore.plan_scan(database, name, partition_predicate(own)).partitions
    found = context.metastore.get_partition(database, name, values)
    if found is None or not scanned:
        raise NoSuchPartitionError(f"{what} is not there")
    skew = _with_locations(context, what, found, found.location, statement)
    changed = replace(found, skew=skew)
    context.metastore.alter_partition(database, name, changed, expected_version=scanned[0].version)
    return database, name


def _with_locations(
    context: Context, what: str, owner: Table | Partition, location: str, statement: SetSkewedLocation
) -> Skew:
    """Returns the owner's skew with the new places. `what` names the owner, `location` is its own place."""
    skew = owner.skew
    if not skew.is_list_bucketed:
        raise InvalidStatementError(
            f"[Error 10196]: This operation is only valid on skewed table. {what} has no skew directories"
        )
    if owner.parameters.get(LAYOUT) == FLAT and (isinstance(owner, Partition) or not owner.partition_columns):
        raise InvalidStatementError(
            f"{what} has {LAYOUT}={FLAT}: the files of its skewed values lie in {location} and have no locations of "
            "their own"
        )
    uneven = next((value for value, _ in statement.locations if len(value) != len(skew.columns)), None)
    if uneven is not None:
        raise InvalidStatementError(
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different: "
            f"{len(skew.columns)} : {len(uneven)} in ({', '.join(uneven)}) "
            f"({what}, skewed by {', '.join(skew.columns)})"
        )
    default = f"{location}/{skew_directories(skew.columns, ())[0]}"
    places = dict(with_existing_locations(Files(context.spark), location, skew).locations)
    for literals, place in statement.locations:
        address = literal_value(context, place)
        if not _ABSOLUTE.fullmatch(address):
            raise InvalidStatementError(
                f"{address} is not absolute or has no scheme information. Please specify a complete absolute uri with "
                f"scheme information. ({what}, skewed by {', '.join(skew.columns)})"
            )
        if is_flat(address):
            raise InvalidStatementError(f"{what}: {address} cannot be a location, as it ends with =")
        if [literal_value(context, text) for text in literals] == [DEFAULT_KEY] * len(literals):
            _check_default(what, address, default)
        else:
            places[_declared(context, what, owner, literals)] = address.rstrip("/")
    _check_apart(what, {"all other values": default} | {", ".join(k): v for k, v in places.items()})
    return replace(skew, locations=places)


def _declared(context: Context, what: str, owner: Table | Partition, literals: Sequence[str]) -> tuple[str, ...]:
    """Returns the declared value that these literals are, as it is stored. A client may have stored 01 for 1."""
    skew = owner.skew
    (wanted,) = typed(context, what, owner.columns, skew.columns, [literals])
    stored = [[stored_literal(text) for text in value] for value in skew.values]
    known = dict(zip(typed(context, what, owner.columns, skew.columns, stored), skew.values, strict=True))
    if wanted not in known:
        raise InvalidStatementError(
            f"{', '.join(literals)} is not among the values that {what} is SKEWED BY ({', '.join(skew.columns)}): "
            + "; ".join(", ".join(value) for value in skew.values)
        )
    return known[wanted]


def _check_default(what: str, place: str, default: str) -> None:
    if _path(place) != _path(default):
        raise InvalidStatementError(
            f"{what}: rows of all values that are not listed lie in {default}, which follows the location; "
            f"SET LOCATION moves it, {DEFAULT_KEY} cannot"
        )


def _check_apart(what: str, places: Mapping[str, str]) -> None:
    """No place may be, hold or lie in another; whatever holds the owner's own place holds that of all other values."""
    paths = sorted((_path(place), value) for value, place in places.items())
    for (above, first), (below, second) in itertools.pairwise(paths):
        if is_below(below, above):
            raise InvalidStatementError(f"{what}: the locations of {first} and {second} overlap: {above}, {below}")


def _path(place: str) -> str:
    """Returns that of a place, to be compared: file:/a, file:///a and /a are one."""
    scheme, _, path = place.rpartition(":") if place.startswith("file:") else ("", "", place)
    return f"/{path.strip('/')}/" if scheme or place.startswith("/") else f"{place.rstrip('/')}/"
