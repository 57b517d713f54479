"""Metadata files outside of a table's history, beside rows and files that clients have filled with anything."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from metastore.services.files.iceberg_metadata import NEWER, outside_of_history
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Table


def found(root: Path, location: str) -> list[str]:
    row = Table(parameters={"table_type": "ICEBERG", "metadata_location": location}, tableType="EXTERNAL_TABLE")
    return [problem for _, problem in outside_of_history(Warehouse(str(root)), row)]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9,
        b"[" * 200_000,
        b"[]",
        b'{"metadata-log": [1]}',
        json.dumps({"metadata-log": [{"metadata-file": "folder"}]}).encode(),
    ],
)
def test_a_damaged_file_has_no_log(tmp_path: Path, content: bytes) -> None:
    present, later = (tmp_path / f"0000{number}-a.metadata.json" for number in (1, 2))
    content = content.replace(b"folder", f"file:{tmp_path}/{'1' * 5000}-x.metadata.json".encode())
    for file in (present, later):
        file.write_bytes(content)
        os.utime(file, (0, 1_600_000_000))
    expected = [] if b"1111" in content else [NEWER]  # the log names a file without a number
    assert found(tmp_path, f"file:{present}") == expected


@pytest.mark.parametrize("location", ["no-path", "", "file:", "s3://", "/", "hdfs://other/x", "file:{root}"])
def test_a_location_can_be_any_text(tmp_path: Path, location: str) -> None:
    assert not found(tmp_path, location.format(root=tmp_path))
