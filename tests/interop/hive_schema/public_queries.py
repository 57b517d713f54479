"""The queries of public tools, taken out of their released packages and run as they are."""

from __future__ import annotations

import ast
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from tests.interop.maven import CACHE, UnavailableError

PACKAGES = {
    "amundsen-databuilder": "7.5.1",
    "acryl-datahub": "1.7.0.17",
    "openmetadata-ingestion": "2.0.7.0",
    "apache-airflow-providers-apache-hive": "9.7.1",
}
AMUNDSEN = "databuilder/extractor/hive_table_metadata_extractor.py"
AMUNDSEN_UPDATES = "databuilder/extractor/hive_table_last_updated_extractor.py"
DATAHUB = "datahub/ingestion/source/sql/hive/hive_sql_fetcher.py"
OPENMETADATA = "metadata/ingestion/source/database/hive/metastore_dialects/postgres/dialect.py"
AIRFLOW = "airflow/providers/apache/hive/sensors/metastore_partition.py"


def source(package: str, path: str) -> str:
    """The text of a module in a package's wheel. Raises UnavailableError."""
    folder = CACHE / "wheels"
    version = PACKAGES[package]
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            str(folder),
            f"{package}=={version}",
        ]
        if subprocess.run(command, check=False).returncode:
            raise UnavailableError(f"{package} {version} cannot be downloaded with pip")
    (wheel,) = folder.glob(pattern)
    with zipfile.ZipFile(wheel) as files:
        return files.read(path).decode()


def constant(text_of_module: str, name: str) -> str:
    """The value of a text constant of a module or class."""
    for node in ast.walk(ast.parse(text_of_module)):
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == name for each in node.targets
        ):
            return str(ast.literal_eval(node.value))
    raise LookupError(name)


@dataclass(frozen=True)
class Asked:
    """What the queries ask for.

    Attributes:
        databases: the first one is also that of DataHub's queries and of the sensor's table.
        table: the table of Airflow's sensor.
        partitions: names of partitions for which the sensor waits, existing or not.
        columns_of: the number of tables in each database whose columns are read; None means all.
    """

    databases: tuple[str, ...] = ("sales", "db2")
    table: str = "big"
    partitions: tuple[str, ...] = ("ds=2026-01/n=0", "ds=2026-01/n=x")
    columns_of: int | None = None


