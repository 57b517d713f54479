"""What Spark's analyzer and catalog make of statements, tables and databases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from metastore.client.convert import table_of
from metastore.client.structs import Table
from spark_client.context import Context
from spark_client.errors import TableExistsError
from spark_client.jvm.columns import CHAR_TYPE
from spark_client.jvm.objects import java_class
from spark_client.jvm.parser import identifier, parsed, spark_sql
from spark_client.jvm.plans import analyzed_plan, elements, kind, planned
from spark_client.jvm.sql_text import quote
from thrift_idl.gen.hive_metastore import ttypes as hive

# What Hive's own classes say of a type that they cannot read, and what Spark 3.5 does not ask them about.
_UNKNOWN_TYPE = re.compile(r"<derived from deserializer>|(?:^|[<,:])timestamp_ntz(?![\w:])")
_NOT_IF_EXISTS = False
_PROVIDER = "spark.sql.sources.provider"
_COLLATION = re.compile(r"\s+collate\s+\w+", re.IGNORECASE)  # Hive has none; Spark reads it from the schema's JSON


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table that a statement is to create, as Spark has understood it. `spark_table`: its CatalogTable.

    `name` is shown in messages. `if_not_exists`: it may be there already.
    """

    spark_table: Any
    name: str
    if_not_exists: bool = False

    @property
    def location(self) -> str | None:
        """Where it is to lie, where the statement says so."""
        found = self.spark_table.storage().locationUri()
        return str(found.get().toString()) if found.isDefined() else None


@dataclass(frozen=True, slots=True)
class DatabaseDefinition:
    """A database as Spark's catalog has it; `location` is not URL-encoded."""

    name: str
    description: str
    location: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RelationMetadata:
    """What the catalog has of a table or view: its partition columns in lower case, its properties."""

    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]


def parse_create_table(context: Context, text: str) -> TableDefinition | None:
    """Returns what a CREATE TABLE makes; None where it is no table in Hive's layout."""
    command = planned(context.spark, parsed(context, text)).analyzed()
    if kind(command) != "CreateTableCommand":
        return None
    return table_definition(command.table(), if_not_exists=bool(command.ignoreIfExists()))


def table_definition(spark_table: Any, *, if_not_exists: bool = False) -> TableDefinition:
    """Returns the definition that a CatalogTable is."""
    return TableDefinition(spark_table, str(spark_table.identifier().unquotedString()), if_not_exists)


def table_exists(context: Context, definition: TableDefinition) -> bool:
    """Tells whether a table or view of that name exists."""
    return bool(_state(context.spark).catalog().tableExists(definition.spark_table.identifier()))


def column_unknown_to_hive(table: Table) -> str | None:
    """Returns the column whose type Hive has no name for; None where there is none."""
    columns = (*table.columns, *table.partition_columns)
    return next((column.name for column in columns if _UNKNOWN_TYPE.search(column.type)), None)


def check_location(context: Context, definition: TableDefinition) -> None:
    """Raises AnalysisException where Spark would refuse the location of a new table."""
    _state(context.spark).catalog().validateTableLocation(definition.spark_table)


def with_schema(definition: TableDefinition, data: DataFrame) -> TableDefinition:
    """Returns the definition with the columns of `data`: CREATE TABLE AS SELECT without columns of its own."""
    schema = analyzed_plan(data).schema().asNullable()
    return replace(definition, spark_table=_with(definition.spark_table, "StructType", schema))


def pop_property(definition: TableDefinition, name: str) -> tuple[str | None, TableDefinition]:
    """Returns the value of a property, or None, and the definition without it."""
    properties = definition.spark_table.properties()
    if not properties.contains(name):
        return None, definition
    changed = _copied(definition.spark_table, lambda field: field == properties, getattr(properties, "$minus")(name))
    return str(properties.apply(name)), replace(definition, spark_table=changed)


def _with(spark_table: Any, kind_: str, value: Any) -> Any:
    """Returns a CatalogTable with another value of its one field of a class."""
    return _copied(spark_table, lambda field: kind(field) == kind_, value)


def _copied(spark_table: Any, is_replaced: Callable[[Any], bool], value: Any) -> Any:
    """Returns a CatalogTable with another value of a field; Scala 2.12 does not tell the names of fields."""
    fields = [getattr(spark_table, f"copy$default${number}")() for number in range(1, spark_table.productArity() + 1)]
    return spark_table.copy(
        *(value if isinstance(field, JavaObject) and is_replaced(field) else field for field in fields)
    )


