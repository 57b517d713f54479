"""Executes statements about dependent tables. Queries need no support: Spark sees such a table as a view."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError
from spark_client.jvm.catalog import refresh
from spark_client.jvm.parser import (
    add_partitions,
    clause,
    drop_partitions,
    literal_value,
    rename_partition,
    spark_sql,
)
from spark_client.jvm.plans import empty_frame
from spark_client.statements.grammar.dependent_tables import (
    AddDependentPartition,
    CreateDependentTable,
    DependsOn,
    DropCascade,
    Statement,
    TableStatement,
)
from spark_client.statements.run.clauses import (
    full_values,
    no_such_partition,
    partition_values,
    resolve,
    resolve_unless_temporary,
)
from spark_client.statements.run.dependent_events import dependency_events
from spark_client.statements.run.dependent_rows import (
    DESCRIPTION,
    NAMES,
    STATEMENT,
    describe,
    show_create,
    show_partitions,
)
from spark_client.table.dependent import BASES, has_no_data, is_dependent
from spark_client.write.run_events import CREATE
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

_REJECTED = ("WRITE", "VIEW")


def check(context: Context, statement: Statement) -> bool:
    """Returns whether the statement may be executed here.

    Raises InvalidStatementError if it writes to a dependent table or changes its view text.
    """
    if not isinstance(statement, TableStatement) or statement.kind not in _REJECTED:
        return True
    if table := _dependent(context, statement.table):
        raise InvalidStatementError(
            has_no_data(table)
            if statement.kind == "WRITE"
            else f"{table.full_name} is a dependent table, whose view text follows from its partitions: change "
            "their base with ALTER TABLE … DEPENDS ON TABLE, or DROP TABLE it first"
        )
    return False


def columns(context: Context, statement: Statement) -> str | None:
    """Returns the columns of the statement's rows, or None if its table is not dependent and so left to Spark."""
    if not isinstance(statement, TableStatement):
        return ""
    if statement.kind in _REJECTED or _dependent(context, statement.table) is None:
        return None
    return {"SHOW": NAMES, "SHOW CREATE": STATEMENT, "DESCRIBE": DESCRIPTION}.get(statement.kind, "")


def execute(context: Context, statement: Statement, _: str) -> DataFrame:
    """Runs the statement and returns its rows.

    Raises InvalidStatementError if it does not fit its table, and errors of the metastore.
    """
    if isinstance(statement, CreateDependentTable):
        _create(context, statement)
    elif isinstance(statement, DependsOn):
        _depend(context, statement)
    elif isinstance(statement, AddDependentPartition):
        _add_dependent(context, statement)
    elif isinstance(statement, DropCascade):
        _drop_cascade(context, statement)
    else:
        return _run_table_statement(context, statement)
    return empty_frame(context.spark)


def _create(context: Context, statement: CreateDependentTable) -> None:
    properties = {literal_value(context, key): literal_value(context, value) for key, value in statement.properties}
    if statement.comment is not None:
        properties["comment"] = literal_value(context, statement.comment)
    table, base = resolve(context, statement.table), resolve(context, statement.base)
    request = CreateDependentTableRequest(
        *table,
        [FieldSchema(name, kind, None) for name, kind in statement.keys],
        *base,
        ifNotExists=statement.if_not_exists,
        parameters=properties,
        owner=str(context.spark.sparkContext.sparkUser()),
    )
    with dependency_events(context, "CREATE DEPENDENT TABLE", table, base=base, change=CREATE):
        context.metastore.create_dependent_table(request)


def _depend(context: Context, statement: DependsOn) -> None:
    dependent, base = resolve(context, statement.table), resolve(context, statement.base)
    partitions = None
    if statement.partition is not None:
        table = context.metastore.get_table(*dependent)
        partitions = [
            full_values(context, table, spec) for spec in clause(context, statement.table, statement.partition)
        ]
    with dependency_events(context, "DEPENDS ON", dependent, base=base, partitions=partitions or ()):
        context.metastore.set_dependency(dependent, base, partitions)
    refresh(context.spark, *dependent)


