"""Two servers on one database: after a change by either one, both return the current names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from tests.fixtures.server import Server, connected
from tests.wire.builders import new_table, partition


def test_neither_server_is_behind(database_url: str, start_metastore: Callable[..., Server]) -> None:
    with ExitStack() as stack:
        one, other = (stack.enter_context(connected(start_metastore(database_url))) for _ in range(2))
        database, name = new_table(one, [("n", "int")])
        expected: list[str] = []
        for number in range(10, 30):
            writer, reader = (one, other) if number % 2 else (other, one)
            writer.add_partition(partition(database, name, [str(number)]))
            expected.append(f"n={number}")
            if number % 3 == 0:
                writer.drop_partition(database, name, [expected.pop(0).removeprefix("n=")], True)
            if number % 5 == 0:
                writer.rename_partition(database, name, [str(number)], partition(database, name, [f"{number}0"]))
                expected[-1] += "0"
            assert reader.get_partition_names(database, name, -1) == sorted(expected)
            assert writer.get_partition_names(database, name, -1) == sorted(expected)
            assert reader.get_partition_names(database, name, -1) == sorted(expected)
