"""Carries out the statements about dependent tables. Queries need nothing: to Spark such a table is a view."""

from __future__ import annotations

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
    CreateDependentTable,
    DependsOn,
    DropCascade,
    Statement,
    TableStatement,
)
from spark_client.statements.run.clauses import (
    no_such_partition,
    partition_values,
    resolve,
    resolve_unless_temporary,
    whole_values,
)
from spark_client.statements.run.dependent_rows import (
    DESCRIPTION,
    NAMES,
    STATEMENT,
    describe,
    show_create,
    show_partitions,
)
from spark_client.table.dependent import BASES, has_no_data, is_dependent
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema
from thrift_idl.gen.metastore.ttypes import CreateDependentTableRequest

_REFUSED = ("WRITE", "VIEW")


def check(context: Context, statement: Statement) -> bool:
    """Tells whether it may be ours. Raises InvalidStatementError where it writes to a dependent table, or makes it a
    view of something else."""
    if not isinstance(statement, TableStatement) or statement.kind not in _REFUSED:
        return True
    if table := _dependent(context, statement.table):
        raise InvalidStatementError(
            has_no_data(table)
            if statement.kind == "WRITE"
            else f"{table.full_name} is a dependent table, whose text is that of its partitions: point them at other "
            "tables with ALTER TABLE … DEPENDS ON TABLE, or DROP TABLE it first"
        )
    return False


def columns(context: Context, statement: Statement) -> str | None:
    """Returns the columns of its rows, or None where it is about a table that is not dependent, and so Spark's."""
    if not isinstance(statement, TableStatement):
        return ""
    if statement.kind in _REFUSED or _dependent(context, statement.table) is None:
        return None
    return {"SHOW": NAMES, "SHOW CREATE": STATEMENT, "DESCRIBE": DESCRIPTION}.get(statement.kind, "")


def execute(context: Context, statement: Statement, _: str) -> DataFrame:
    """Returns the statement's rows.

    Raises InvalidStatementError where it does not fit its table, and what the metastore raises.
    """
    if isinstance(statement, CreateDependentTable):
        _create(context, statement)
    elif isinstance(statement, DependsOn):
        _depend(context, statement)
    elif isinstance(statement, DropCascade):
        _drop_cascade(context, statement)
    else:
        return _of_table(context, statement)
    return empty_frame(context.spark)


def _create(context: Context, statement: CreateDependentTable) -> None:
    properties = {literal_value(context, key): literal_value(context, value) for key, value in statement.properties}
    if statement.comment is not None:
        properties["comment"] = literal_value(context, statement.comment)
    request = CreateDependentTableRequest(
        *resolve(context, statement.table),
        [FieldSchema(name, kind, None) for name, kind in statement.keys],
        *resolve(context, statement.base),
        ifNotExists=statement.if_not_exists,
        parameters=properties,
        owner=str(context.spark.sparkContext.sparkUser()),
    )
    context.metastore.create_dependent_table(request)


def _depend(context: Context, statement: DependsOn) -> None:
    dependent, base = resolve(context, statement.table), resolve(context, statement.base)
    partitions = None
    if statement.partition is not None:
        table = context.metastore.get_table(*dependent)
        partitions = [
            whole_values(context, table, spec) for spec in clause(context, statement.table, statement.partition)
        ]
    context.metastore.set_dependency(dependent, base, partitions)
    refresh(context.spark, *dependent)


def _drop_cascade(context: Context, statement: DropCascade) -> None:
    """Drops a table and all that depends on it, in one transaction of the metastore."""
    try:
        table = resolve_unless_temporary(context, statement.table)
        if table is None:
            raise InvalidStatementError(
                f"nothing depends on the temporary view {statement.table}: drop it without CASCADE"
            )
        found = context.metastore.get_dependents(*table)
    except NoSuchTableError:
        if statement.if_exists:
            return
        raise
    names = [
        ".".join(f"`{part}`" for part in table),
        *dict.fromkeys(dependency.dependent for dependency in found.tables),
    ]
    for name in names:
        if context.spark.catalog.isCached(name):
            context.spark.catalog.uncacheTable(name)
    context.metastore.drop_table(*table, cascade=True)


def _dependent(context: Context, name: str) -> Table | None:
    """Returns the table of a name as written, if it is dependent."""
    try:
        known = resolve_unless_temporary(context, name)
        table = context.metastore.get_table(*known) if known else None
    except NoSuchTableError:
        return None
    return table if table and is_dependent(table) else None


def _of_table(context: Context, statement: TableStatement) -> DataFrame:
    table = context.metastore.get_table(*resolve(context, statement.table))
    match statement.kind:
        case "SHOW":
            return show_partitions(context, table, statement)
        case "SHOW CREATE":
            return show_create(context, table)
        case "DESCRIBE":
            return describe(context, table, statement)
        case "ALTER":
            # Spark wants views to be called so; before 4.2 also where one is dropped.
            return spark_sql(context, f"ALTER VIEW {_behind_kind(statement)}")
        case "DROP TABLE":
            return spark_sql(context, f"DROP VIEW {statement.table}")
    change = {"ADD": _add, "DROP": _drop, "RENAME": _rename}[statement.kind]
    change(context, table, statement)
    refresh(context.spark, table.database, table.name)
    return empty_frame(context.spark)


def _add(context: Context, table: Table, statement: TableStatement) -> None:
    said = add_partitions(context, f"ALTER TABLE {_behind_kind(statement)}")
    if said.has_location:
        raise InvalidStatementError(
            f"{table.full_name} is a dependent table: its partitions have no LOCATION, "
            f"they read {table.parameters[BASES]}"
        )
    values = [whole_values(context, table, given) for given in said.partitions]
    context.metastore.add_partitions(table.database, table.name, values, if_not_exists=said.if_not_exists)


def _drop(context: Context, table: Table, statement: TableStatement) -> None:
    said = drop_partitions(context, f"ALTER TABLE {_behind_kind(statement)}")
    names: dict[str, None] = {}
    for given in said.partitions:
        found = context.metastore.get_partition_names(
            table.database, table.name, partition_values(context, table, given)
        )
        if not found and not said.if_exists:
            raise no_such_partition(table, given)
        names |= dict.fromkeys(found)
    context.metastore.drop_partitions(table.database, table.name, list(names), if_exists=said.if_exists)


def _rename(context: Context, table: Table, statement: TableStatement) -> None:
    said = rename_partition(context, f"ALTER TABLE {_behind_kind(statement)}")
    old, new = whole_values(context, table, said.old), whole_values(context, table, said.new)
    if not context.metastore.get_partition_names(table.database, table.name, old):
        raise no_such_partition(table, said.old)
    context.metastore.rename_partition(table.database, table.name, old, new)


def _behind_kind(statement: TableStatement) -> str:
    """Returns what comes after ALTER TABLE or ALTER VIEW: Spark's parser knows partitions of tables only."""
    return statement.statement[statement.name_start :]
