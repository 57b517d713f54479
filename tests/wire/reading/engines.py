"""The engines that read datasets, as their documentation says, each by a function that returns the column `id`."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import polars as pl
import pyarrow.dataset as ds


def _in_duckdb(found: ds.Dataset) -> list[int]:
    with duckdb.connect() as connection:
        return [number for (number,) in connection.from_arrow(found).project("id").fetchall()]


ENGINES: dict[str, Callable[[ds.Dataset], list[int]]] = {
    "pyarrow": lambda found: [number for batch in found.to_batches() for number in batch["id"].to_pylist()],
    "pandas": lambda found: found.to_table().to_pandas()["id"].tolist(),
    "polars": lambda found: pl.scan_pyarrow_dataset(found).select("id").collect()["id"].to_list(),
    "DuckDB": _in_duckdb,
}
