"""Executes Doris' statements about catalogs. A session has one catalog, its metastore's, which they give a name."""

from __future__ import annotations

from pyspark.sql import DataFrame

from metastore.client import parse_uris
from spark_client.context import Context
from spark_client.errors import InvalidStatementError
from spark_client.jvm.parser import CATALOG_NAME, catalog_name, literal_value, spark_sql
from spark_client.jvm.plans import empty_frame
from spark_client.statements.grammar.doris_catalogs import CatalogStatement, CreateCatalog, DropCatalog, SetGlobal

_URIS, _TYPE = "hive.metastore.uris", "type"


def columns(_: Context, statement: CatalogStatement) -> str:
    """Returns the columns of Spark's SET, or none."""
    return "key string, value string" if isinstance(statement, SetGlobal) else ""


def execute(context: Context, statement: CatalogStatement, _: str) -> DataFrame:
    """Runs the statement. SET GLOBAL sets the setting for this session only.

    Raises InvalidStatementError for a catalog that is not the session's metastore.
    """
    if isinstance(statement, SetGlobal):
        return spark_sql(context, f"SET {statement.text}")
    if isinstance(statement, CreateCatalog):
        _create(context, statement)
    elif isinstance(statement, DropCatalog):
        if not (statement.if_exists and statement.name != catalog_name(context)):
            _check_name(context, statement.name)
            context.spark.conf.set(CATALOG_NAME, "")
    else:
        _check_name(context, statement.name)
    return empty_frame(context.spark)


def _create(context: Context, statement: CreateCatalog) -> None:
    """Sets the name of the catalog. Properties other than type and addresses become settings of the session."""
    properties = {name: literal_value(context, text) for name, text in statement.properties.items()}
    kind, uris = properties.pop(_TYPE, ""), properties.pop(_URIS, "")
    if kind.lower() != "hms":
        raise InvalidStatementError(
            f"CREATE CATALOG {statement.name}: the type must be 'hms'; configure other catalogs with "
            f"spark.sql.catalog.{statement.name}"
        )
    own = ", ".join(map(str, context.metastore.addresses))
    if not uris or set(parse_uris(uris)) != set(context.metastore.addresses):
        raise InvalidStatementError(
            f"CREATE CATALOG {statement.name}: this session's metastore is {own}, not {uris or 'named'}; "
            f"spark_client.session({uris or own!r}) starts one on it"
        )
    for name, value in properties.items():
        context.spark.conf.set(name, value)
    context.spark.conf.set(CATALOG_NAME, statement.name)


def _check_name(context: Context, name: str) -> None:
    if name != (known := catalog_name(context)):
        raise InvalidStatementError(
            f"catalog {name} does not exist; the catalog of this session is {known or 'unnamed'}"
        )