def is_datasource_table(definition: TableDefinition) -> bool:
    """Tells whether it is a table of Spark's own kind, USING a format."""
    provider = definition.spark_table.provider()
    return bool(provider.isDefined()) and str(provider.get()).lower() != "hive"


def name_of(definition: TableDefinition) -> tuple[str, str]:
    """Returns database and table."""
    found = definition.spark_table.identifier()
    return str(found.database().get()), str(found.table())


def matches_definition(context: Context, definition: TableDefinition, table: Table) -> bool:
    """Tells whether a table that is there has the kind, the format, the columns, the properties and the place of a
    definition."""
    made = definition.spark_table
    said = definition.location
    if table.table_type == "VIRTUAL_VIEW" or (said and said.rstrip("/") != (table.location or "").rstrip("/")):
        return False
    if not _texts(made.properties()).items() <= table.parameters.items():
        return False
    rows = context.spark.table(f"{quote(table.database)}.{quote(table.name)}").schema
    schema = StructType.fromJson(json.loads(str(made.schema().json())))
    names, wanted = (
        [(field.name.lower(), field.metadata.get(CHAR_TYPE, field.dataType.simpleString())) for field in struct_type]
        for struct_type in (rows, schema)
    )
    keys = [str(name).lower() for name in elements(made.partitionColumnNames())]
    provider, said_provider = table.parameters.get(_PROVIDER, "hive").lower(), str(made.provider().get()).lower()
    # Who says USING parquet, or nothing, of one of Hive's tables of Parquet does not want another kind of table.
    is_alike = provider == "hive" and said_provider in table.storage.serde.lower() and not table.buckets.count
    if names != wanted or not (provider == said_provider or is_alike):
        return False
    if keys != [column.name for column in table.partition_columns]:
        return False
    stored = None if is_datasource_table(definition) else to_hive_table(context, definition)
    if stored is None:
        return True
    return (stored.storage.input_format, stored.buckets) == (table.storage.input_format, table.buckets)


def create_datasource_table(context: Context, definition: TableDefinition, name: str) -> None:
    """Makes a table of Spark's own kind, without rows, under another name. Raises what Spark raises."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    database, _ = name_of(definition)
    identifier_ = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")(
        name, java_class(java, "scala.Option").apply(database)
    )
    utilities = java_class(java, "org.apache.spark.sql.catalyst.util.CharVarcharUtils")
    schema = utilities.getRawSchema(definition.spark_table.schema())
    table = _with(_with(definition.spark_table, "StructType", schema), "TableIdentifier", identifier_)
    command = java_class(java, "org.apache.spark.sql.execution.command.CreateDataSourceTableCommand")(
        table, _NOT_IF_EXISTS
    )
    command.run(context.spark._jsparkSession)  # noqa: SLF001 - as above


def rename_datasource_table(context: Context, database: str, name: str, new_name: str) -> None:
    """Renames it, with the path that Spark keeps in it. Raises TableExistsError where there is one of that name."""
    try:
        spark_sql(context, f"ALTER TABLE {quote(database)}.{quote(name)} RENAME TO {quote(database)}.{quote(new_name)}")
    except PySparkException as error:
        if "ALREADY_EXISTS" in (error.getCondition() or "") or "already exists" in str(error):
            raise TableExistsError(f"Table or view {database}.{new_name} already exists") from error
        raise


def raw_columns(context: Context, table: Table) -> list[tuple[str, str]]:
    """Returns each column's name in lower case and how Spark declares it: with comments, char and varchar."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    name = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")(
        table.name, java_class(java, "scala.Option").apply(table.database)
    )
    schema = _state(context.spark).catalog().getTableMetadata(name).schema()
    raw = java_class(java, "org.apache.spark.sql.catalyst.util.CharVarcharUtils").getRawSchema(schema)
    return [(str(field.name()).lower(), f"{field.toDDL()}{_generated(field.metadata())}") for field in raw.fields()]


def change_columns(context: Context, table: Table, names: Mapping[str, str | None]) -> None:
    """Gives data columns other names, or takes them away (None); all else of them stays. Spark's cache is not told.

    `names`: by those that they have, in lower case.
    """
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    catalog = context.spark._jsparkSession.sharedState().externalCatalog()  # noqa: SLF001 - as above
    schema = json.loads(str(catalog.getTable(table.database, table.name).dataSchema().json()))
    renamed = [(field, names.get(field["name"].lower(), field["name"])) for field in schema["fields"]]
    schema["fields"] = [{**field, "name": name} for field, name in renamed if name is not None]
    made = java_class(java, "org.apache.spark.sql.types.DataType").fromJson(json.dumps(schema))
    catalog.alterTableDataSchema(table.database, table.name, made)


