"""Carries out the statements about dependent tables. Queries need nothing: to Spark such a table is a view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any

from pyspark.sql import DataFrame

from spark_client.context import Context
from spark_client.errors import InvalidStatementError, MetastoreRefusedError, NoSuchPartitionError, NoSuchTableError
from spark_client.statements.dependent import CreateDependentTable, DependsOn, DropDatabase, OfTable, Statement
from spark_client.wire.structs import Table
from spark_client.write.names import DEFAULT_PARTITION
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

MARK = "dependent.table"
BASES = "dependent.on"
_DESCRIPTION = "col_name string, data_type string, comment string"


def execute(context: Context, statement: Statement) -> DataFrame | None:
    """The statement's rows, or None where it is about a table that is not dependent, and so Spark's.

    Raises InvalidStatementError where it does not fit its table, and what the metastore raises.
    """
    if isinstance(statement, CreateDependentTable):
        _create(context, statement)
    elif isinstance(statement, DependsOn):
        _depend(context, statement)
    elif isinstance(statement, DropDatabase):
        _before_database(context, statement)
        return None
    else:
        return _of_table(context, statement)
    return _no_rows(context)


def _create(context: Context, statement: CreateDependentTable) -> None:
    properties = {_literal(context, key): _literal(context, value) for key, value in statement.properties}
    if statement.comment is not None:
        properties["comment"] = _literal(context, statement.comment)
    request = CreateDependentTableRequest(
        *_resolve(context, statement.table),
        [FieldSchema(name, kind, None) for name, kind in statement.keys],
        *_resolve(context, statement.base),
        ifNotExists=statement.if_not_exists,
        parameters=properties,
        owner=str(context.spark.sparkContext.sparkUser()),
    )
    context.metastore.create_dependent_table(request)


def _depend(context: Context, statement: DependsOn) -> None:
    dependent, base = _resolve(context, statement.table), _resolve(context, statement.base)
    partitions = None
    if statement.partition is not None:
        table = context.metastore.get_table(*dependent)
        clause = _clause(context, statement.table, statement.partition)
        partitions = [_whole(table, _values(table, each.spec())) for each in clause]
    context.metastore.set_dependency(dependent, base, partitions)
    _refresh(context, dependent)


def _before_database(context: Context, statement: DropDatabase) -> None:
    """Drops the dependent tables of a database, the farthest first; the rest is Spark's."""
    *_, database = _identifier(context, statement.database)
    left: Sequence[str] = context.metastore.get_views(database)
    while left:
        refused = []
        for view in left:
            try:
                if context.metastore.get_table(database, view).parameters.get(MARK) == "true":
                    context.metastore.drop_table(database, view)
            except MetastoreRefusedError:
                refused.append(view)
        if len(refused) == len(left):
            return  # Others depend on them: Spark will be told which.
        left = refused


def _of_table(context: Context, statement: OfTable) -> DataFrame | None:
    name = _identifier(context, statement.table)
    if len(name) == 1 and context.spark._jsparkSession.sessionState().catalog().getTempView(name[0]).isDefined():  # noqa: SLF001
        return None
    try:
        table = context.metastore.get_table(*_resolve(context, statement.table))
    except NoSuchTableError:
        return None
    if table.parameters.get(MARK) != "true":
        return None
    if statement.kind == "SHOW":
        return _show(context, table, statement)
    if statement.kind == "DESCRIBE":
        return _describe(context, table, statement)
    if statement.kind == "WRITE":
        raise InvalidStatementError(
            f"{table.full_name} is a dependent table and has no data of its own; write to {table.parameters[BASES]}"
        )
    (_add if statement.kind == "ADD" else _drop)(context, table, statement)
    _refresh(context, (table.database, table.name))
    return _no_rows(context)


def _add(context: Context, table: Table, statement: OfTable) -> None:
    plan = _parsed(context, _as_table(statement))
    parts = list(_elements(plan.parts()))
    if any(part.location().isDefined() for part in parts):
        raise InvalidStatementError(
            f"{table.full_name} is a dependent table: its partitions have no LOCATION, "
            f"they read {table.parameters[BASES]}"
        )
    values = [_whole(table, _values(table, part.spec())) for part in parts]
    context.metastore.add_partitions(table.database, table.name, values, if_not_exists=plan.ifNotExists())


def _drop(context: Context, table: Table, statement: OfTable) -> None:
    plan = _parsed(context, _as_table(statement))
    names: dict[str, None] = {}
    for part in _elements(plan.parts()):
        found = context.metastore.get_partition_names(table.database, table.name, _values(table, part.spec()))
        if not found and not plan.ifExists():
            raise _missing(table, part.spec())
        names |= dict.fromkeys(found)
    context.metastore.drop_partitions(table.database, table.name, list(names), if_exists=plan.ifExists())


