"""Carries out Doris' statements about catalogs: a session has one, that of its metastore, which may have a name."""

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
    """Returns the columns of its rows: those of Spark's SET, or none."""
    return "key string, value string" if isinstance(statement, SetGlobal) else ""


def execute(context: Context, statement: CatalogStatement, _: str) -> DataFrame:
    """Names the catalog, or checks its name; what is global in Doris is the session's here.

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
    """Properties but type and addresses, as `hadoop.username`, become settings of the session."""
    properties = {name: literal_value(context, text) for name, text in statement.properties.items()}
    kind, uris = properties.pop(_TYPE, ""), properties.pop(_URIS, "")
    if kind.lower() != "hms":
        raise InvalidStatementError(
            f"CREATE CATALOG {statement.name}: only catalogs of type 'hms' are known; for others, Spark has settings "
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
        raise InvalidStatementError(f"there is no catalog {name}; the session's own is {known or 'without a name'}")
