"""Carries out the statements about skew: CREATE TABLE … SKEWED BY with one call, and what ALTER TABLE changes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from spark_client.context import Context
from spark_client.errors import InvalidStatementError, NoSuchTableError, TableExistsError
from spark_client.statements.skewed import AlterTableNotSkewed, AlterTableSkewed, CreateSkewedTable, SkewedBy, Statement
from spark_client.wire.convert import table_of
from spark_client.wire.structs import NOT_SKEWED, Skew, Table
from spark_client.write.names import DEFAULT_PARTITION
from spark_client.write.rows import quote
from thrift_idl.gen.hive_metastore import ttypes as hive

# Spark's own ALTER TABLE forgets what it does not know, a table's skew among it, but keeps parameters. Partitions keep
# their skew directories in any case, so this says for ever: ask before you read (ResolveHiveTables.java).
MARK = "skewed.directories"

_FORMATS = re.compile("parquet|orc", re.IGNORECASE)
_TEXT = re.compile(r"(string|varchar|char)\b")
_COMPLEX = re.compile(r"(array|map|struct|uniontype|binary|interval|void)\b")
_COLLATION = re.compile(r"\s+collate\s+\w+", re.IGNORECASE)  # Hive has none; Spark reads it from the schema's JSON


def execute(context: Context, statement: Statement) -> None:
    """Raises InvalidStatementError where the statement does not fit its table, and what the metastore raises."""
    if isinstance(statement, CreateSkewedTable):
        create(context, statement)
    else:
        alter(context, statement)


def create(context: Context, statement: CreateSkewedTable) -> None:
    """The table as Spark understands the rest of the statement, with its skew, in one call: never one without it."""
    command = _analyzed(context, statement.statement)
    if command.getClass().getSimpleName() != "CreateTableCommand":
        raise InvalidStatementError(
            "SKEWED BY is for CREATE TABLE with columns of its own and STORED AS PARQUET or STORED AS ORC; "
            "a table made by AS SELECT, LIKE or USING cannot be skewed: create it, then INSERT"
        )
    definition = command.table()
    catalog = context.spark._jsparkSession.sessionState().catalog()  # noqa: SLF001
    if catalog.tableExists(definition.identifier()):
        if command.ignoreIfExists():
            return
        raise TableExistsError(f"Table or view {definition.identifier().unquotedString()} already exists")
    table = _as_spark_stores_it(context, definition)
    table = _with_skew(context, table, statement.skewed_by)
    catalog.validateTableLocation(definition)
    try:
        context.metastore.create_table(table)
    except TableExistsError:
        if not command.ignoreIfExists():
            raise


def alter(context: Context, statement: AlterTableSkewed | AlterTableNotSkewed) -> None:
    """Changes the skew of a table; its partitions keep theirs."""
    database, name = _resolve(context, statement.table)
    before = context.metastore.get_table(database, name)
    if isinstance(statement, AlterTableSkewed):
        after = _with_skew(context, before, statement.skewed_by)
    elif not statement.keep_skew:
        after = replace(before, skew=NOT_SKEWED)
    elif not before.skew.columns:
        raise InvalidStatementError(f"[Error 10196]: This operation is only valid on skewed table. {before.full_name}")
    else:
        after = replace(before, skew=replace(before.skew, directories=False))
    _check_layout(context, before, after)
    context.metastore.alter_table(after)
    refresh(context.spark, database, name)


def _check_layout(context: Context, before: Table, after: Table) -> None:
    """The rows of a table without partitions lie where its own skew says: it must not say otherwise of them."""
    if before.partition_columns or not (before.skew.directories or after.skew.directories):
        return
    if context.spark.table(f"{quote(before.database)}.{quote(before.name)}").limit(1).count():
        raise InvalidStatementError(
            f"{before.full_name} is not partitioned and its rows lie in the directories of its present skew; "
            "TRUNCATE it first, or INSERT its rows into another table"
        )


def refresh(spark: Any, database: str, table: str) -> None:
    """Makes Spark forget what it has cached of a table that changed."""
    spark.catalog.refreshTable(f"{quote(database)}.{quote(table)}")


def _analyzed(context: Context, text: str) -> Any:
    """Spark's command for a statement, not run."""
    java: Any = context.spark._jvm  # noqa: SLF001
    state = context.spark._jsparkSession.sessionState()  # noqa: SLF001
    skip = java.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    return state.executePlan(state.sqlParser().parsePlan(text), skip).analyzed()


def _resolve(context: Context, name: str) -> tuple[str, str]:
    """Database and table of a name as written."""
    parts = context.spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(name)  # noqa: SLF001
    words = [str(parts.apply(index)).lower() for index in range(parts.size())]
    if len(words) == 3 and words[0] == "spark_catalog":
        words = words[1:]
    if len(words) > 2:
        raise NoSuchTableError(f"{name}: only tables of the session's own catalog can be skewed")
    return (words[0] if len(words) == 2 else context.spark.catalog.currentDatabase()), words[-1]


