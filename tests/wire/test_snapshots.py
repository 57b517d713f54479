"""The partitions that a writer reads before it writes: one call if they have neither skew nor buckets, else two."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from metastore.client import MetastoreClient
from metastore.client.connection import Connection
from spark_client.errors import PublishConflictError
from spark_client.write.lease import Lease
from spark_client.write.placement import VERSIONS, write_directory
from spark_client.write.snapshot import take_snapshot
from tests.fixtures.server import Server
from tests.wire.builders import columns, descriptor, new_table, partition, skewed

KEYS = [("ds", "string"), ("hr", "string")]
SKEWED = {"skewedInfo": skewed(["a"], [["1"]]), "storedAsSubDirectories": True}
ORC = {"inputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"}
PARTITIONS: dict[str, tuple[list[dict[str, Any]], int]] = {
    "none": ([], 1),
    "plain": ([{}, {}], 1),
    "of another format": ([{}, ORC], 1),
    "of other columns": ([{}, {"cols": columns(("a", "bigint"), ("z", "int"))}], 1),
    "one with buckets": ([{}, {"numBuckets": 2, "bucketCols": ["a"]}], 2),
    "one with skew": ([{}, SKEWED], 2),
    "one with skew without directories": ([{}, {"skewedInfo": skewed(["a"], [["1"]])}], 2),
}


@pytest.mark.parametrize("kind", list(PARTITIONS))
@pytest.mark.parametrize("static", [{}, {"ds": "1"}, {"ds": "1", "hr": "2"}], ids=["dynamic", "mixed", "static"])
def test_partitions_are_the_same_with_and_without_their_parameters(
    kind: str,
    static: dict[str, str],
    metastore_client: Any,
    metastore_server: Server,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layouts, most = PARTITIONS[kind]
    own = columns(("a", "int"))
    name = new_table(metastore_client, KEYS, sd=descriptor(cols=own))
    for number, layout in enumerate(layouts):
        sd = descriptor(**{"cols": own, **layout})
        metastore_client.add_partition(partition(*name, ["1", str(number + 1)], sd=sd, parameters={"x": "y"}))
    calls, call = Counter[str](), Connection.call

    def count_call(self: Any, method: str, *args: Any) -> Any:
        calls[method] += 1
        return call(self, method, *args)

    with MetastoreClient(metastore_server.uri) as client:
        table = client.get_table(*name)
        whole = take_snapshot(client, table, static, with_skew=True)
        monkeypatch.setattr(Connection, "call", count_call)
        actual = take_snapshot(client, table, static, with_skew=True, with_parameters=False)
    expected = {values: replace(state, parameters=actual[values].parameters) for values, state in whole.items()}
    assert actual == expected
    assert len(actual) == (0 if not layouts else 1 if len(static) == 2 else 2)
    assert calls.total() <= most


def test_a_lease_claims_the_directory_of_its_write(metastore_client: Any, metastore_server: Server) -> None:
    name = new_table(metastore_client, KEYS)
    metastore_client.add_partition(partition(*name, ["1", "2"]))
    with MetastoreClient(metastore_server.uri) as client:
        table = client.get_table(*name)
        (state,) = take_snapshot(client, table, {}, with_skew=True, with_parameters=False).values()
        lease = Lease(client, table, 60, f"{table.location}/{VERSIONS}", [state.location])
        own = write_directory(table, lease.query_id)
        lease.check_write_directory(own)
        other = Lease(client, table, 60)
        assert other.claim([own, f"{state.location}/x"]) == set()
        assert lease.claim([own]) == {own}
        taken = Lease(client, table, 60, state.location)
        with pytest.raises(PublishConflictError, match="belongs to another write or object"):
            taken.check_write_directory(write_directory(table, taken.query_id))
        for each in (lease, other, taken):
            each.end()
