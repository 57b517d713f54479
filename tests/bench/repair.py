"""`python -m tests.bench.repair`: MSCK REPAIR TABLE of this library, and Spark's own, over the same new directories."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.spark import session


@click.command(help=__doc__)
@click.option("--partitions", default=20_000, show_default=True)
def main(partitions: int) -> None:
    """Prints both times."""
    with session() as spark, tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for number in range(partitions):
            (root / f"ds=day-{number:06}").mkdir()
            pq.write_table(pa.table({"a": [number]}), root / f"ds=day-{number:06}" / "part-0.parquet")
        for table in ("ours", "sparks"):
            spark.sql(
                f"CREATE EXTERNAL TABLE {table} (a BIGINT) PARTITIONED BY (ds STRING) STORED AS PARQUET "
                f"LOCATION 'file:{root}'"
            )
        ours = _seconds(lambda: spark.sql("MSCK REPAIR TABLE ours"))
        sparks = _seconds(lambda: spark.catalog.recoverPartitions("sparks"))
        counts = [len(spark.metastore.get_partition_names("default", table)) for table in ("ours", "sparks")]
        if counts != [partitions, partitions]:
            raise SystemExit(f"{counts} of {partitions} partitions were added")
    click.echo(f"{partitions:,} new directories: MSCK REPAIR TABLE {ours:.1f} s, Spark's own {sparks:.1f} s")


def _seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
