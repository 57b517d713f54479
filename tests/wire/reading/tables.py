"""Tables whose files Arrow writes, published as the Spark library publishes them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from metastore.client import MetastoreClient
from metastore.client.structs import Publication, PublishMode, PublishPartition
from metastore.domain.partition_names import value_path
from tests.wire.builders import columns, descriptor, new_database, table
from thrift_idl.gen.hive_metastore.ttypes import SerDeInfo

ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
_NUMBERS = itertools.count()


@dataclass
class Written:
    """A table, whose partitions are written with `overwrite` and `append`."""

    client: MetastoreClient
    database: str
    name: str = "t"

    @property
    def full_name(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def root(self) -> Path:
        return Path(self.location.removeprefix("file:"))

    @property
    def location(self) -> str:
        return str(self.client.get_table(self.database, self.name).location)

    def overwrite(self, values: Sequence[str], *rows: pa.Table) -> str:
        """Publishes files in a directory of their own, and returns it."""
        query_id = self.begin()
        location = f"{self.root}/_versions/{query_id}/{self._path(values)}"
        for each in rows:
            self.write(location, query_id, each)
        self.publish(query_id, values, PublishMode.OVERWRITE, f"file:{location}")
        return location

    def append(self, values: Sequence[str], location: str, *rows: pa.Table) -> None:
        query_id = self.begin()
        for each in rows:
            self.write(location, query_id, each)
        self.publish(query_id, values, PublishMode.APPEND, f"file:{location}")

    def begin(self) -> str:
        return self.client.begin_write(self.database, self.name).query_id

    def write(self, location: str, query_id: str, rows: pa.Table, name: str = "") -> Path:
        """Writes a file whose name has the id of the write."""
        Path(location).mkdir(parents=True, exist_ok=True)
        path = Path(location) / f"{name}{query_id}-{next(_NUMBERS)}.parquet"
        write_file(path, rows)
        return path

    def publish(self, query_id: str, values: Sequence[str], mode: PublishMode, location: str, **fields: Any) -> None:
        entry = PublishPartition(tuple(values), mode, location, **fields)
        known = self.client.get_table(self.database, self.name)
        self.client.publish([Publication(known, query_id, [entry])])

    def publish_all(self, query_id: str, locations: Mapping[tuple[str, ...], str]) -> None:
        """Overwrites several partitions in one transaction."""
        entries = [PublishPartition(values, PublishMode.OVERWRITE, each) for values, each in locations.items()]
        known = self.client.get_table(self.database, self.name)
        self.client.publish([Publication(known, query_id, entries)])

    def _path(self, values: Sequence[str]) -> str:
        keys = [key.name for key in self.client.get_table(self.database, self.name).partition_columns]
        return value_path(keys, values) if values else "whole"


def write_file(path: Path, rows: pa.Table) -> None:
    if path.suffix == ".orc":
        orc.write_table(rows, path)
    else:
        pq.write_table(rows, path)


def make_table(
    client: MetastoreClient,
    data: Mapping[str, str],
    keys: Mapping[str, str] | None = None,
    *,
    name: str = "t",
    database: str = "",
    formats: Sequence[str] = (),
    serde_parameters: Mapping[str, str] | None = None,
    sd: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Written:
    """Creates a table, in a new database unless one is named. The columns are names and Hive's types."""
    more: dict[str, Any] = dict(sd or {})
    if formats:
        more |= {"inputFormat": formats[0], "outputFormat": formats[1]}
        more["serdeInfo"] = SerDeInfo(serializationLib=formats[2], parameters=dict(serde_parameters or {}))
    home = database or new_database(client.methods)
    stored = descriptor(cols=columns(*data.items()), **more)
    client.methods.create_table(table(home, name, list((keys or {}).items()), sd=stored, **fields))
    return Written(client, home, name)
