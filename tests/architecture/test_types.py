"""Type checkers see the generated code, whose stubs say what the specifications say, and PySpark's own types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thrift_idl.stubs import GEN, stubs

ROOT = Path(__file__).parents[2]
GOOD = """
from pyspark.sql import SparkSession

from metastore.encoding.binary import EncodedStruct
from thrift_idl.gen.hive_metastore.ttypes import GetTableResult, NoSuchObjectException, Table
from thrift_idl.gen.metastore.ttypes import ScanRequest

table = Table(tableName="t", parameters={"a": "b"}, partitionKeys=[])
table.owner = None
GetTableResult(table=EncodedStruct(Table, b""))
ScanRequest("db", "t", catName="hive")
error: Exception = NoSuchObjectException("gone")
"""
WRONG = {
    "Table(nonsense=1)": 'Unexpected keyword argument "nonsense" for "Table"',
    "table.tablename": '"Table" has no attribute "tablename"',
    "Table(tableName=1)": 'Argument "tableName" to "Table" has incompatible type "int"',
    "table.parameters = []": "Incompatible types in assignment",
    "GetTableResult(table=EncodedStruct(ScanRequest, b''))": 'Argument 1 to "EncodedStruct" has incompatible type',
    "SparkSession.builder.nonsense()": '"Builder" has no attribute "nonsense"',
    "ScanRequest(tables='t')": 'Unexpected keyword argument "tables" for "ScanRequest"',
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says, with the settings of this project, of the good lines, and of each wrong one behind them."""
    program = tmp_path_factory.mktemp("types") / "program.py"
    program.write_text("\n".join([GOOD, *WRONG]))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.split(":", 1)[1] for line in done.stdout.splitlines()]


def test_the_stubs_say_what_the_specifications_say() -> None:
    written = {str(path.relative_to(GEN)): path.read_text() for path in GEN.rglob("*.pyi")}
    fresh = stubs()
    assert written.keys() == fresh.keys()
    assert [name for name, text in fresh.items() if written[name] != text] == [], "run  make generate"


def test_what_is_right_is_let_pass(found: list[str]) -> None:
    first = GOOD.count("\n") + 2
    assert [line for line in found if int(line.split(":")[0]) < first] == []


@pytest.mark.parametrize(("line", "error"), WRONG.items())
def test_what_is_wrong_is_seen(found: list[str], line: str, error: str) -> None:
    number = GOOD.count("\n") + 2 + list(WRONG).index(line)
    assert [text for text in found if text.startswith(f"{number}: error: {error}")]
