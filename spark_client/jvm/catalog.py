"""Definitions of tables and databases in Spark's analyzer and catalog."""

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

# The text that Hive's classes return for a type they cannot read, and a type about which Spark 3.5 does not ask them.
_UNKNOWN_TYPE = re.compile(r"<derived from deserializer>|(?:^|[<,:])timestamp_ntz(?![\w:])")
_NOT_IF_EXISTS = False
_PROVIDER = "spark.sql.sources.provider"
# Hive has no collations. Spark reads them from the schema's JSON.
_COLLATION = re.compile(r"\s+collate\s+\w+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """The table of a CREATE TABLE statement. `spark_table` is its CatalogTable; `name` is for messages."""

    spark_table: Any
    name: str
    if_not_exists: bool = False

    @property
    def location(self) -> str | None:
        """The LOCATION of the statement, or None."""
        uri = self.spark_table.storage().locationUri()
        return str(uri.get().toString()) if uri.isDefined() else None


@dataclass(frozen=True, slots=True)
class DatabaseDefinition:
    """A database in Spark's catalog. `location` is not URL-encoded."""

    name: str
    description: str
    location: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RelationMetadata:
    """The partition columns (in lower case) and properties of a table or view."""

    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]


def parse_create_table(context: Context, text: str) -> TableDefinition | None:
    """Returns the definition in a CREATE TABLE statement, or None if it does not create a Hive table."""
    command = planned(context.spark, parsed(context, text)).analyzed()
    if kind(command) != "CreateTableCommand":
        return None
    return table_definition(command.table(), if_not_exists=bool(command.ignoreIfExists()))


def table_definition(spark_table: Any, *, if_not_exists: bool = False) -> TableDefinition:
    """Returns the definition of a CatalogTable."""
    return TableDefinition(spark_table, str(spark_table.identifier().unquotedString()), if_not_exists)


def table_exists(context: Context, definition: TableDefinition) -> bool:
    """Returns whether a table or view with the definition's name exists."""
    return bool(_state(context.spark).catalog().tableExists(definition.spark_table.identifier()))


def column_unknown_to_hive(table: Table) -> str | None:
    """Returns the name of a column with a type that Hive lacks, or None."""
    columns = (*table.columns, *table.partition_columns)
    return next((column.name for column in columns if _UNKNOWN_TYPE.search(column.type)), None)


def check_location(context: Context, definition: TableDefinition) -> None:
    """Raises AnalysisException if Spark rejects the location of a new table."""
    _state(context.spark).catalog().validateTableLocation(definition.spark_table)


def with_schema(definition: TableDefinition, data: DataFrame) -> TableDefinition:
    """Returns the definition with the columns of `data`, for CREATE TABLE AS SELECT."""
    schema = analyzed_plan(data).schema().asNullable()
    return replace(definition, spark_table=_with(definition.spark_table, "StructType", schema))


def pop_property(definition: TableDefinition, name: str) -> tuple[str | None, TableDefinition]:
    """Returns the value of a property, or None, and the definition without the property."""
    properties = definition.spark_table.properties()
    if not properties.contains(name):
        return None, definition
    changed = _copied(definition.spark_table, lambda field: field == properties, getattr(properties, "$minus")(name))
    return str(properties.apply(name)), replace(definition, spark_table=changed)


def _with(spark_table: Any, kind_: str, value: Any) -> Any:
    """Returns a copy of a CatalogTable in which the only field of a class has another value."""
    return _copied(spark_table, lambda field: kind(field) == kind_, value)


def _copied(spark_table: Any, is_replaced: Callable[[Any], bool], value: Any) -> Any:
    """Returns a copy of a CatalogTable in which the selected fields have another value.

    Fields are selected by value: in Scala 2.12, their names are not available.
    """
    fields = [getattr(spark_table, f"copy$default${number}")() for number in range(1, spark_table.productArity() + 1)]
    return spark_table.copy(
        *(value if isinstance(field, JavaObject) and is_replaced(field) else field for field in fields)
    )


def is_datasource_table(definition: TableDefinition) -> bool:
    """Returns whether the definition is a datasource table: CREATE TABLE … USING a format."""
    provider = definition.spark_table.provider()
    return bool(provider.isDefined()) and str(provider.get()).lower() != "hive"


def name_of(definition: TableDefinition) -> tuple[str, str]:
    """Returns database and name of the table."""
    identifier_ = definition.spark_table.identifier()
    return str(identifier_.database().get()), str(identifier_.table())


def matches_definition(context: Context, definition: TableDefinition, table: Table) -> bool:
    """Returns whether an existing table has the provider, format, columns and properties of a definition."""
    created = definition.spark_table
    if not _texts(created.properties()).items() <= table.parameters.items():
        return False
    rows = context.spark.table(f"{quote(table.database)}.{quote(table.name)}").schema
    schema = StructType.fromJson(json.loads(str(created.schema().json())))
    names, expected = (
        [(field.name.lower(), field.metadata.get(CHAR_TYPE, field.dataType.simpleString())) for field in struct_type]
        for struct_type in (rows, schema)
    )
    keys = [str(name).lower() for name in elements(created.partitionColumnNames())]
    provider, expected_provider = table.parameters.get(_PROVIDER, "hive").lower(), str(created.provider().get()).lower()
    # USING parquet (or no format) also matches a Hive table stored as Parquet.
    is_alike = provider == "hive" and expected_provider in table.storage.serde.lower() and not table.buckets.count
    if names != expected or not (provider == expected_provider or is_alike):
        return False
    if keys != [column.name for column in table.partition_columns]:
        return False
    stored = None if is_datasource_table(definition) else to_hive_table(context, definition)
    if stored is None:
        return True
    return (stored.storage.input_format, stored.buckets) == (table.storage.input_format, table.buckets)


