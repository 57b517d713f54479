"""`dataset`, `read` and `files`: the entry points for programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metastore.client.client import MetastoreClient, connect
from metastore.client.credentials import Credentials
from metastore.client.errors import NoSuchTableError
from metastore.client.reading.dataset import HiveDataset
from metastore.client.reading.file_systems import FileSystems, engine_path
from metastore.client.reading.filters import check_expression
from metastore.client.reading.progress import progress_bar
from metastore.client.reading.snapshot import Snapshots
from metastore.domain.partition_names import DEFAULT_PARTITION

_URI: Final = "METASTORE_URI"
_DEFAULT_URI: Final = "thrift://127.0.0.1:9083"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A current file of a table.

    Attributes:
        path: a local path, or a URI such as `s3://bucket/file`, as pandas, polars and DuckDB take it.
        bytes: its size.
        partition: the values of the partition columns as texts, None for NULL.
        rows: the number of rows, if it was asked for and the format records it.
    """

    path: str
    bytes: int
    partition: Mapping[str, str | None]
    rows: int | None = None


def dataset(
    uri: str | Sequence[str] | MetastoreClient,
    table: str,
    where: str | pc.Expression | None = None,
    columns: Sequence[str] | None = None,
    *,
    filesystem: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    user: str | None = None,
    credentials: Credentials | None = None,
) -> HiveDataset:
    """Returns the rows of a table at this moment as a dataset of pyarrow, without Java and without Spark.

    The files are fixed by this call. An overwrite leaves them in place for the server's `replaced_file_retention`; a
    later read raises StaleSnapshotError.

    Args:
        uri: addresses of the metastore's servers, as in `hive.metastore.uris`, or a client.
        table: `database.table`, or a table of the database `default`.
        where: a filter, such as `ds = '2026-01-05' AND country IN ('us', 'ca')`: partitions, directories of skewed
            values and rows for which it is not true are left out. An expression of pyarrow prunes partitions in this
            process only.
        columns: names of columns. Default: all.
        filesystem: a file system of pyarrow or fsspec, instead of the ones that the locations name.
        storage_options: parameters of fsspec's file system for remote locations, such as credentials, as in pandas.
        progress: True shows progress on standard error, False never does. Default: if that is a terminal. A function
            receives the number of finished steps and their total.
        user: user name. Default: as for `connect`.
        credentials: default: `Credentials.from_environment()`.

    Raises:
        NoSuchTableError: the table does not exist, or you may not see it.
        PermissionDeniedError: you may not read it.
        UnreadableTableError: a view, or a table that only another program reads; the text names it.
        InvalidFilterError: `where` or `columns` name an unknown column, or `where` is no filter.
    """
    bar = progress_bar(table, progress)
    text = where if isinstance(where, str) else None
    systems = FileSystems(filesystem, storage_options)
    with _client(uri, user, credentials) as client:
        snapshot = Snapshots(client, systems, bar).take(*_split(table), text)
    expression = None if text is not None else where
    if expression is not None:
        check_expression(snapshot.columns, expression)
    return HiveDataset(snapshot, snapshot.columns.chosen(columns), expression, systems, bar)


def read(
    table: str,
    where: str | pc.Expression | None = None,
    columns: Sequence[str] | None = None,
    *,
    uri: str | Sequence[str] | MetastoreClient | None = None,
    **options: Any,
) -> pa.Table:
    """Returns rows of a table as a table of pyarrow: `read("db.t").to_pandas()`.

    `uri`: default: the environment variable METASTORE_URI, else thrift://127.0.0.1:9083. Other parameters and errors
    are those of `dataset`.
    """
    return dataset(uri or os.environ.get(_URI) or _DEFAULT_URI, table, where, columns, **options).to_table()


def files(
    uri: str | Sequence[str] | MetastoreClient,
    table: str,
    where: str | None = None,
    *,
    rows: bool = False,
    filesystem: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
    user: str | None = None,
    credentials: Credentials | None = None,
) -> Iterator[TableFile]:
    """Yields the current files of a table that can have rows for which a filter is true.

    For formats that `dataset` does not read, and for engines that take a list of files. Files hold the columns that are
    not partition columns, by the schema with which they were written.

    Args:
        uri: as for `dataset`.
        table: as for `dataset`.
        where: a text as for `dataset`. The files may have other rows, too.
        rows: also count the rows of each file, from its footer.
        filesystem: as for `dataset`.
        storage_options: as for `dataset`.
        progress: as for `dataset`.
        user: as for `dataset`.
        credentials: as for `dataset`.

    Raises the errors of `dataset`.
    """
    systems = FileSystems(filesystem, storage_options)
    with _client(uri, user, credentials) as client:
        snapshot = Snapshots(client, systems, progress_bar(table, progress)).take(*_split(table), where)
    return _table_files(snapshot, systems, rows=rows)


def _table_files(snapshot: Any, systems: FileSystems, *, rows: bool) -> Iterator[TableFile]:
    from metastore.client.reading.formats import format_of

    for source in snapshot.sources:
        for file in source.files:
            partition = source.plan.partitions[file.partition]
            values = {
                key: None if text == DEFAULT_PARTITION else text
                for key, text in zip(source.keys, partition.values, strict=False)
            }
            count = None
            if rows:
                form = format_of(source.table, source.plan.storages[file.storage])
                system, path = systems.of(file.location)
                count = None if form.lines else form.arrow.make_fragment(path, system).count_rows()
            yield TableFile(engine_path(file.location), file.bytes, values, count)


def _split(table: str) -> tuple[str, str]:
    database, dot, name = table.rpartition(".")
    if not name or (dot and not database) or "." in database:
        raise NoSuchTableError(f"{table!r} is not the name of a table; write database.table")
    return database or "default", name


@contextmanager
def _client(
    uri: str | Sequence[str] | MetastoreClient, user: str | None, credentials: Credentials | None
) -> Iterator[MetastoreClient]:
    """Yields a client; closes it afterwards unless the caller has passed it."""
    if isinstance(uri, MetastoreClient):
        yield uri
        return
    with connect(uri, user=user, credentials=credentials) as client:
        yield client
