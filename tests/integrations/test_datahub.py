"""DataHub's source `hive-metastore` reads every table, by Thrift and by SQL, with the recipes of the how-to page."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.neighbours import PASSWORD, READER, Catalog, blocks, run
from tests.integrations.venvs import installed

SINK = "\nsink: {type: file, config: {filename: events.json}}\n"
TABLES = "'MANAGED_TABLE', 'EXTERNAL_TABLE'"


@pytest.mark.parametrize("way", ["thrift", "sql"])
def test_everything_arrives(catalog: Catalog, tmp_path: Path, way: str) -> None:
    venv = installed("datahub-1.7.0.17", "acryl-datahub[hive-metastore]==1.7.0.17")
    thrift, sql = (text for text in blocks("yaml") if "hive-metastore" in text)
    reader = catalog.reader_url
    changes = {
        "host:9083": f"{catalog.server.host}:{catalog.server.port}",
        "db-host:5432": f"{reader.host}:{reader.port}",
        "database: metastore": f"database: {reader.database}",
        "username: datahub": f"username: {READER}",
        "${DATAHUB_READER_PASSWORD}": PASSWORD,
    }
    recipe = {"thrift": thrift, "sql": sql}[way]
    for old, new in changes.items():
        recipe = recipe.replace(old, new)
    (tmp_path / "recipe.yml").write_text(recipe + SINK)
    command = [venv / "bin/datahub", "ingest", "-c", "recipe.yml"]
    run(f"DataHub by {way}", command, tmp_path, DATAHUB_TELEMETRY_ENABLED="false")
    assert _counts(tmp_path / "events.json") == {
        "databases": catalog.count('"DBS"'),
        "table": catalog.count('"TBLS"', f'"TBL_TYPE" IN ({TABLES})'),
        "view": catalog.count('"TBLS"', "\"TBL_TYPE\" = 'VIRTUAL_VIEW'"),
        "columns": catalog.column_count(f"{TABLES}, 'VIRTUAL_VIEW'"),
        "partition keys": catalog.count('"PARTITION_KEYS"'),
        "parameters": catalog.count(
            '"TABLE_PARAMS" JOIN hive."TBLS" USING ("TBL_ID")',
            f'"TBL_TYPE" IN ({TABLES}) AND "PARAM_KEY" <> \'table_type\'',
        ),
    }


def _counts(events: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in _events(events):
        for kind, aspect in _aspects(event):
            match kind:
                case "subTypes" if aspect["typeNames"][0] in ("table", "view"):
                    found[aspect["typeNames"][0]] += 1
                case "containerProperties" if "schema" in aspect["customProperties"]:
                    found["databases"] += 1
                case "schemaMetadata":
                    top = [field for field in aspect["fields"] if _is_column(field)]
                    keys = [field for field in top if field.get("isPartitioningKey")]
                    found["columns"] += len(top) - len(keys)
                    found["partition keys"] += len(keys)
                case "datasetProperties":
                    found["parameters"] += _parameters(aspect)
    return found


def _events(file: Path) -> Iterator[dict[str, Any]]:
    """Reads one object at a time: each begins and ends with a brace in the first column."""
    lines: list[str] = []
    with file.open() as rows:
        for row in rows:
            if row[0] in "{ }":
                lines.append(row)
            if row[0] == "}":
                yield json.loads("".join(lines).rstrip(",\n"))
                lines = []


def _aspects(event: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if "aspectName" in event:
        yield event["aspectName"], event["aspect"]["json"]
    for snapshot in (event.get("proposedSnapshot") or {}).values():
        for aspect in snapshot["aspects"]:
            for name, value in aspect.items():
                kind = name.rpartition(".")[2]
                yield kind[0].lower() + kind[1:], value


def _is_column(field: dict[str, Any]) -> bool:
    """False for the fields of a nested type: a path has types in brackets between the names."""
    return len([name for name in re.sub(r"\[.*?\]", "", field["fieldPath"]).split(".") if name]) == 1


def _parameters(aspect: Any) -> int:
    """The table's own parameters among those of a patch. DataHub adds some, one in the place of `table_type`."""
    added = {"table_type", "table_location", "create_date", "partitioned_columns"}
    paths = [each["path"].split("/") for each in aspect] if isinstance(aspect, list) else []
    return sum(path[1] == "customProperties" and path[-1] not in added for path in paths)