def queries(connection: Connection, asked: Asked | None = None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the name of each query, and a function that runs it and returns its rows."""
    asked = asked or Asked()
    yield from _amundsen(connection)
    yield from _datahub(connection, asked)
    yield from _openmetadata(connection, asked)
    sensor = constant(source("apache-airflow-providers-apache-hive", AIRFLOW), "_METASTORE_PARTITION_SQL")
    for name in asked.partitions:
        values = {"table": asked.table, "schema": asked.databases[0], "partition_name": name}
        yield f"Airflow: MetastorePartitionSensor {name}", _sensor(connection, sensor, values)


def counts(answers: dict[str, Any]) -> dict[str, int]:
    """Returns the rows that a query must have, by its name, from replies by Thrift (`reads.everything`)."""
    tables = [answer for label, answer in answers.items() if label.startswith("get_table(")]
    views = [table for table in tables if table["tableType"] == "VIRTUAL_VIEW"]
    real = [table for table in tables if table["tableType"] in ("MANAGED_TABLE", "EXTERNAL_TABLE")]
    partitions = {table["tableName"]: _partitions(answers, table) for table in tables}
    expected = {
        "Amundsen: tables and columns": sum(map(_columns, tables)),
        "Amundsen: partitioned tables": sum(bool(names) for names in partitions.values()),
        "Amundsen: other tables": sum(not table["partitionKeys"] for table in tables),
        "DataHub: tables": sum(map(_columns, real)),
        "DataHub: views": sum(map(_columns, views)),
        "DataHub: properties": sum(len(table["parameters"]) for table in tables),
        "DataHub: schemas": len(answers["get_all_databases()"]),
        "OpenMetadata: schemas": len(answers["get_all_databases()"]),
        "OpenMetadata: view definitions": sum(table["viewOriginalText"] is not None for table in tables),
        "OpenMetadata: comments": len(tables),
        **{
            f"Airflow: MetastorePartitionSensor {name}": partitions["big"].count(name)
            for name in ("ds=2026-01/n=0", "ds=2026-01/n=x")
        },
    }
    for database in ("sales", "db2"):
        own = [table["tableName"] for table in tables if table["dbName"] == database]
        seen = [table["tableName"] for table in views if table["dbName"] == database]
        expected |= {
            f"OpenMetadata: tables of {database}": len(own) - len(seen),
            f"OpenMetadata: views of {database}": len(seen),
        }
    return expected | {
        f"OpenMetadata: columns of {table['dbName']}.{table['tableName']}": _columns(table)
        for table in tables
        if table not in views
    }


def _columns(table: dict[str, Any]) -> int:
    return len(table["sd"]["cols"]) + len(table["partitionKeys"])


def _partitions(answers: dict[str, Any], table: dict[str, Any]) -> list[str]:
    names: list[str] = answers.get(f"get_partition_names({table['dbName']}, {table['tableName']}, int)", [])
    return names


def _amundsen(connection: Connection) -> Iterator[tuple[str, Callable[[], Any]]]:
    metadata = constant(source("amundsen-databuilder", AMUNDSEN), "DEFAULT_POSTGRES_SQL_STATEMENT")
    yield "Amundsen: tables and columns", _run(connection, metadata.format(where_clause_suffix=""))
    updates = source("amundsen-databuilder", AMUNDSEN_UPDATES)
    partitioned = constant(updates, "DEFAULT_POSTGRES_PARTITION_TABLE_SQL_STATEMENT")
    yield "Amundsen: partitioned tables", _run(connection, partitioned.format(where_clause_suffix=""))
    others = constant(updates, "DEFAULT_POSTGRES_NON_PARTITIONED_TABLE_SQL_STATEMENT")
    condition = f"WHERE {constant(updates, 'DEFAULT_POSTGRES_ADDTIONAL_WHERE_CLAUSE')}"
    yield "Amundsen: other tables", _run(connection, others.format(where_clause_suffix=condition))


def _run(connection: Connection, query: str, **values: str) -> Callable[[], Any]:
    return lambda: [tuple(row) for row in connection.execute(text(query), values)]


def _sensor(connection: Connection, query: str, values: dict[str, str]) -> Callable[[], Any]:
    return lambda: [tuple(row) for row in connection.exec_driver_sql(query, values)]


def _datahub(connection: Connection, asked: Asked) -> Iterator[tuple[str, Callable[[], Any]]]:
    module = types.ModuleType("fetcher")
    exec(source("acryl-datahub", DATAHUB), module.__dict__)
    for name in ("tables", "views", "properties", "schemas", "presto_views"):
        make = getattr(module, f"_get_{name}_query")
        yield f"DataHub: {name}", _run(connection, make(with_db_filter=False, is_postgresql=True))
        query = make(with_db_filter=True, is_postgresql=True)
        yield f"DataHub: {name} of one database", _run(connection, query, db_name=asked.databases[0])


def _openmetadata(connection: Connection, asked: Asked) -> Iterator[tuple[str, Callable[[], Any]]]:
    dialect = _dialect()
    yield "OpenMetadata: schemas", lambda: dialect.get_schema_names(connection)
    for what, method in (("view definitions", "get_view_definition"), ("comments", "get_table_comment")):
        yield f"OpenMetadata: {what}", _run(connection, _query_of(method))
    for schema in asked.databases:
        names = dialect.get_table_names(connection, schema=schema)
        yield (
            f"OpenMetadata: tables of {schema}",
            lambda schema=schema: dialect.get_table_names(connection, schema=schema),
        )
        yield (
            f"OpenMetadata: views of {schema}",
            lambda schema=schema: dialect.get_view_names(connection, schema=schema),
        )
        for name in names[: asked.columns_of]:
            arguments = (connection, name, schema)
            yield (
                f"OpenMetadata: columns of {schema}.{name}",
                lambda arguments=arguments: [tuple(row) for row in dialect._get_table_columns(*arguments)],
            )


def _query_of(method: str) -> str:
    """The query that a method of OpenMetadata's dialect passes on."""
    tree = ast.parse(source("openmetadata-ingestion", OPENMETADATA))
    (actual,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == method]
    return constant(ast.unparse(actual), "query")


def _dialect() -> Any:
    """The methods of OpenMetadata's dialect, without what it inherits and imports."""
    tree = ast.parse(source("openmetadata-ingestion", OPENMETADATA))
    (made,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    made.bases, made.decorator_list = [], []
    made.body = [node for node in made.body if isinstance(node, ast.FunctionDef)]
    for node in made.body:
        node.decorator_list = []
    names: dict[str, Any] = {"text": text, "logger": types.SimpleNamespace(debug=lambda *_: None)}
    exec(compile(ast.Module([made], []), OPENMETADATA, "exec"), names)
    return names[made.name]()
