"""An Arrow dataset of the current files of a table."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from metastore.client.reading.file_systems import FileSystems
from metastore.client.reading.filters import row_filter
from metastore.client.reading.fragments import FragmentList
from metastore.client.reading.io_threads import UntilExit, one_more_io_thread
from metastore.client.reading.scan import Scan
from metastore.client.reading.schema import Column, Columns
from metastore.client.reading.snapshot import Snapshot

_SCAN_OPTIONS: Final = ("use_threads", "memory_pool", "batch_size")


class HiveDataset(ds.FileSystemDataset):  # type: ignore[misc]
    """The rows of a table at one moment, as a dataset of pyarrow.

    It fixes the files when it is created. Each read yields the rows of these files for which the filter is true, by the
    table's schema. pandas, polars, DuckDB and others read it as any other dataset. Arrow's own functions in C++ that
    take a dataset without calling its methods, such as `Scanner.from_dataset`, read the files without the filter.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        columns: Columns | None = None,
        extra: pc.Expression | None = None,
        systems: FileSystems | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Creates the dataset. `metastore.client.dataset` is its ordinary constructor.

        Args:
            snapshot: the files.
            columns: the columns of the dataset. None: all.
            extra: a filter in addition to the one of the snapshot.
            systems: the file systems of the files.
            progress: receives the number of files that have been read, and of all, during each read.
        """
        self._snapshot, self._columns = snapshot, columns or snapshot.columns
        self._extra, self._progress = extra, progress
        self._systems = systems or FileSystems()
        self._fragments = FragmentList(snapshot, self._systems)
        schema = self._columns.schema()
        super().__init__(self._fragments.kept(), schema, self._fragments.format, self._fragments.filesystem)

    def __reduce__(self) -> tuple[Any, ...]:
        return HiveDataset, (self._snapshot, self._columns, self._extra, self._systems)

    def scanner(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: Any,
    ) -> ds.Scanner:
        """Returns a scanner of the rows, with the parameters of `pyarrow.dataset.Dataset.scanner`.

        Reading raises StaleSnapshotError if a file has been removed or replaced since the dataset was created.
        """
        wanted = self._wanted(columns, filter)
        schema = pa.schema([pa.field(column.name, column.arrow) for column in wanted])
        reader = pa.RecordBatchReader.from_batches(schema, self._batches(wanted, filter, options))
        names = self.schema.names if columns is None else columns
        outer = {name: value for name, value in options.items() if name in _SCAN_OPTIONS}
        return ds.Scanner.from_batches(reader, columns=names, **outer)

    def to_batches(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: Any,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows, as `pyarrow.dataset.Dataset.to_batches`, but reads nothing for batches that nobody takes.

        Reading raises StaleSnapshotError as `scanner` does.
        """
        names = self.schema.names if columns is None else columns
        for batch in self._batches(self._wanted(columns, filter), filter, options):
            if isinstance(names, Mapping):
                yield from ds.dataset(pa.Table.from_batches([batch])).to_batches(columns=names)
            else:
                yield batch.select(names)

    def to_table(
        self,
        columns: Any = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's name
        **options: Any,
    ) -> pa.Table:
        """Reads the rows, as `pyarrow.dataset.Dataset.to_table`. Raises StaleSnapshotError as `scanner` does."""
        names = self.schema.names if columns is None else columns
        if isinstance(names, Mapping) or not names or not set(names) <= set(self.schema.names):
            return super().to_table(columns, filter, **options)
        wanted = self._wanted(columns, filter)
        tables = list(self._scan(wanted).tables(self._filters(filter), options))
        schema = pa.schema([pa.field(column.name, column.arrow) for column in wanted])
        return pa.concat_tables([schema.empty_table(), *tables]).select(names)

    def head(self, num_rows: int, columns: Any = None, **options: Any) -> pa.Table:
        """Returns the first rows, as `pyarrow.dataset.Dataset.head`."""
        found, missing = [], num_rows
        for batch in self.to_batches(columns, **options):
            found.append(batch[:missing])
            missing -= found[-1].num_rows
            if not missing:
                break
        return pa.Table.from_batches(found) if found else self.scanner(columns, **options).head(0)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:  # noqa: A002 - pyarrow's name
        """Returns the number of rows. Without a filter on columns of the files, it only reads their footers."""
        wanted = self._wanted([], filter)
        return sum(batch.num_rows for batch in self._batches(wanted, filter, options))

    def filter(self, expression: pc.Expression) -> HiveDataset:
        """Returns a dataset of the rows for which an expression is true, with the same files."""
        extra = expression if self._extra is None else self._extra & expression
        return HiveDataset(self._snapshot, self._columns, extra, self._systems, self._progress)

    def shard(self, index: int, count: int) -> HiveDataset:
        """Returns every `count`-th file, beginning with number `index`: the part of one of several workers.

        Raises ValueError unless `index` is from 0 to `count` - 1: two workers would read the same files.
        """
        if not 0 <= index < count:
            raise ValueError(f"shard {index} of {count} does not exist: the first is 0, the last is {count - 1}")
        sources, position = [], 0
        for source in self._snapshot.sources:
            first = (index - position) % count
            sources.append(replace(source, files=source.files[first::count]))
            position += len(source.files)
        part = replace(self._snapshot, sources=tuple(sources))
        return HiveDataset(part, self._columns, self._extra, self._systems)

    def replace_schema(self, schema: pa.Schema) -> ds.Dataset:
        """Returns a dataset in memory with the rows and another schema."""
        return ds.dataset(self.to_table()).replace_schema(schema)

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        """Reads the rows and sorts them. See `pyarrow.dataset.Dataset.sort_by`."""
        return ds.dataset(self.to_table()).sort_by(sorting, **options)

    def join(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:
        """Reads the rows and joins them. See `pyarrow.dataset.Dataset.join`."""
        return ds.dataset(self.to_table()).join(_in_memory(right_dataset), *args, **options)

    def join_asof(self, right_dataset: ds.Dataset, *args: Any, **options: Any) -> ds.InMemoryDataset:
        """Reads the rows and joins them. See `pyarrow.dataset.Dataset.join_asof`."""
        return ds.dataset(self.to_table()).join_asof(_in_memory(right_dataset), *args, **options)

    def _wanted(self, columns: Any, filter_: pc.Expression | None) -> tuple[Column, ...]:
        """Returns the columns that a read needs: those that it returns, and those that its filters name."""
        if columns is None:
            texts, names = [], set(self.schema.names)
        elif isinstance(columns, Mapping):
            texts, names = [str(expression) for expression in columns.values()], set()
        else:
            texts, names = [], set(columns)
        texts += [str(expression) for expression in (filter_, self._extra, self._predicate()) if expression is not None]
        if any("FieldPath" in text for text in texts):  # a column by its position
            return self._snapshot.columns.all
        return tuple(
            column
            for column in self._snapshot.columns.all
            if column.name in names or any(column.name in text for text in texts)
        )

    def _predicate(self) -> pc.Expression | None:
        predicate = self._snapshot.predicate
        return None if predicate is None else row_filter(self._snapshot.columns, predicate)

    def _batches(
        self, wanted: Sequence[Column], filter_: pc.Expression | None, options: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        return UntilExit(self._read(wanted, filter_, options))

    def _read(
        self, wanted: Sequence[Column], filter_: pc.Expression | None, options: Mapping[str, Any]
    ) -> Generator[pa.RecordBatch, None, None]:
        with one_more_io_thread():
            yield from self._scan(wanted).batches(self._filters(filter_), options)

    def _scan(self, wanted: Sequence[Column]) -> Scan:
        return Scan(self._snapshot, self._fragments, self._systems, tuple(wanted), self._progress)

    def _filters(self, filter_: pc.Expression | None) -> list[pc.Expression]:
        return [each for each in (self._predicate(), self._extra, filter_) if each is not None]


def _in_memory(dataset: ds.Dataset) -> ds.Dataset:
    return ds.dataset(dataset.to_table()) if isinstance(dataset, HiveDataset) else dataset
