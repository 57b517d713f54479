"""The OpenLineage export equals what OpenLineage's own client, generated from the schema, sends."""

from __future__ import annotations

import json
import re
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, JobEvent, OutputDataset
from openlineage.client.generated.base_subset_dataset import (
    InputSubsetInputDatasetFacet,
    OutputSubsetOutputDatasetFacet,
    Partition,
    PartitionSubsetCondition,
)
from openlineage.client.serde import Serde

from metastore.cli.dependency_formats import FORMATS, Query
from tests.wire.dependencies.requests import UP, add, add_to_dependent, asked, create


def rebuilt(event: dict[str, Any]) -> JobEvent:
    """Builds the client's object field by field. Unknown and missing fields raise an error."""
    given, producer = dict(event), event["producer"]
    assert given.pop("schemaURL") == JobEvent._get_schema()
    inputs = [
        InputDataset(**{**each, "inputFacets": _input(each["inputFacets"], producer)}) for each in given["inputs"]
    ]
    outputs = [
        OutputDataset(**{**each, "outputFacets": _output(each["outputFacets"], producer)}) for each in given["outputs"]
    ]
    return JobEvent(**{**given, "job": Job(**given["job"]), "inputs": inputs, "outputs": outputs})


def _input(facets: dict[str, Any], producer: str) -> dict[str, InputSubsetInputDatasetFacet]:
    (subset,) = facets.values()
    return {"subset": InputSubsetInputDatasetFacet(_partitions(subset["inputCondition"]), producer=producer)}


def _output(facets: dict[str, Any], producer: str) -> dict[str, OutputSubsetOutputDatasetFacet]:
    (subset,) = facets.values()
    return {"subset": OutputSubsetOutputDatasetFacet(_partitions(subset["outputCondition"]), producer=producer)}


def _partitions(condition: dict[str, Any]) -> PartitionSubsetCondition:
    return PartitionSubsetCondition(
        **{**condition, "partitions": [Partition(**each) for each in condition["partitions"]]}
    )


def without_empty(sent: Any) -> Any:
    """Removes empty `facets`: the client sends them, and the schema does not require them."""
    if isinstance(sent, dict):
        return {key: without_empty(value) for key, value in sent.items() if value != {}}
    return [without_empty(each) for each in sent] if isinstance(sent, list) else sent


def test_events_are_openlineage_s(client: Any, database: str) -> None:
    create(client, database, "second", "tdep")
    add(client, database, "t", ["1", "a/b"], ["1", "é"])
    for name in ("tdep", "second"):
        add_to_dependent(client, database, name, ["1"], ["2"])
    answers = asked(client, database, "second", UP)
    name = Query(f"{database}.second", f"{database}.second", None, True, "thrift://one:9083,thrift://two:9083")
    events = [json.loads(line) for line in FORMATS["openlineage"](name, answers).splitlines()]
    assert len(events) == 4
    for event in events:
        assert without_empty(Serde.to_dict(rebuilt(event))) == event
        assert event["job"]["namespace"] == "hive://one:9083"
        assert re.fullmatch(r"[a-z]+:\S+", event["producer"])
