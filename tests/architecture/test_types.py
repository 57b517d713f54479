"""Type checkers check uses of the generated code, by stubs made from its specifications, and of PySpark."""

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
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Mypy's messages about GOOD and, after it, each line of WRONG, with the settings of this project."""
    program = tmp_path_factory.mktemp("types") / "program.py"
    program.write_text("\n".join([GOOD, *WRONG]))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(program)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return [line.split(":", 1)[1] for line in result.stdout.splitlines()]


def test_the_stubs_match_the_specifications() -> None:
    written = {str(path.relative_to(GEN)): path.read_text() for path in GEN.rglob("*.pyi")}
    fresh = stubs()
    assert written.keys() == fresh.keys()
    assert [name for name, text in fresh.items() if written[name] != text] == [], "run  make generate"


def test_correct_lines_have_no_errors(messages: list[str]) -> None:
    first = GOOD.count("\n") + 2
    assert [line for line in messages if int(line.split(":")[0]) < first] == []


@pytest.mark.parametrize(("line", "error"), WRONG.items())
def test_each_wrong_line_has_its_error(messages: list[str], line: str, error: str) -> None:
    number = GOOD.count("\n") + 2 + list(WRONG).index(line)
    assert [text for text in messages if text.startswith(f"{number}: error: {error}")]
