"""Two servers that cache names, and every call that changes partitions: both always return the current names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from metastore.app.worker import Application, make_application
from metastore.errors import MetastoreError
from metastore.settings import Settings
from tests.fixtures.application import called
from tests.wire.builders import partition, table
from thrift_idl.gen.hive_metastore.ttypes import Database, EnvironmentContext
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishPartition, PublishRequest

pytestmark = pytest.mark.slow

KEYS = [("ds", "string")]
SERVERS, VALUES, TABLES = st.integers(0, 1), st.sampled_from("abcde"), st.sampled_from("tu")


def names(application: Application, name: str) -> list[str]:
    listed: list[str] = called(application, "get_partition_names", "db", name, -1).decode()
    return listed


class Names(RuleBasedStateMachine):
    """Every call that changes partitions, on either server, compared with a dictionary of the expected ones."""

    def __init__(self, servers: Sequence[Application]) -> None:
        super().__init__()
        self.servers = servers
        self.tables: dict[str, set[str]] = {}
        for name in called(servers[0], "get_all_tables", "db"):
            called(servers[0], "drop_table", "db", name, True)
        for name in "tu":
            self.create(0, name)

    def done(self, server: int, name: str, *arguments: Any) -> bool:
        """Makes a call and returns whether it succeeded."""
        try:
            called(self.servers[server], name, *arguments)
        except MetastoreError as error:
            note(f"{name}: {error}")
            return False
        return True

    def create(self, server: int, name: str) -> None:
        assert self.done(server, "create_table", table("db", name, KEYS))
        self.tables[name] = set()

    @rule(server=SERVERS, name=TABLES, chosen=st.sets(VALUES, min_size=1))
    def add(self, server: int, name: str, chosen: set[str]) -> None:
        new = [partition("db", name, [value]) for value in sorted(chosen)]
        free = not chosen & self.tables[name]
        assert self.done(server, "add_partitions", new) == free
        self.tables[name] |= chosen if free else set()

    @rule(server=SERVERS, name=TABLES, value=VALUES)
    def drop(self, server: int, name: str, value: str) -> None:
        assert self.done(server, "drop_partition", "db", name, [value], True) == (value in self.tables[name])
        self.tables[name].discard(value)

    @rule(server=SERVERS, name=TABLES, old=VALUES, new=VALUES)
    def rename(self, server: int, name: str, old: str, new: str) -> None:
        free = old in self.tables[name] and new not in self.tables[name] - {old}
        assert self.done(server, "rename_partition", "db", name, [old], partition("db", name, [new])) == free
        if free:
            self.tables[name] = self.tables[name] - {old} | {new}

    @rule(server=SERVERS, name=TABLES, value=VALUES)
    def alter(self, server: int, name: str, value: str) -> None:
        changed = partition("db", name, [value], parameters={"k": "v"})
        assert self.done(server, "alter_partition", "db", name, changed) == (value in self.tables[name])

    @rule(server=SERVERS, value=VALUES, source=TABLES, to=TABLES)
    def exchange(self, server: int, value: str, source: str, to: str) -> None:
        movable = value in self.tables[source] and value not in self.tables[to]
        assert self.done(server, "exchange_partitions", {"ds": value}, "db", source, "db", to) == movable
        if movable:
            self.tables[source].remove(value)
            self.tables[to].add(value)

    @rule(server=SERVERS, name=TABLES, value=VALUES)
    def publish(self, server: int, name: str, value: str) -> None:
        path = f"{called(self.servers[server], 'get_table', 'db', name).decode().sd.location}/ds={value}"
        Path(path.removeprefix("file:")).mkdir(parents=True, exist_ok=True)
        entry = PublishPartition([value], PublishMode.OVERWRITE, path, [])  # what lies elsewhere is not exchanged
        assert self.done(server, "publish", PublishRequest("db", name, "q", [entry]))
        self.tables[name].add(value)

    @rule(server=SERVERS, name=TABLES)
    def recreate(self, server: int, name: str) -> None:
        assert self.done(server, "drop_table", "db", name, True)
        self.create(server, name)

    @rule(server=SERVERS)
    def swap(self, server: int) -> None:
        for old, new in (("t", "v"), ("u", "t"), ("v", "u")):
            renamed = called(self.servers[server], "get_table", "db", old).decode()
            renamed.tableName = new
            assert self.done(server, "alter_table", "db", old, renamed)
        self.tables = {"t": self.tables["u"], "u": self.tables["t"]}

    @rule(server=SERVERS, name=TABLES)
    def cascade(self, server: int, name: str) -> None:
        wider = called(self.servers[server], "get_table", "db", name).decode()
        context = EnvironmentContext({"CASCADE": "true"})
        assert self.done(server, "alter_table_with_environment_context", "db", name, wider, context)

    @invariant()
    def both_list_the_existing_partitions(self) -> None:
        for name, chosen in self.tables.items():
            expected = [f"ds={value}" for value in sorted(chosen)]
            assert [names(server, name) for server in self.servers] == [expected, expected]


def test_everything_that_changes_names(database_url: str, tmp_path: Path) -> None:
    servers = [make_application(Settings(warehouse=str(tmp_path)), database_url) for _ in range(2)]
    called(servers[0], "create_database", Database(name="db"))
    few = settings(
        max_examples=4,
        stateful_step_count=30,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    try:
        run_state_machine_as_test(lambda: Names(servers), settings=few)
    finally:
        for server in servers:
            server.close()
