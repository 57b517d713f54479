"""DuckDB reads Iceberg tables by REST that PyIceberg has written by Thrift, as docs/how-to/iceberg-rest.md says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.interop.maven import UnavailableError
from tests.interop.python import python_with
from tests.wire.console.conftest import Console
from tests.wire.iceberg.conftest import console as console
from tests.wire.iceberg.conftest import make_table

VERSION, BUILD = "1.4.4", "1.4.4.20260205"
EXTENSIONS = ("httpfs", "avro", "iceberg")
PAGE = Path(__file__).parents[2] / "docs/how-to/iceberg-rest.md"
SCRIPT = """
import sys
from pathlib import Path
import duckdb, duckdb_ext
folder = next(Path(duckdb_ext.__path__[0]).glob("extensions/*/*"))
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for name in ("httpfs", "avro", "iceberg"):
    connection.execute(f"LOAD '{folder / name}.duckdb_extension'")
for statement in sys.argv[1:]:
    rows = connection.execute(statement).fetchall()
print(sorted(rows))
"""


def test_duckdb_attaches_the_catalog(console: Console) -> None:
    packages = [f"duckdb=={VERSION}", *(f"duckdb-ext-{name}=={BUILD}" for name in EXTENSIONS)]
    try:
        python = python_with(*packages)
    except UnavailableError as error:
        pytest.skip(str(error))
    database, _ = make_table(console)
    match = re.search(r"ATTACH .*(?=;)", PAGE.read_text())
    assert match
    attach = match[0].replace("http://localhost:9180", console.url)
    select = f"SELECT id, name FROM lake.{database}.t"
    ran = subprocess.run(
        [python, "-c", SCRIPT, attach, select], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout.strip() == "[(1, 'n1'), (2, 'n2'), (3, 'n3')]", ran.stderr
