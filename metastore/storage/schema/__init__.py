"""The tables of the database. A test compares `metadata` with the migrations."""

from metastore.storage.schema import (
    access,
    catalog,
    dependencies,
    descriptors,
    files,
    imports,
    logs,
    partitions,
    servers,
    sinks,
    statistics,
    transactions,
)
from metastore.storage.schema.base import metadata

__all__ = [
    "access",
    "catalog",
    "dependencies",
    "descriptors",
    "files",
    "imports",
    "logs",
    "metadata",
    "partitions",
    "servers",
    "sinks",
    "statistics",
    "transactions",
]
