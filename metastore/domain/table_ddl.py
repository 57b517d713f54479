"""CREATE TABLE statements of a table for Spark, Hive and Trino, to be read and copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from metastore.domain.partition_names import DEFAULT_PARTITION

_TRINO_TYPES: Final = {
    "string": "varchar",
    "int": "integer",
    "float": "real",
    "binary": "varbinary",
    "timestamp": "timestamp(3)",
    "timestamp with local time zone": "timestamp(3) with time zone",
}
# By a part of the input format's class name.
_FORMATS: Final = (("Parquet", "PARQUET"), ("Orc", "ORC"), ("Avro", "AVRO"), ("RCFile", "RCFILE"))
_JSON: Final = "JsonSerDe"
_CSV: Final = "OpenCSVSerde"
_TOKEN: Final = re.compile(r"`(?:[^`]|``)*`|[<>,:()]|[^<>,:()`]+")
# The name of a struct's field, as `type_strings` accepts it: any text, in which backticks protect all characters.
_FIELD: Final = re.compile(r"(?<=[<,])((?:`[^`]*(?:``[^`]*)*`|[^<>,:`]+|`)++):")
_SAFE_FIELD: Final = re.compile(r"\w+|`(?:[^`]|``)*`", re.ASCII)
# Parameters that the server or writers compute: a new table must not have them.
_COMPUTED: Final = re.compile(
    r"(numFiles|numRows|totalSize|rawDataSize|numPartitions|transient_lastDdlTime|COLUMN_STATS_ACCURATE|EXTERNAL|comment"
    r"|bucketing_version|numFilesErasureCoded|skew\.survey|spark_query_id|spark\.sql\..*|last_modified_.*)"
)


class Column(NamedTuple):
    """A column. `comment` may be empty."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True)
class TableDefinition:
    """The clauses of CREATE TABLE."""

    database: str
    name: str
    type: str
    columns: Sequence[Column]
    keys: Sequence[Column]
    location: str = ""
    input_format: str = ""
    output_format: str = ""
    serde: str = ""
    serde_parameters: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    bucket_columns: Sequence[str] = ()
    buckets: int = 0
    sort_columns: Sequence[tuple[str, bool]] = ()
    skewed_columns: Sequence[str] = ()
    skewed_values: Sequence[Sequence[str]] = ()
    as_directories: bool = False
    view_text: str = ""

    @property
    def is_external(self) -> bool:
        return self.type == "EXTERNAL_TABLE"

    @property
    def format(self) -> str:
        """The name of the file format; empty for one without a name."""
        if _JSON in self.serde:
            return "JSON"
        if _CSV in self.serde:
            return "CSV"
        named = (name for part, name in _FORMATS if part in self.input_format)
        return next(named, "TEXTFILE" if "TextInputFormat" in self.input_format else "")

    @property
    def own_parameters(self) -> dict[str, str]:
        """Parameters that a user has set."""
        return {name: text for name, text in sorted(self.parameters.items()) if not _COMPUTED.fullmatch(name)}


def statements(table: TableDefinition) -> dict[str, str]:
    """Returns the statements by engine."""
    if table.view_text:
        quotes = (("Spark", _ticked), ("Hive", _ticked), ("Trino", _doubled))
        return {engine: _view(table, quoted) for engine, quoted in quotes}
    of_hive = _hive(table)  # Spark accepts SKEWED BY with the client library
    return {"Spark": of_hive, "Hive": of_hive, "Trino": _trino(table)}


def _view(table: TableDefinition, quoted: Callable[[str], str]) -> str:
    return f"CREATE VIEW {quoted(table.database)}.{quoted(table.name)} AS\n{table.view_text.strip()};"


def _hive(table: TableDefinition) -> str:
    lines = [
        f"CREATE {'EXTERNAL ' if table.is_external else ''}TABLE {_ticked(table.database)}.{_ticked(table.name)} ("
    ]
    lines += [",\n".join(f"  {_column(column)}" for column in table.columns) + ")"]
    return "\n".join([*lines, *_clauses(table)]) + ";"


def _clauses(table: TableDefinition) -> list[str]:
    """Returns the clauses after the columns."""
    clauses = [f"COMMENT {_text(table.comment)}"] if table.comment else []
    if table.keys:
        clauses.append(f"PARTITIONED BY ({', '.join(_column(key) for key in table.keys)})")
    if table.buckets > 0 and table.bucket_columns:
        order = ", ".join(f"{_ticked(name)}{'' if ascending else ' DESC'}" for name, ascending in table.sort_columns)
        columns = ", ".join(map(_ticked, table.bucket_columns))
        clauses.append(
            f"CLUSTERED BY ({columns}){f' SORTED BY ({order})' if order else ''} INTO {table.buckets} BUCKETS"
        )
    if table.skewed_columns:
        directories = "\nSTORED AS DIRECTORIES" if table.as_directories else ""
        clauses.append(f"{_skewed_by(table.skewed_columns, table.skewed_values)}{directories}")
    clauses += _storage(table)
    if table.is_external and table.location:
        clauses.append(f"LOCATION {_text(table.location)}")
    if own := table.own_parameters:
        pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in own.items())
        clauses.append(f"TBLPROPERTIES ({pairs})")
    return clauses


