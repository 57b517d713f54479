"""The tables of the database, one file per noun. `metadata` is all of them; the migrations must agree with it."""

from metastore.storage.schema.base import metadata
from metastore.storage.schema.databases import catalogs, databases
from metastore.storage.schema.descriptors import (
    column_lists,
    skew_specifications,
    skew_values,
    storage_descriptors,
    storage_formats,
)
from metastore.storage.schema.partitions import partitions
from metastore.storage.schema.tables import skewed_locations, tables

__all__ = [
    "catalogs",
    "column_lists",
    "databases",
    "metadata",
    "partitions",
    "skew_specifications",
    "skew_values",
    "skewed_locations",
    "storage_descriptors",
    "storage_formats",
    "tables",
]
