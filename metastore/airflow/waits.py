"""What a sensor waits for: read from the catalog, and judged by events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Self

from metastore.client import MetastoreClient
from metastore.client.errors import NoSuchObjectError
from metastore.client.waiting import wait_for
from metastore.domain.dependencies import FRESH
from metastore.domain.keys import may_equal
from metastore.domain.names import fold, fold_column
from metastore.domain.partition_names import parse_name
from metastore.errors import InvalidInputError

TableKey = tuple[str, str]
_DROPS: Final = ("DROP_TABLE", "DROP_PARTITION")


@dataclass(frozen=True)
class Wait:
    """Partitions of a table. Names are in lower case.

    Attributes:
        database: name of the database.
        table: name of the table.
        partitions: all of these must exist: `ds=2026-01-05`, or ranges `ds=2026-01-01..2026-01-31/hour=00..23`.
        filter: one that matches this filter must exist: `ds >= '2026-01-05'`. Only without `partitions`.
        dependencies: so must all partitions that they depend on, directly or not.
        fresh: none of those was changed, added or dropped since.
    """

    database: str
    table: str
    partitions: tuple[str, ...] = ()
    filter: str | None = None
    dependencies: bool = False
    fresh: bool = False

    @classmethod
    def of(cls, name: str, partitions: str | Sequence[str] = (), database: str = "default", **options: Any) -> Self:
        """`name`: DATABASE.TABLE, or a table of `database`. Raises InvalidInputError."""
        first, dot, second = name.partition(".")
        table = second if dot else first
        if not first or not table or "." in table:
            raise InvalidInputError(f"{name!r} is not the name of a table. Write DATABASE.TABLE")
        chosen = (partitions,) if isinstance(partitions, str) else tuple(partitions)
        if not all(isinstance(each, str) and each for each in chosen) or not (chosen or options.get("filter")):
            raise InvalidInputError(f"No partition of {name} is named. Write ds=2026-01-05")
        return cls(fold(first if dot else database), fold(table), chosen, **options)

    @classmethod
    def named(cls, name: str) -> Self:
        """Returns the wait for `database.table/ds=2026-01-05`. Raises InvalidInputError."""
        table, slash, partition = name.partition("/")
        if not slash:
            raise InvalidInputError(f"{name!r} is not the name of a partition. Write DATABASE.TABLE/ds=2026-01-05")
        return cls.of(table, partition)

    @classmethod
    def from_dict(cls, texts: Mapping[str, Any]) -> Self:
        """Reverses `as_dict`."""
        return cls(**{**texts, "partitions": tuple(texts["partitions"])})

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON has them."""
        return {**asdict(self), "partitions": list(self.partitions)}

    @property
    def key(self) -> TableKey:
        """The table."""
        return self.database, self.table

    def __str__(self) -> str:
        what = self.filter or ", ".join(self.partitions[:3]) + (", …" if len(self.partitions) > 3 else "")
        return f"{self.database}.{self.table} ({what})"


class State(NamedTuple):
    """What is missing, as names of partitions, and the tables whose changes can end that."""

    missing: tuple[str, ...]
    tables: frozenset[TableKey]


def read(client: MetastoreClient, wait: Wait, left: Sequence[str] = ()) -> State:
    """Reads the catalog. A table that does not exist has no partitions.

    `left`: what an earlier reading missed; only these are read until all of them exist. Raises ClientError,
    InvalidInputError, InvalidObjectError.
    """
    tables = {wait.key}
    try:
        if wait.filter is not None:
            found = client.methods.get_partitions_by_filter(*wait.key, wait.filter, 1)
            return State(() if found else (wait.filter,), frozenset(tables))
        if wait.dependencies or wait.fresh:
            tables |= _bases(client, wait)
        for wanted in (left, wait.partitions):
            if wanted and (missing := _missing(client, wait, wanted)):
                return State(missing, frozenset(tables))
    except NoSuchObjectError:
        return State(wait.partitions or (wait.filter or "",), frozenset(tables))
    return State((), frozenset(tables))


def _missing(client: MetastoreClient, wait: Wait, partitions: Sequence[str]) -> tuple[str, ...]:
    dependencies = wait.dependencies or wait.fresh
    waited = wait_for(client, *wait.key, partitions, dependencies=dependencies, timeout=0)
    if waited.missing or not wait.fresh:
        return waited.missing
    return tuple(name for name in waited.found if not _is_fresh(client, wait, name))


def _is_fresh(client: MetastoreClient, wait: Wait, name: str) -> bool:
    values = [value for _, value in parse_name(name)]
    return all(each.state == FRESH for each in client.get_dependencies(*wait.key, values).partitions)


def _bases(client: MetastoreClient, wait: Wait) -> set[TableKey]:
    """Returns the tables on which the table depends, directly or not."""
    values = [value for _, value in parse_name(wait.partitions[0])]  # limits the reply, which has all tables
    found = client.get_dependencies(*wait.key, values).tables
    return {(database, table) for each in found for database, _, table in [each.base.partition(".")]}


def affects(event: Mapping[str, Any], wait: Wait, missing: Sequence[str]) -> bool:
    """Returns whether an event of one of the tables can end the wait. `missing`: `State.missing`, or all."""
    if wait.dependencies or wait.fresh or wait.filter is not None or (event["database"], event["table"]) != wait.key:
        return True
    if event["type"] in _DROPS:
        return False
    named = event.get("partitions")
    return not named or any(_matches(partition, spec, _may_be) for partition in named for spec in missing)


def matches(partition: Mapping[str, str], spec: str) -> bool:
    """Returns whether a partition of an event, values by column, has the values of a specification."""
    return _matches(partition, spec, str.__eq__)


def _matches(partition: Mapping[str, str], spec: str, equal: Callable[[str, str], bool]) -> bool:
    columns = {fold_column(column): value for column, value in partition.items()}
    wanted = {fold_column(column): value for column, value in parse_name(spec)}
    return all(column in columns and equal(columns[column], value) for column, value in wanted.items())


def _may_be(value: str, wanted: str) -> bool:
    """Returns whether a value may be one of a range, or equal in the type of its column, which is unknown here."""
    return ".." in wanted or may_equal(value, wanted)