def skew_statement(database: str, table: str, columns: Sequence[str], values: Sequence[Sequence[str]]) -> str:
    """Returns the statement that gives each of the values a directory in new partitions."""
    name = f"{_ticked(database)}.{_ticked(table)}"
    return f"ALTER TABLE {name} {_skewed_by(columns, values)} STORED AS DIRECTORIES;"


def _skewed_by(columns: Sequence[str], values: Sequence[Sequence[str]]) -> str:
    return f"SKEWED BY ({', '.join(map(_ticked, columns))}) ON ({', '.join(map(_tuple, values))})"


def _storage(table: TableDefinition) -> list[str]:
    if table.format in ("JSON", "CSV") or not table.format:
        lines = [f"ROW FORMAT SERDE {_text(table.serde)}"] if table.serde else []
        if table.serde_parameters:
            pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in sorted(table.serde_parameters.items()))
            lines.append(f"WITH SERDEPROPERTIES ({pairs})")
        if table.input_format:
            lines.append(f"STORED AS INPUTFORMAT {_text(table.input_format)} OUTPUTFORMAT {_text(table.output_format)}")
        return lines
    return [f"STORED AS {table.format}"]


def _trino(table: TableDefinition) -> str:
    columns = [*table.columns, *table.keys]
    comments = [f" COMMENT {_quoted(column.comment)}" if column.comment else "" for column in columns]
    texts = [
        f"  {_doubled(column.name)} {trino_type(column.type)}{comment}"
        for column, comment in zip(columns, comments, strict=True)
    ]
    options = [f"format = {_quoted(table.format)}"] if table.format else []
    if table.keys:
        options.append(f"partitioned_by = ARRAY[{', '.join(_quoted(key.name) for key in table.keys)}]")
    if table.buckets > 0 and table.bucket_columns:
        options.append(f"bucketed_by = ARRAY[{', '.join(map(_quoted, table.bucket_columns))}]")
        options.append(f"bucket_count = {table.buckets}")
    if table.is_external and table.location:
        options.append(f"external_location = {_quoted(table.location)}")
    head = f"CREATE TABLE {_doubled(table.database)}.{_doubled(table.name)} (\n" + ",\n".join(texts) + "\n)"
    comment = f"\nCOMMENT {_quoted(table.comment)}" if table.comment else ""
    storage = "\nWITH (\n" + ",\n".join(f"  {option}" for option in options) + "\n)" if options else ""
    return f"{head}{comment}{storage};"


def trino_type(text: str) -> str:
    """Returns Trino's name of a Hive type: row(a integer) for struct<a:int>."""
    tokens = [token.strip() for token in _TOKEN.findall(_with_quoted_names(text)) if token.strip()]
    pieces: list[str] = []
    brackets: list[str] = []
    expects_name = False
    for token in tokens:
        lowered = token.lower()
        match token:
            case "<":
                brackets.append(pieces[-1])
                expects_name = pieces[-1] == "row"
                pieces.append("(")
            case "(":
                brackets.append("parameters")
                expects_name = False
                pieces.append("(")
            case ">" | ")":
                brackets = brackets[:-1]
                pieces.append(")")
            case ":":
                pieces.append(" ")
                expects_name = False
            case ",":
                pieces.append(", " if len(brackets) > 1 or brackets != ["parameters"] else ",")
                expects_name = bool(brackets) and brackets[-1] == "row"
            case _ if expects_name:
                pieces.append(_doubled(token[1:-1].replace("``", "`") if token.startswith("`") else token))
            case _:
                pieces.append("row" if lowered == "struct" else _TRINO_TYPES.get(lowered, lowered))
    return "".join(pieces)


def _column(column: Column) -> str:
    comment = f" COMMENT {_text(column.comment)}" if column.comment else ""
    kind = column.type.upper() if column.type.isalpha() else _with_quoted_names(column.type)
    return f"{_ticked(column.name)} {kind}{comment}"


def _with_quoted_names(type_string: str) -> str:
    """Returns the type with names of fields in backticks: a name can contain the end of the statement."""

    def quoted(match: re.Match[str]) -> str:
        name = match[1].strip()
        return f"{name if _SAFE_FIELD.fullmatch(name) else _ticked(name)}:"

    return _FIELD.sub(quoted, type_string)


def _tuple(value: Sequence[str]) -> str:
    texts = ", ".join("NULL" if text == DEFAULT_PARTITION else _text(text) for text in value)
    return texts if len(value) == 1 else f"({texts})"


def _ticked(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def _doubled(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    """A literal of Spark and Hive."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _quoted(text: str) -> str:
    """A literal of Trino."""
    return "'" + text.replace("'", "''") + "'"