def create_datasource_table(context: Context, definition: TableDefinition, name: str) -> None:
    """Creates an empty datasource table with the definition, under another name. Raises Spark's errors."""
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
    """Renames a datasource table, including the path in its properties. Raises TableExistsError if the name is
    taken.
    """
    try:
        spark_sql(context, f"ALTER TABLE {quote(database)}.{quote(name)} RENAME TO {quote(database)}.{quote(new_name)}")
    except PySparkException as error:
        if "ALREADY_EXISTS" in (error.getCondition() or "") or "already exists" in str(error):
            raise TableExistsError(f"Table or view {database}.{new_name} already exists") from error
        raise


def raw_columns(context: Context, table: Table) -> list[tuple[str, str]]:
    """Returns each column's name in lower case and its declaration in DDL, with comment, char(n) and varchar(n)."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    name = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")(
        table.name, java_class(java, "scala.Option").apply(table.database)
    )
    schema = _state(context.spark).catalog().getTableMetadata(name).schema()
    raw = java_class(java, "org.apache.spark.sql.catalyst.util.CharVarcharUtils").getRawSchema(schema)
    return [(str(field.name()).lower(), f"{field.toDDL()}{_generated(field.metadata())}") for field in raw.fields()]


def change_columns(context: Context, table: Table, names: Mapping[str, str | None]) -> None:
    """Renames data columns, or drops them (None). Their types, comments and positions are unchanged.

    `names` maps current names in lower case to new names. Spark's cache of the table is not invalidated.
    """
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    catalog = context.spark._jsparkSession.sharedState().externalCatalog()  # noqa: SLF001 - as above
    schema = json.loads(str(catalog.getTable(table.database, table.name).dataSchema().json()))
    renamed = [(field, names.get(field["name"].lower(), field["name"])) for field in schema["fields"]]
    schema["fields"] = [{**field, "name": name} for field, name in renamed if name is not None]
    changed = java_class(java, "org.apache.spark.sql.types.DataType").fromJson(json.dumps(schema))
    catalog.alterTableDataSchema(table.database, table.name, changed)


def _generated(metadata: Any) -> str:
    """Returns the clause of a generated column, which Spark's DDL text omits."""
    key = "GENERATION_EXPRESSION"
    return f" GENERATED ALWAYS AS ({metadata.getString(key)})" if metadata.contains(key) else ""


def relation_metadata(spark: SparkSession, name: str) -> RelationMetadata:
    """Returns the metadata of a table or view. Raises AnalysisException if it does not exist."""
    state = _state(spark)
    # The parser replaces additional names of the session catalog (CatalogNames.java) by spark_catalog.
    *parents, plain_name = map(str, elements(state.sqlParser().parseMultipartIdentifier(name)))
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    database = java_class(java, "scala.Option").apply(parents[-1] if parents else None)
    identifier_ = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")(plain_name, database)
    table = state.catalog().getTempViewOrPermanentTableMetadata(identifier_)
    keys = tuple(str(element).lower() for element in elements(table.partitionColumnNames()))
    return RelationMetadata(keys, _texts(table.properties()))


def database_of(context: Context, name: str) -> DatabaseDefinition:
    """Returns a database by its name as written. Raises AnalysisException if it does not exist."""
    java: Any = context.spark._jvm  # noqa: SLF001 - PySpark has no public API for it
    metadata = _state(context.spark).catalog().getDatabaseMetadata(identifier(context, name)[-1])
    location = str(
        java_class(java, "org.apache.spark.sql.catalyst.catalog.CatalogUtils").URIToString(metadata.locationUri())
    )
    return DatabaseDefinition(
        str(metadata.name()), str(metadata.description()), location, _texts(metadata.properties())
    )


def refresh(spark: Any, database: str, table: str) -> None:
    """Makes Spark forget cached data and metadata of a table that has changed.

    If nothing is cached with CACHE TABLE, it suffices to invalidate the catalog's entry. REFRESH TABLE would first
    analyze the table.
    """
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API for these
    if not spark._jsparkSession.sharedState().cacheManager().isEmpty():  # noqa: SLF001
        spark.catalog.refreshTable(f"{quote(database)}.{quote(table)}")
        return
    table_identifier = java_class(java, "org.apache.spark.sql.catalyst.TableIdentifier")
    database_option = java_class(java, "scala.Option").apply(database)
    _state(spark).catalog().invalidateCachedTable(table_identifier(table, database_option))


def to_hive_table(context: Context, definition: TableDefinition) -> Table:
    """Returns Spark's conversion of the definition to a Hive table (HiveClientImpl.toHiveTable), copied as Thrift
    bytes.
    """
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
    """Returns the properties in which Spark's CREATE TABLE records the schema with the case of names
    (HiveExternalCatalog).
    """
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
    """Returns a Scala map of strings as a dict."""
    keys, texts = properties.keysIterator(), {}
    while keys.hasNext():
        key = keys.next()
        texts[str(key)] = str(properties.apply(key))
    return texts


def _state(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark has no public API for it
