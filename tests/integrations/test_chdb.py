"""ClickHouse, in the process of Python, reads datasets of Hive tables and Iceberg tables by REST, as the page says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from tests.fixtures.server import Server
from tests.integrations.lake import Lake
from tests.integrations.neighbours import run
from tests.integrations.venvs import installed
from tests.wire.monitoring.pages import HTTP
from tests.wire.test_file_operations_s3 import bucket as bucket


@pytest.fixture
def python() -> Path:
    return installed("chdb-4.4", "chdb==4.4.*", "-e", ".[arrow]") / "bin/python"


def test_a_hive_table(python: Path, lake: Lake, tmp_path: Path) -> None:
    answer = "\nimport json\nprint(json.dumps([json.loads(str(prices))['data'], json.loads(str(days))['data']]))"
    (tmp_path / "program.py").write_text(lake.program("python", "Python(visits)", "file(") + answer)
    prices, days = json.loads(run("chdb", [python, "program.py"], tmp_path).splitlines()[-1])
    assert prices == [{"country": "ca", "price": 4}, {"country": "us", "price": 8}]
    assert days == [{"ds": "2026-01-05", "price": 7}, {"ds": "2026-01-06", "price": 5}]


def test_an_iceberg_table_on_s3(
    python: Path, bucket: Any, database_url: str, start_metastore: Callable[..., Server], tmp_path: Path
) -> None:
    options = ["--warehouse", "s3a://bucket/w", "--allowed-locations", "", "--http-port", "0"]
    server = start_metastore(database_url, *options)
    match = HTTP.search(server.ready)
    assert match
    here = Lake(server, match[1].rstrip("/"))
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    storage = {"s3.endpoint": endpoint, "s3.access-key-id": "key", "s3.secret-access-key": "secret"}
    catalog = load_catalog("lake", type="rest", uri=f"{here.http}/iceberg", **storage)
    catalog.create_namespace("sales")
    rows = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    orders = catalog.create_table("sales.orders", rows.schema)
    orders.append(rows)
    orders.delete("id = 2")
    program = here.program("python", "DataLakeCatalog").replace("https://s3.eu-central-1.amazonaws.com", endpoint)
    program = program.replace("'KEY', 'SECRET'", "'key', 'secret'")
    (tmp_path / "program.py").write_text(program + "\nprint(str(orders).strip().replace('\\n', ' '))")
    output = run("chdb", [python, "program.py"], tmp_path)
    assert json.loads(output.splitlines()[-1])["data"] == [{"id": 1, "name": "a"}, {"id": 3, "name": "c"}]
