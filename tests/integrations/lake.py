"""A table of Parquet files whose partitions were overwritten, and an Iceberg table, on a server with an HTTP port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import load_catalog

from metastore.client import MetastoreClient
from tests.fixtures import server
from tests.fixtures.server import Server
from tests.integrations.neighbours import blocks
from tests.wire.monitoring.pages import HTTP
from tests.wire.reading.tables import make_table
from thrift_idl.gen.hive_metastore.ttypes import Database


@dataclass(frozen=True)
class Lake:
    """The server of `web.visits`, with columns country, price and ds, and of the Iceberg table `sales.orders`.

    Attributes:
        http: the address of the HTTP port.
    """

    server: Server
    http: str

    def program(self, language: str, *words: str) -> str:
        """Returns the examples of the how-to page that have one of the words, with the addresses of this server."""
        text = "\n".join(block for block in blocks(language) if any(word in block for word in words))
        assert text
        return text.replace("thrift://host:9083", self.server.uri).replace("http://host:9180", self.http)


@contextmanager
def served(database_url: str, folder: Path) -> Iterator[Lake]:
    folder.mkdir()
    with server.running(database_url, folder, "--http-port", "0") as running:
        match = HTTP.search(running.ready)
        assert match
        lake = Lake(running, match[1].rstrip("/"))
        _write_visits(running)
        _write_orders(lake)
        yield lake


def _write_visits(running: Server) -> None:
    with MetastoreClient(running.uri) as client:
        client.methods.create_database(Database("web"))
        data = {"country": "string", "price": "double"}
        visits = make_table(client, data, {"ds": "date"}, name="visits", database="web")
        for prices in ([100.0, 100.0], [3.0, 4.0]):  # the first ones are replaced
            visits.overwrite(["2026-01-05"], pa.table({"country": ["us", "ca"], "price": prices}))
        visits.overwrite(["2026-01-06"], pa.table({"country": ["us"], "price": [5.0]}))


def _write_orders(lake: Lake) -> None:
    catalog = load_catalog("lake", type="rest", uri=f"{lake.http}/iceberg")
    catalog.create_namespace("sales")
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    orders = catalog.create_table("sales.orders", rows.schema)
    orders.append(rows)
    orders.delete("id = 2")
