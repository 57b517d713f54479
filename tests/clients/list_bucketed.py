"""List-bucketed tables in our library's layouts, written without it: directories for heavy values, and flat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from tests.wire.builders import PARQUET, columns, descriptor, partition, skewed, table
from thrift_idl.gen.hive_metastore.ttypes import SerDeInfo, SkewedInfo, StorageDescriptor

ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
# The beginning of file names that only Spark reads.
MARK = "_rows_are_in_directories_that_Spark_overlooks=see_skew.layout="
FORMATS = {"parquet": PARQUET, "orc": ORC}
# Partition → value → rows; None stands for all undeclared values.
ROWS: dict[str, dict[int | None, list[tuple[int, str]]]] = {
    "1": {1: [(1, "a"), (1, "b")], 2: [(2, "c")], None: [(7, "d")]},
    "2": {1: [(1, "e")], None: [(8, "f"), (9, "g")]},
}
ALL = sorted([x, s, ds] for ds, values in ROWS.items() for rows in values.values() for x, s in rows)


def create(client: Any, database: str, folder: Path) -> None:
    """The tables directories_parquet, directories_orc, flat_parquet and flat_orc (x INT, s STRING) by ds."""
    for form in FORMATS:
        for layout in ("directories", "flat"):
            _create(client, database, folder / f"{layout}_{form}", layout, form)


def _create(client: Any, database: str, folder: Path, layout: str, form: str) -> None:
    sd = _descriptor(folder, form, {})
    parameters = {"EXTERNAL": "TRUE", "skew.layout": layout}
    made = table(database, folder.name, [("ds", "string")], sd=sd, parameters=parameters, tableType="EXTERNAL_TABLE")
    client.create_table(made)
    for ds, values in ROWS.items():
        directory = folder / f"ds={ds}"
        places = {}
        if layout == "directories":
            directory.mkdir(parents=True)
            (directory / f"{MARK}abc-1").write_text("not a file of rows")
        for value, rows in values.items():
            name = _name(layout, value)
            _write(directory / f"{name}000000_0", form, rows)
            if value is not None and layout == "directories":
                places[str(value),] = f"file:{directory}/{name.rstrip('/')}"
        client.add_partition(partition(database, folder.name, [ds], sd=_descriptor(directory, form, places)))


def _name(layout: str, value: int | None) -> str:
    if layout == "flat":
        return "skew=" if value is None else f"skew.x={value}="
    return "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/" if value is None else f"x={value}/"


def _write(file: Path, form: str, rows: Sequence[tuple[int, str]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    numbers, texts = zip(*rows, strict=True)
    data = pa.table({"x": pa.array(numbers, pa.int32()), "s": pa.array(texts, pa.string())})
    (pa.orc if form == "orc" else pa.parquet).write_table(data, str(file))


def _descriptor(directory: Path, form: str, places: dict[tuple[str, ...], str]) -> StorageDescriptor:
    read, written, serde = FORMATS[form]
    info: SkewedInfo = skewed(["x"], [["1"], ["2"]])
    info.skewedColValueLocationMaps = places
    return descriptor(
        f"file:{directory}",
        cols=columns(("x", "int"), ("s", "string")),
        inputFormat=read,
        outputFormat=written,
        serdeInfo=SerDeInfo(serializationLib=serde, parameters={"serialization.format": "1"}),
        skewedInfo=info,
        storedAsSubDirectories=True,
    )