def _add_dependent(context: Context, statement: AddDependentPartition) -> None:
    """Adds a partition. Raises InvalidStatementError unless the statement names the partition's actual base."""
    table = context.metastore.get_table(*resolve(context, statement.table))
    if not is_dependent(table):
        raise InvalidStatementError(
            f"{table.full_name} is not a dependent table: its partitions have their own data, so omit DEPENDS ON"
        )
    base = context.metastore.get_table(*resolve(context, statement.base))
    tables = context.metastore.get_dependencies(table.database, table.name).tables
    current = next((edge.base for edge in tables if edge.dependent == table.full_name and edge.current), None)
    if base.full_name != current:
        raise InvalidStatementError(
            f"a new partition of {table.full_name} depends on {current}, not on {base.full_name}: first ALTER TABLE "
            f"{table.full_name} DEPENDS ON TABLE {base.full_name}"
        )
    (spec,) = clause(context, statement.table, statement.partition)
    (base_spec,) = clause(context, statement.base, statement.base_partition)
    values = full_values(context, table, spec)
    base_values = partition_values(context, base, base_spec)
    if base_values != [*values, *[""] * (len(base_values) - len(values))]:
        raise InvalidStatementError(
            f"the partition ({', '.join(values)}) of {table.full_name} depends on the partitions of {base.full_name} "
            "with the same values: name these in DEPENDS ON TABLE … PARTITION (…)"
        )
    _add_partitions(context, table, [values], if_not_exists=statement.if_not_exists)
    refresh(context.spark, table.database, table.name)


def _drop_cascade(context: Context, statement: DropCascade) -> None:
    """Drops a table and all tables that depend on it, in one transaction of the metastore."""
    try:
        table = resolve_unless_temporary(context, statement.table)
        if table is None:
            raise InvalidStatementError(
                f"{statement.table} is a temporary view, on which no table can depend: drop it without CASCADE"
            )
        dependents = context.metastore.get_dependents(*table)
    except NoSuchTableError:
        if statement.if_exists:
            return
        raise
    names = [
        ".".join(f"`{part}`" for part in table),
        *dict.fromkeys(dependency.dependent for dependency in dependents.tables),
    ]
    for name in names:
        if context.spark.catalog.isCached(name):
            context.spark.catalog.uncacheTable(name)
    context.metastore.drop_table(*table, cascade=True)


def _dependent(context: Context, name: str) -> Table | None:
    """Returns the table of a name as written, if it is dependent."""
    try:
        resolved = resolve_unless_temporary(context, name)
        table = context.metastore.get_table(*resolved) if resolved else None
    except NoSuchTableError:
        return None
    return table if table and is_dependent(table) else None


def _run_table_statement(context: Context, statement: TableStatement) -> DataFrame:
    table = context.metastore.get_table(*resolve(context, statement.table))
    match statement.kind:
        case "SHOW":
            return show_partitions(context, table, statement)
        case "SHOW CREATE":
            return show_create(context, table)
        case "DESCRIBE":
            return describe(context, table, statement)
        case "ALTER":
            # Spark rejects ALTER TABLE of a view, and before 4.2 also DROP TABLE of one.
            return spark_sql(context, f"ALTER VIEW {_after_kind(statement)}")
        case "DROP TABLE":
            return spark_sql(context, f"DROP VIEW {statement.table}")
    change = {"ADD": _add, "DROP": _drop, "RENAME": _rename}[statement.kind]
    change(context, table, statement)
    refresh(context.spark, table.database, table.name)
    return empty_frame(context.spark)


def _add(context: Context, table: Table, statement: TableStatement) -> None:
    parsed = add_partitions(context, f"ALTER TABLE {_after_kind(statement)}")
    if parsed.has_location:
        raise InvalidStatementError(
            f"{table.full_name} is a dependent table: omit LOCATION, its partitions read {table.parameters[BASES]}"
        )
    values = [full_values(context, table, spec) for spec in parsed.partitions]
    _add_partitions(context, table, values, if_not_exists=parsed.if_not_exists)


def _add_partitions(context: Context, table: Table, values: Sequence[Sequence[str]], *, if_not_exists: bool) -> None:
    with dependency_events(context, "ADD PARTITION", (table.database, table.name), partitions=values):
        context.metastore.add_partitions(table.database, table.name, values, if_not_exists=if_not_exists)


def _drop(context: Context, table: Table, statement: TableStatement) -> None:
    parsed = drop_partitions(context, f"ALTER TABLE {_after_kind(statement)}")
    names: dict[str, None] = {}
    for spec in parsed.partitions:
        matches = context.metastore.get_partition_names(
            table.database, table.name, partition_values(context, table, spec)
        )
        if not matches and not parsed.if_exists:
            raise no_such_partition(table, spec)
        names |= dict.fromkeys(matches)
    context.metastore.drop_partitions(table.database, table.name, list(names), if_exists=parsed.if_exists)


def _rename(context: Context, table: Table, statement: TableStatement) -> None:
    parsed = rename_partition(context, f"ALTER TABLE {_after_kind(statement)}")
    old, new = full_values(context, table, parsed.old), full_values(context, table, parsed.new)
    if not context.metastore.get_partition_names(table.database, table.name, old):
        raise no_such_partition(table, parsed.old)
    context.metastore.rename_partition(table.database, table.name, old, new)


def _after_kind(statement: TableStatement) -> str:
    """Returns the text after ALTER TABLE or ALTER VIEW. Callers prepend the kind that Spark accepts."""
    return statement.statement[statement.name_start :]
