"""The code of the page on reading with Python runs as printed. A part whose library is not installed is skipped."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metastore.client import MetastoreClient
from tests.fixtures.server import Server
from tests.wire.reading.tables import Written, make_table
from thrift_idl.gen.hive_metastore.ttypes import Database

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "read-with-python.md").read_text()
SECTIONS = {
    title: re.findall(r"^```python\n(.*?)^```", body, re.MULTILINE | re.DOTALL)
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if title != "Write from pandas"  # in tests/spark/test_readers.py
}
EXPECTED = {
    "pandas": "2026-01-05    6.0\n2026-01-06    4.0",
    "polars": "│ 2026-01-05 ┆ 6.0   │",
    "DuckDB": "[(datetime.date(2026, 1, 5), 2), (datetime.date(2026, 1, 6), 1)]\n[(3,)]",
    "Dask": "ca     2.0\nus    10.0",
    "Ray Data": "12.0",
    "PyTorch": "tensor(8., dtype=torch.float64)",
}
LIBRARIES = {"DuckDB": ["duckdb"], "Dask": ["dask"], "Ray Data": ["ray"], "PyTorch": ["torch"], "polars": ["polars"]}


@pytest.fixture(scope="module")
def visits(metastore: MetastoreClient) -> Written:
    metastore.methods.create_database(Database("web"))
    columns = {"country": "string", "price": "double"}
    written = make_table(metastore, columns, {"ds": "date"}, name="visits", database="web")
    for day, countries, prices in (("5", ["us", "us", "ca"], [3.0, 3.0, 2.0]), ("6", ["us"], [4.0])):
        rows = pa.table({"country": countries, "price": prices})
        written.overwrite([f"2026-01-0{day}"], rows)
    return written


@pytest.mark.filterwarnings("ignore")  # of other projects' libraries
@pytest.mark.parametrize("section", [title for title, blocks in SECTIONS.items() if blocks])
def test_the_code_runs_as_printed(
    section: str, visits: Written, metastore_server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in LIBRARIES.get(section, ()):
        pytest.importorskip(library)
    names: dict[str, Any] = {}
    for title in dict.fromkeys(("Read a table", section)):
        for number, block in enumerate(SECTIONS[title]):
            text = block.replace("thrift://host:9083", metastore_server.uri)
            exec(compile(text, f"{title}, block {number + 1}", "exec"), names)
    assert EXPECTED.get(section, "") in capsys.readouterr().out
    if section == "Read a table":
        assert names["frame"]["ds"].tolist() == [datetime.date(2026, 1, 5)] * 3


def test_every_section_with_code_is_known() -> None:
    assert {title for title, blocks in SECTIONS.items() if blocks} == {"Read a table", *EXPECTED}
