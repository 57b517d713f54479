"""Columns that files of other programs have and their table does not declare. A rewrite would lose them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pyspark.errors import PySparkException
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from metastore.client.structs import Table
from metastore.domain.data_files import is_data_name
from metastore.domain.names import fold_column
from metastore.domain.query_ids import ids_in
from spark_client.context import Context
from spark_client.errors import SparkClientError
from spark_client.jvm.sql_text import quote
from spark_client.write.snapshot import PartitionState
from spark_client.write.staging import file_format

_POSITIONAL = re.compile(r"_col\d+")  # Hive 1 writes ORC files without the names of columns


def undeclared_columns(context: Context, table: Table, states: Iterable[PartitionState]) -> list[str]:
    """Returns the names of columns, and of fields of structs, that files of partitions have beyond the table's.

    `states`: with the names of the files. Files of this library have the columns that the table had when they were
    written, and are not read. Nothing is returned if Spark cannot merge the types of the files, or may not read
    them by path.
    """
    paths = [
        f"{state.location.rstrip('/')}/{name}"
        for state in states
        for name in state.files or ()
        if is_data_name(name) and not ids_in(name)
    ]
    if not paths:
        return []
    # Otherwise, older Sparks fail on names that differ in case between files.
    session = context.spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    reader = session.read.option("mergeSchema", "true").format(file_format(table.storage, table.full_name))
    try:
        found = reader.load(paths).schema
    except (PySparkException, SparkClientError):
        return []
    if all(_POSITIONAL.fullmatch(name) for name in found.names):
        return []
    return sorted(_missing(found, context.spark.table(f"{quote(table.database)}.{quote(table.name)}").schema, ""))


def _missing(found: DataType, declared: DataType, prefix: str) -> Iterator[str]:
    """Yields the fields that a type of the files has and the table's has not. Names are compared as Hive does."""
    if isinstance(found, StructType) and isinstance(declared, StructType):
        known = {fold_column(field.name): field.dataType for field in declared}
        for field in found:
            name = f"{prefix}{field.name}"
            if fold_column(field.name) in known:
                yield from _missing(field.dataType, known[fold_column(field.name)], f"{name}.")
            else:
                yield name
    elif isinstance(found, ArrayType) and isinstance(declared, ArrayType):
        yield from _missing(found.elementType, declared.elementType, prefix)
    elif isinstance(found, MapType) and isinstance(declared, MapType):
        yield from _missing(found.keyType, declared.keyType, prefix)
        yield from _missing(found.valueType, declared.valueType, prefix)
