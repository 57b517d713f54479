"""Requests from the JVM and the replies to them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spark_client.jvm import requests
from spark_client.jvm.requests import REQUESTS
from spark_client.jvm.scan_messages import (
    ChooseBucketFiles,
    ListedDirectory,
    PartitionBuckets,
    PushedFilter,
    Scan,
    ScanAnswer,
    ScannedPartition,
)

JAVA = Path(requests.__file__).parent / "java"
BUCKETS = {"name": "ds=1", "count": 4, "mismatch": None, "retyped": False, "spark_files_valid": True}


def test_java_asks_for_these_and_no_others() -> None:
    sources = "\n".join(path.read_text() for path in JAVA.rglob("*.java"))
    asked = set(re.findall(r'(?:\bask\(|new PythonCommand\(python, |PythonCommand\(\s*python,\s*)"(\w+)"', sources))
    assert asked <= REQUESTS.keys()
    assert asked >= {"scan", "buckets", "check_spark_reader", "check_load", "check_insert", "skew_join", "capability"}


def test_nested_values_are_typed_too() -> None:
    sent = {
        "request": "scan",
        "database": "d",
        "table": "t",
        "filters": [None],
        "columns": [["ds"]],
        "char_columns": [],
        "serde": "s",
        "bucketed": True,
        "keys": ["ds"],
        "is_query": True,
        "pushed_filters": [{"column": "ds", "values": ["1"], "include": True}],
    }
    actual = requests.decode_request(json.dumps(sent))
    assert actual == Scan("d", "t", [None], [["ds"]], [], "s", True, ["ds"], True, (PushedFilter("ds", ["1"], True),))
    sent = {
        "request": "buckets",
        "database": "d",
        "table": "t",
        "hashes": None,
        "declared": 4,
        "directories": [{"partition": BUCKETS, "names": ["f"], "directory": None}],
    }
    directory = ListedDirectory(PartitionBuckets("ds=1", 4, None, False, True), ["f"])
    assert requests.decode_request(json.dumps(sent)) == ChooseBucketFiles("d", "t", (directory,), None, 4)


def test_answers_are_objects_of_their_fields() -> None:
    known = PartitionBuckets("ds=1", 4, None, False, True)
    answer = ScanAnswer([ScannedPartition(("1",), ["file:/t"], None, False, 0, known)], [()], {"token": None}, None)
    assert json.loads(requests.encode_answer(answer)) == {
        "partitions": [
            {
                "values": ["1"],
                "directories": ["file:/t"],
                "outside": None,
                "unplaced": False,
                "storage": 0,
                "bucketing": BUCKETS,
            },
        ],
        "pruned": [[]],
        "writes": {"token": None},
        "buckets": None,
    }
    assert requests.encode_answer(None) == "{}"


def test_malformed_requests_and_responses_are_rejected() -> None:
    with pytest.raises(KeyError):
        requests.decode_request(json.dumps({"request": "nothing"}))
    with pytest.raises(TypeError):
        requests.decode_request(json.dumps({"request": "check_spark_reader", "database": "d"}))
    with pytest.raises(TypeError, match="object is not a dataclass"):
        requests.encode_answer(object())