def _as_spark_stores_it(context: Context, definition: Any) -> Table:
    """Spark's own conversion to a table of Hive's (HiveClientImpl.toHiveTable), brought over as Thrift bytes."""
    java: Any = context.spark._jvm  # noqa: SLF001
    client = getattr(java, "org.apache.spark.sql.hive.client.HiveClientImpl$")
    user = java.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().getShortUserName()
    converted = getattr(client, "MODULE$").toHiveTable(definition, java.scala.Option.apply(user))
    protocol = getattr(java, "org.apache.thrift.protocol.TBinaryProtocol$Factory")()
    encoded = java.org.apache.thrift.TSerializer(protocol).serialize(converted.getTTable())
    raw = hive.Table()
    raw.read(TBinaryProtocol(TMemoryBuffer(bytes(encoded))))
    table = table_of(raw)
    return replace(
        table,
        columns=tuple(
            replace(column, name=column.name.lower(), type=_COLLATION.sub("", column.type)) for column in table.columns
        ),
        parameters={**table.parameters, **_schema_properties(context, definition)},
    )


def _schema_properties(context: Context, definition: Any) -> dict[str, str]:
    """The schema with the case of its names, as Spark's own CREATE TABLE records it (HiveExternalCatalog)."""
    prefix, names = "spark.sql.sources.schema", definition.partitionColumnNames()
    limit = int(context.spark.conf.get("spark.sql.sources.schemaStringLengthThreshold", "4000") or "4000")
    schema = str(definition.schema().json())
    parts = [schema[start : start + limit] for start in range(0, len(schema), limit)]
    properties = {"spark.sql.create.version": str(context.spark.version)}
    if len(parts) == 1:
        properties[prefix] = schema
    else:
        properties |= {f"{prefix}.numParts": str(len(parts))}
        properties |= {f"{prefix}.part.{number}": part for number, part in enumerate(parts)}
    if names.size():
        properties[f"{prefix}.numPartCols"] = str(names.size())
        properties |= {f"{prefix}.partCol.{number}": str(names.apply(number)) for number in range(names.size())}
    return properties


def _with_skew(context: Context, table: Table, skewed_by: SkewedBy) -> Table:
    """The table with this skew, its values as texts of their columns' types."""
    types = {column.name: column.type for column in table.columns}
    invalid = [name for name in skewed_by.columns if name not in types]
    if invalid:
        raise InvalidStatementError(
            f"[Error 10203]: Invalid skewed column name: {', '.join(invalid)}; data columns of {table.full_name} are "
            + ", ".join(types)
        )
    for name in skewed_by.columns:
        if _COMPLEX.match(types[name]):
            raise InvalidStatementError(f"{table.full_name} cannot be skewed by {name}, which is of type {types[name]}")
    parameters = dict(table.parameters)
    if skewed_by.directories:
        _check_list_bucketing(table)
        parameters[MARK] = "true"
    values = _typed(context, table.full_name, [(name, types[name]) for name in skewed_by.columns], skewed_by.values)
    return replace(table, skew=Skew(skewed_by.columns, values, {}, skewed_by.directories), parameters=parameters)


def _check_list_bucketing(table: Table) -> None:
    if table.bucket_columns:
        raise InvalidStatementError(f"{table.full_name} is CLUSTERED BY, which STORED AS DIRECTORIES excludes")
    if not _FORMATS.search(table.storage.serde):
        raise InvalidStatementError(f"{table.full_name}: STORED AS DIRECTORIES needs STORED AS PARQUET or ORC")


def _typed(
    context: Context, table: str, columns: Sequence[tuple[str, str]], values: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], ...]:
    """The literals as Spark casts them, each value once: 1, 01 and '1' are 1 on INT. NULL is Hive's name for it."""
    literals = dict.fromkeys((text, type_) for value in values for text, (_, type_) in zip(value, columns, strict=True))
    texts = dict(zip(literals, _cast(context, list(literals)), strict=True))
    for (literal, type_), text in texts.items():
        if text is None:
            raise InvalidStatementError(f"SKEWED BY of {table}: {literal} is no value of type {type_}")
    return tuple(
        dict.fromkeys(
            tuple(str(texts[text, type_]) for text, (_, type_) in zip(value, columns, strict=True)) for value in values
        )
    )


def _cast(context: Context, literals: Sequence[tuple[str, str]]) -> list[str | None]:
    columns = []
    for number, (literal, type_) in enumerate(literals):
        text = f"CAST({literal} AS STRING)"
        cast = text if _TEXT.match(type_) else f"CAST(TRY_CAST({text} AS {type_}) AS STRING)"
        trimmed = f"RTRIM({cast})" if type_.startswith("char") else cast
        columns.append(f"IF({literal} IS NULL, '{DEFAULT_PARTITION}', {trimmed}) AS c{number}")
    try:
        row = context.spark.sql(f"SELECT {', '.join(columns)}").first()
    except AnalysisException as error:
        raise InvalidStatementError(f"SKEWED BY: {str(error).splitlines()[0]}") from error
    return list(row or ())