def _show(context: Context, table: Table, statement: OfTable) -> DataFrame:
    pattern = _parsed(context, statement.statement).pattern()
    values = _values(table, pattern.get().spec()) if pattern.isDefined() else []
    names = context.metastore.get_partition_names(table.database, table.name, values)
    return context.spark.createDataFrame([(name,) for name in names], "partition string")


def _describe(context: Context, table: Table, statement: OfTable) -> DataFrame:
    """What Spark says of the view, and every base partition that a partition depends on."""
    values: list[str] = []
    if statement.partition is not None:
        (part,) = _clause(context, statement.table, statement.partition)
        values = _values(table, part.spec())
        if not context.metastore.get_partition_names(table.database, table.name, values):
            raise _missing(table, part.spec())
    whole = f"DESCRIBE EXTENDED `{table.database}`.`{table.name}`"
    own = [tuple(row) for row in super(type(context.spark), context.spark).sql(whole).collect()]
    rows = [*own, *_dependency_rows(context, table, values)]
    return context.spark.createDataFrame(rows, _DESCRIPTION)


def _dependency_rows(context: Context, table: Table, values: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The bases of the table; behind them, a line for each base partition."""
    first = list(takewhile(bool, values))
    found = context.metastore.get_dependencies(table.database, table.name, first, transitive=False)
    yield "", "", ""
    yield "# Dependencies", "", ""
    for base in found.tables:
        yield base.base, f"{base.partitions} partitions", "and new partitions" if base.current else ""
    yield "", "", ""
    yield "# Partition Dependencies", "", ""
    for each in found.partitions:
        if not all(value in ("", own) for value, own in zip_longest(values, each.values, fillvalue="")):
            continue
        state = "fresh" if each.fresh else "stale"
        for name in each.base_partitions or [f"{each.base_spec} (no partitions)"]:
            yield each.partition, f"{each.base}@{name}", state


def _values(table: Table, spec: Any) -> list[str]:
    """The values of a partition specification in the table's order, "" for those that are not given."""
    given = {str(key).lower(): value for key, value in _entries(spec)}
    names = [column.name for column in table.partition_columns]
    unknown = sorted(given.keys() - set(names))
    if unknown:
        raise InvalidStatementError(
            f"{unknown[0]} is no partition column of {table.full_name}; these are {', '.join(names)}"
        )
    return ["" if name not in given else (given[name] or DEFAULT_PARTITION) for name in names]


def _missing(table: Table, spec: Any) -> NoSuchPartitionError:
    shown = ", ".join(f"{key}={value}" for key, value in _entries(spec))
    return NoSuchPartitionError(f"{table.full_name} has no partition ({shown})")


def _whole(table: Table, values: Sequence[str]) -> Sequence[str]:
    missing = [column.name for column, value in zip(table.partition_columns, values, strict=True) if not value]
    if missing:
        raise InvalidStatementError(f"a partition of {table.full_name} needs a value of {', '.join(missing)}")
    return values


def _entries(spec: Any) -> Iterator[tuple[Any, str | None]]:
    """Of a Scala map; a value may be an Option."""
    keys = spec.keysIterator()
    while keys.hasNext():
        key = keys.next()
        value = spec.apply(key)
        yield key, None if value is None else str(value)


def _elements(seq: Any) -> Iterator[Any]:
    return (seq.apply(index) for index in range(seq.size()))


def _clause(context: Context, table: str, partition: str) -> Iterator[Any]:
    """A PARTITION clause, as Spark's own parser reads it."""
    return _elements(_parsed(context, f"ALTER TABLE {table} ADD PARTITION {partition}").parts())


def _as_table(statement: OfTable) -> str:
    """Spark's parser knows partitions of tables only."""
    words = statement.statement.split(None, 2)
    return f"ALTER TABLE {words[2]}"


def _parsed(context: Context, text: str) -> Any:
    return context.spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001


def _identifier(context: Context, name: str) -> list[str]:
    parts = context.spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)  # noqa: SLF001
    return [str(each).lower() for each in _elements(parts)]


def _resolve(context: Context, name: str) -> tuple[str, str]:
    """Database and table of a name as written. Raises NoSuchTableError for a name of another catalog."""
    words = _identifier(context, name)
    if len(words) == 3 and words[0] == "spark_catalog":
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name}: only tables of the session's own catalog can depend on each other")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


def _literal(context: Context, text: str) -> str:
    """The text of a constant as written."""
    return str(context.spark._jsparkSession.sessionState().sqlParser().parseExpression(text).value())  # noqa: SLF001


def _refresh(context: Context, table: tuple[str, str]) -> None:
    """Makes Spark forget what it has cached of the view."""
    context.spark.catalog.refreshTable(".".join(f"`{part}`" for part in table))


def _no_rows(context: Context) -> DataFrame:
    return DataFrame(context.spark._jsparkSession.emptyDataFrame(), context.spark)  # noqa: SLF001
