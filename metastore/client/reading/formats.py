"""Which tables Arrow reads, and with which of its file formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds

from metastore.client.errors import UnreadableTableError
from metastore.client.reading.json_lines import JsonLines
from metastore.client.reading.lines import LINE, LineSplitter
from metastore.client.reading.schema import PROVIDER
from metastore.client.structs import ScanStorage, Table

# Parameters of tables of other formats → the program that reads them. Of the first that matches.
_TABLE_FORMATS: Final = {
    "iceberg": "an Iceberg table: read it with PyIceberg, load_catalog('hive', uri=…).load_table('{table}')",
    "delta": "a Delta table: read it with the package deltalake, DeltaTable('{location}')",
    "hudi": "a Hudi table: read it with the package hudi, or with Spark",
}
_VIEWS: Final = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")
_TEXT_SERDE: Final = "LazySimpleSerDe"
_CSV_SERDE: Final = "OpenCSVSerde"
_NO_DELIMITER: Final = "\x7f"  # hardly in a text; a line with it is an error
_HIVE_NULL: Final = "\\N"
_CHARACTER: Final = {"\\t": "\t", "\\001": "\x01"}


class Format(NamedTuple):
    """An Arrow format. `lines`: it reads whole lines, which these rules split into columns."""

    arrow: ds.FileFormat
    suffix: str
    lines: LineSplitter | JsonLines | None = None


def check_readable(table: Table) -> None:
    """Raises UnreadableTableError if the rows are not in files of Hive tables. The text says what reads them."""
    name, parameters = table.full_name, {key.lower(): value for key, value in table.parameters.items()}
    if table.table_type in _VIEWS:
        raise UnreadableTableError(f"{name} is a view: run its query with Spark or Trino, or read the tables in it")
    named = " ".join(parameters.get(key, "") for key in ("table_type", PROVIDER, "storage_handler", "provider")).lower()
    for kind, text in _TABLE_FORMATS.items():
        if kind in f"{named} {table.storage.input_format}".lower():
            raise UnreadableTableError(f"{name} is {text.format(table=name, location=table.location)}")
    if parameters.get("transactional", "").lower() == "true":
        raise UnreadableTableError(f"{name} is a transactional table of Hive: read it with Hive or Trino")
    if handler := parameters.get("storage_handler"):
        raise UnreadableTableError(f"{name} is stored by {handler}, which only Hive reads")


def format_of(table: Table, storage: ScanStorage) -> Format:
    """Returns the format of files with a storage descriptor. Raises UnreadableTableError if Arrow does not read it."""
    provider = table.parameters.get(PROVIDER, "hive").lower()
    read_by = (storage.serde if provider == "hive" else provider).lower()
    options = {**table.storage.serde_parameters, **storage.serde_parameters}
    if "parquet" in read_by:
        return Format(ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"), "parquet")
    if "orc" in read_by:
        return Format(ds.OrcFileFormat(), "orc")
    if "json" in read_by:
        return _lines(JsonLines(), "json", {})
    names = [column.name for column in table.columns]  # not those of the partition, as in Spark
    if provider == "hive" and _TEXT_SERDE.lower() in read_by:
        return _text(names, options, table.parameters)
    if provider == "hive" and _CSV_SERDE.lower() in read_by:
        return _csv(names, options, table.parameters)
    reader = "fastavro or polars.read_avro, on the files that `metastore files` lists" if "avro" in read_by else "Spark"
    raise UnreadableTableError(
        f"{table.full_name} is stored as {storage.serde or provider}, which Arrow does not read: use {reader}"
    )


def _text(names: Sequence[str], options: Mapping[str, str], parameters: Mapping[str, str]) -> Format:
    """Hive's text files (LazySimpleSerDe): no quotes, and \\N for NULL."""
    delimiter = options.get("field.delim") or options.get("serialization.format") or "\x01"
    delimiter = "\x01" if delimiter == "1" else _CHARACTER.get(delimiter, delimiter)
    null = options.get("serialization.null.format") or parameters.get("serialization.null.format") or _HIVE_NULL
    escape = options.get("escape.delim", "")[:1]
    return _lines(LineSplitter(tuple(names), delimiter[:1], null, escape=escape), "txt", parameters)


def _csv(names: Sequence[str], options: Mapping[str, str], parameters: Mapping[str, str]) -> Format:
    lines = LineSplitter(
        tuple(names),
        options.get("separatorChar", ",")[:1],
        quote=options.get("quoteChar", '"')[:1],
        escape=options.get("escapeChar", "\\")[:1],
    )
    return _lines(lines, "csv", parameters)


def _lines(lines: LineSplitter | JsonLines, suffix: str, parameters: Mapping[str, str]) -> Format:
    parse = csv.ParseOptions(delimiter=_NO_DELIMITER, quote_char=False, ignore_empty_lines=suffix == "json")
    read = csv.ReadOptions(column_names=[LINE], skip_rows=int(parameters.get("skip.header.line.count") or 0))
    convert = csv.ConvertOptions(column_types={LINE: pa.string()}, strings_can_be_null=False)
    return Format(ds.CsvFileFormat(parse, convert_options=convert, read_options=read), suffix, lines)