def _generated(metadata: Any) -> str:
    """Returns what Spark leaves out of a column's definition."""
    key = "GENERATION_EXPRESSION"
    return f" GENERATED ALWAYS AS ({metadata.getString(key)})" if metadata.contains(key) else ""


def relation_metadata(spark: SparkSession, name: str) -> RelationMetadata:
    """Returns what is known of a table or view by its name as written. Raises AnalysisException where there is none."""
    state = _state(spark)
    table = state.catalog().getTempViewOrPermanentTableMetadata(state.sqlParser().parseTableIdentifier(name))
    keys = tuple(str(element).lower() for element in elements(table.partitionColumnNames()))
    return RelationMetadata(keys, _texts(table.properties()))


def database_of(context: Context, name: str) -> DatabaseDefinition:
    """Returns the database of a name as written. Raises AnalysisException where there is none."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    found = _state(context.spark).catalog().getDatabaseMetadata(identifier(context, name)[-1])
    location = str(
        java_class(java, "org.apache.spark.sql.catalyst.catalog.CatalogUtils").URIToString(found.locationUri())
    )
    return DatabaseDefinition(str(found.name()), str(found.description()), location, _texts(found.properties()))


def refresh(spark: Any, database: str, table: str) -> None:
    """Makes Spark forget what it has cached of a table that changed.

    Where nobody has cached rows, that is what its catalog knows; REFRESH TABLE would analyze the table before that.
    """
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for these
    if not spark._jsparkSession.sharedState().cacheManager().isEmpty():  # noqa: SLF001
        spark.catalog.refreshTable(f"{quote(database)}.{quote(table)}")
        return
    named = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")
    of = java_class(java, "scala.Option").apply(database)
    _state(spark).catalog().invalidateCachedTable(named(table, of))


def to_hive_table(context: Context, definition: TableDefinition) -> Table:
    """Returns Spark's conversion to a table of Hive's (HiveClientImpl.toHiveTable), brought over as Thrift bytes."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    client = java_class(java, "org.apache.spark.sql.hive.client.HiveClientImpl$")
    user = java_class(java, "org.apache.hadoop.security.UserGroupInformation").getCurrentUser().getShortUserName()
    converted = getattr(client, "MODULE$").toHiveTable(
        definition.spark_table, java_class(java, "scala.Option").apply(user)
    )
    protocol = java_class(java, "org.apache.thrift.protocol.TBinaryProtocol$Factory")()
    encoded = java_class(java, "org.apache.thrift.TSerializer")(protocol).serialize(converted.getTTable())
    raw = hive.Table()
    raw.read(TBinaryProtocol(TMemoryBuffer(bytes(encoded))))
    table = table_of(raw)
    return replace(
        table,
        columns=tuple(
            replace(column, name=column.name.lower(), type=_COLLATION.sub("", column.type)) for column in table.columns
        ),
        parameters={**table.parameters, **_schema_properties(context, definition.spark_table)},
    )


def _schema_properties(context: Context, spark_table: Any) -> dict[str, str]:
    """Returns the schema with the case of its names, as Spark's own CREATE TABLE records it (HiveExternalCatalog)."""
    prefix, names = "spark.sql.sources.schema", list(elements(spark_table.partitionColumnNames()))
    limit = int(context.spark.conf.get("spark.sql.sources.schemaStringLengthThreshold", "4000") or "4000")
    schema = str(spark_table.schema().json())
    parts = [schema[start : start + limit] for start in range(0, len(schema), limit)]
    properties = {"spark.sql.create.version": str(context.spark.version)}
    if len(parts) == 1:
        properties[prefix] = schema
    else:
        properties |= {f"{prefix}.numParts": str(len(parts))}
        properties |= {f"{prefix}.part.{number}": part for number, part in enumerate(parts)}
    if names:
        properties[f"{prefix}.numPartCols"] = str(len(names))
        properties |= {f"{prefix}.partCol.{number}": str(name) for number, name in enumerate(names)}
    return properties


def _texts(properties: Any) -> dict[str, str]:
    """Returns a Scala map of texts."""
    keys, found = properties.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        found[str(key)] = str(properties.apply(key))
    return found


def _state(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark has no public API for it
