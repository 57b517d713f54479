"""`metastore skew suggest` with a stand-in for the Spark client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metastore.cli import spark
from metastore.domain.skew_survey import SURVEY, HeavyColumns, decoded
from metastore.errors import ConfigurationError
from spark_client.commands import check_buckets, json_answer, suggest_skew
from tests.fixtures.server import Server
from tests.wire.builders import table, unique

FOUND = {
    "columns": ["x"],
    "values": [
        {"values": ["ab"], "rows": 60, "share": 0.6, "pruned": 0.4, "saved_bytes": 4000, "deserves_directory": True},
        {"values": ["c"], "rows": 20, "share": 0.2, "pruned": 0.8, "deserves_directory": False},
    ],
    "rows": 100,
    "error": 0,
    "rest": 0.2,
    "pruned": 0.56,
    "clause": "SKEWED BY (`x`) ON ('ab', 'c') STORED AS DIRECTORIES",
}
NOTHING = {**FOUND, "columns": ["y"], "values": [], "rest": 1.0, "pruned": 0.0, "clause": ""}
# It also prints its arguments. `python -m` searches the working directory first.
STAND_IN = """
import sys
print("noise")
sys.stderr.write(" ".join(sys.argv[1:]))
print({reply!r})
sys.exit({status})
"""


def suggest(folder: Path, reply: str, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    package = folder / "spark_client" / "commands"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "suggest_skew.py").write_text(STAND_IN.format(reply=reply, status=status))
    command = [sys.executable, "-c", "from metastore.cli import main; main()", "skew", "suggest", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_values_and_the_statement_that_declares_them(tmp_path: Path) -> None:
    done = suggest(tmp_path, json.dumps({"suggestions": [FOUND]}), "db.t", "--columns", "x")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "ab\t60\t60.00%\t40.00%\t4000",
        "c\t20\t20.00%\t80.00%\t",
        "ALTER TABLE db.t SKEWED BY (`x`) ON ('ab', 'c') STORED AS DIRECTORIES;",
    ]


def test_without_columns_all_are_compared_first(tmp_path: Path) -> None:
    done = suggest(tmp_path, json.dumps({"suggestions": [FOUND, NOTHING]}), "db.t")
    assert done.stdout.splitlines()[:3] == [
        "x\t2\tab\t20.00%\t56.00%",
        "y\t0\t\t100.00%\t0.00%",
        "ab\t60\t60.00%\t40.00%\t4000",
    ]


def test_values_too_small_for_a_directory_get_no_statement(tmp_path: Path) -> None:
    done = suggest(tmp_path, json.dumps({"suggestions": [{**FOUND, "clause": ""}]}), "db.t", "--columns", "x")
    assert done.returncode == 0
    assert "ALTER TABLE" not in done.stdout
    assert done.stderr.startswith("db.t: no directory is suggested. Each value has less than 1 MiB")


def test_no_heavy_value_is_no_error(tmp_path: Path) -> None:
    done = suggest(tmp_path, json.dumps({"suggestions": [NOTHING]}), "db.t", "--columns", "y", "--share", "0.05")
    assert (done.returncode, done.stdout) == (0, "No value has 5.00% or more of the rows of db.t.\n")


def test_the_result_is_recorded_with_the_table(tmp_path: Path, metastore_server: Server, metastore_client: Any) -> None:
    name = unique("surveyed")
    metastore_client.create_table(table("default", name, parameters={"a": "b"}))
    done = suggest(
        tmp_path,
        json.dumps({"suggestions": [FOUND, NOTHING]}),
        f"default.{name}",
        "--record",
        "--uri",
        metastore_server.uri,
    )
    assert (done.returncode, done.stderr) == (0, "")
    parameters = metastore_client.get_table("default", name).parameters
    actual = decoded(parameters[SURVEY])
    assert actual is not None
    assert (actual.rows, actual.share, actual.found) == (
        100,
        0.01,
        (HeavyColumns(("x",), ((("ab",), 0.6),)),),
    )
    assert parameters["a"] == "b"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (
            json.dumps({"error": "z is no column of db.t; its columns are a"}),
            "z is no column of db.t; its columns are a",
        ),
        (
            "",
            "Spark exited with status 3: db.t --uri=thrift://h:1 --columns=z --share=0.01 --limit=7 --master=local[1]",
        ),
    ],
)
def test_a_refusal_is_one_line(tmp_path: Path, reply: str, error: str) -> None:
    options = ["--columns", "z", "--uri", "thrift://h:1", "--limit", "7", "--master", "local[1]"]
    done = suggest(tmp_path, reply, "db.t", *options, status=3)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"metastore: {error}\n")


def test_a_missing_table_is_found_before_spark_starts(
    metastore_server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def started(*_: Any, **__: Any) -> Any:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(json_answer, "session", started)
    name = unique("nowhere")
    for module in (suggest_skew, check_buckets):
        options = ["--share=0.1"] if module is suggest_skew else []
        assert module.main([f"default.{name}", f"--uri={metastore_server.uri}", *options]) == 1
        assert json.loads(capsys.readouterr().out) == {"error": f"default.{name} table not found"}


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"No Java in JAVA_HOME=.*: it needs Java 17 or newer"):
        spark.require_java("it")

    def nothing(_: str) -> Any:
        return None

    monkeypatch.setattr(spark.importlib.util, "find_spec", nothing)
    with pytest.raises(ConfigurationError, match=r"it needs a, b. Run: pip install 'metastore\[x\]'"):
        spark.require_packages("it", "x", "a", "b")
