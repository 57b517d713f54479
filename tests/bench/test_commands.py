"""Runs each long test and benchmark at its smallest size, so that they keep working. `make` and docs name the commands.

`tests/spark/test_crash.py` does the same for `make crash`. Upgrades need the code of an older commit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "bench": ["tests.bench", "--partitions", "50", "--hive-up-to", "0", "--seconds", "0.05", "--idle", "10"],
    "processor": ["tests.bench.processor", "--alone", "--partitions", "50", "--calls", "5", "--rounds", "1"],
    "walk": ["tests.bench.walk", "get_table"],
    "hive-sql": ["tests.bench.hive_sql", "--tables", "40", "--rounds", "1"],
    "discovery": ["tests.bench.discovery", "--partitions", "20", "--new", "3"],
    "promises": ["tests.bench.promises"],
    "races": ["tests.bench.faults", "races", "--rounds", "2"],
    "advice": ["tests.bench.advice", "--rows", "2000", "--partitions", "2", "--each", "500", "--queries", "5"],
    "repair": ["tests.bench.repair", "--partitions", "20"],
    "many-tables": ["tests.bench.many_tables", "--tables", "200"],
    "copies": ["tests.bench.copies", "--first", "100", "--times", "2", "--seconds", "0.05"],
    "planning": ["tests.bench.planning", "--partitions", "20", "--rounds", "1"],
    "inserts": ["tests.bench.inserts", "--rounds", "1"],
    "compacting": ["tests.bench.writing", "compacting", "--partitions", "30", "--pause", "1"],
    "scan-record": ["tests.bench.scan_record", "--rounds", "10", "--calls", "100"],
    "compaction": ["tests.bench.compaction", "--partitions", "2", "--files", "3", "--rows", "10", "--rounds", "1"],
    "zipf": ["tests.bench.zipf", "--partitions", "2", "--rows", "300", "--rounds", "1", "--no-write"],
    "reading": ["tests.bench.reading", "--partitions", "10", "--files", "1", "--rows", "10", "--rounds", "1"],
    "reading-memory": ["tests.bench.reading_memory", "--partitions", "1000", "--read", "files"],
    "iceberg-rest": ["tests.bench.iceberg_rest", "--seconds", "0.2", "--tables", "2", "--writers", "2"],
    "two-doors": ["tests.bench.two_doors", "--kills", "1", "--seconds", "15"],
    "sinks": ["tests.bench.sinks", "soak", "--events", "2000", "--kills", "3", "--pause", "0.5"],
    "random-sql": ["tests.bench.random_sql", "--steps", "4", "--each", "2", "--inserts", "3", "--partitions", "0"],
}
# make long
LONG = (
    *("bench", "processor", "walk", "hive-sql", "discovery", "promises", "advice", "scan-record", "zipf"),
    *(
        "reading",
        "reading-memory",
        "iceberg-rest",
        "two-doors",
        "sinks",
        "random-sql",
        "compaction",
        "compacting",
        "repair",
        "planning",
        "inserts",
        "many-tables",
        "copies",
        "races",
    ),
)
PRINTED = {
    "bench": "written to",
    "processor": "get_table: ours",
    "walk": "get_table",
    "hive-sql": "queries take more than",
    "discovery": "3 new directories among 20",
    "promises": "promises hold",
    "many-tables": "names, types and comments of all",
    "copies": "drop_table",
    "races": "check: 0 problems",
    "advice": "bench.zipf",
    "scan-record": "the record",
    "compaction": "6 files",
    "repair": "20 new directories",
    "planning": "all 20 partitions of 20",
    "inserts": "a new partition: ",
    "compacting": "0 wrong",
    "zipf": "list bucketing",
    "reading": "given the files by hand",
    "reading-memory": "files: 1,000 in",
    "random-sql": "0 wrong",
    "iceberg-rest": "commits a second",
    "two-doors": "0 lost, 0 doubled",
    "sinks": "0 wrong",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in COMMANDS])
def test_command_works_at_its_smallest_size(name: str, tmp_path: Path) -> None:
    output = ["--output", str(tmp_path)] if name == "bench" else []
    command = [sys.executable, "-W", "ignore", "-m", *COMMANDS[name], *output]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    if "Hive's schema is missing" in ended.stderr:
        pytest.skip("Hive's schema cannot be downloaded from Maven Central")
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]
    assert PRINTED[name] in ended.stdout + ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rolling", "interruptions", "lost-commits"])
def test_outages_have_a_command_line(command: str) -> None:
    program = [sys.executable, "-W", "ignore", "-m", "tests.bench.operating", command, "--help"]
    assert subprocess.run(program, cwd=ROOT, capture_output=True, timeout=120, check=False).returncode == 0
