"""Random sequences of begin, claim, publish, death and cleaning, compared with a model: no file is lost or left
over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from tests.fixtures.server import Server, connected
from tests.wire.builders import descriptor, new_table, unique
from tests.wire.writing import (
    begin,
    clean,
    day,
    files_below,
    let_die,
    publish,
    renew,
    scanned,
    write_file,
)
from thrift_idl.gen.hive_metastore.ttypes import NoSuchObjectException
from thrift_idl.gen.metastore.ttypes import ConflictException, PublishMode

pytestmark = pytest.mark.slow

DAYS = ["1", "2", "3"]


@dataclass
class Writer:
    """A write of the model. `places`: directories with its files, by day."""

    query_id: str
    places: dict[str, str] = field(default_factory=dict)
    dead: bool = False


class Writes(RuleBasedStateMachine):
    """Writers of one table."""

    server: Server
    folder: Path
    writers = Bundle("writers")

    def __init__(self) -> None:
        super().__init__()
        self.connection = connected(self.server)
        self.client: Any = self.connection.__enter__()
        self.root = f"file:{self.folder}/{unique()}"
        self.name = new_table(self.client, [("ds", "string")], sd=descriptor(self.root))
        self.days: dict[str, tuple[str, set[str]]] = {}  # location and files of each published day
        self.open: list[Writer] = []
        self.retired: set[str] = set()

    def teardown(self) -> None:
        self.connection.__exit__(None, None, None)

    @rule(target=writers)
    def begin(self) -> Writer:
        self.open.append(Writer(begin(self.client, self.name)))
        return self.open[-1]

    @rule(writer=writers, value=st.sampled_from(DAYS), plain=st.booleans())
    def bring(self, writer: Writer, value: str, plain: bool) -> None:
        """Writes files of a day, at Hive's location if the server grants it."""
        if writer not in self.open or value in writer.places:
            return
        path = f"{self.root}/ds={value}"
        if plain:
            (granted,) = renew(self.client, writer.query_id, path)
            others = [each for each in self.open if each is not writer and path in each.places.values()]
            used = path in self.retired or path in {location for location, _ in self.days.values()}
            assert granted == (not others and not used)
            writer.dead = False
        if not plain or not granted:
            path = f"{self.root}/_versions/{writer.query_id}/ds={value}"
        write_file(self.file(writer, path))
        writer.places[value] = path

    @rule(writer=consumes(writers))
    def publish(self, writer: Writer) -> None:
        entries = [day(self.root, text, PublishMode.OVERWRITE, location=at) for text, at in writer.places.items()]
        if writer not in self.open:
            with pytest.raises(NoSuchObjectException):
                publish(self.client, self.name, writer.query_id, *entries)
            return
        replaced = [self.days[value][0] for value in writer.places if value in self.days]
        assert set(publish(self.client, self.name, writer.query_id, *entries).replaced) == set(replaced)
        self.retired |= set(replaced)
        for value, path in writer.places.items():
            self.days[value] = path, {self.file(writer, path).removeprefix(f"{self.root}/")}
        self.open.remove(writer)

    @rule(writer=writers)
    def append(self, writer: Writer) -> None:
        """Writes a file into an existing day. The append is published, or abandoned while its file is hidden."""
        if writer not in self.open or writer.places or "1" not in self.days:
            return
        path, files = self.days["1"]
        renew(self.client, writer.query_id, shared=[path])
        write_file(self.file(writer, path))
        wrong = day(self.root, "1", PublishMode.APPEND, location=path, expectedVersion=0)
        with pytest.raises(ConflictException):
            publish(self.client, self.name, writer.query_id, wrong)
        publish(self.client, self.name, writer.query_id, day(self.root, "1", PublishMode.APPEND, location=path))
        files.add(self.file(writer, path).removeprefix(f"{self.root}/"))
        self.open.remove(writer)

    @rule(writer=writers)
    def die(self, writer: Writer) -> None:
        if writer in self.open:
            let_die(self.server.database_url, writer.query_id)
            writer.dead = True

    @rule(dry_run=st.booleans())
    def clean(self, dry_run: bool) -> None:
        result = clean(self.client, self.name, dryRun=dry_run)
        assert [location.error for location in result.locations if location.error] == []
        if dry_run:
            return
        self.open = [writer for writer in self.open if not writer.dead]
        self.retired.clear()
        own = {self.file(writer, path) for writer in self.open for path in writer.places.values()}
        published = set().union(*(files for _, files in self.days.values())) if self.days else set()
        assert files_below(self.root) == published | {text.removeprefix(f"{self.root}/") for text in own}

    @invariant()
    def plans_agree(self) -> None:
        plan = scanned(self.client, self.name)
        numbers = sorted(int(writer.query_id.rpartition("-")[2]) for writer in self.open)
        assert plan.openWrites == numbers
        assert {partition.values[0]: partition.location for partition in plan.partitions} == {
            value: location for value, (location, _) in self.days.items()
        }

    @invariant()
    def no_published_file_is_lost(self) -> None:
        published = set().union(*(files for _, files in self.days.values())) if self.days else set()
        assert published <= files_below(self.root)

    @staticmethod
    def file(writer: Writer, location: str) -> str:
        return f"{location}/part-0_{writer.query_id}"


def test_any_sequence(metastore_server: Server, tmp_path: Path) -> None:
    machine = type("Machine", (Writes,), {"server": metastore_server, "folder": tmp_path})
    limits = settings(max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine, settings=limits)
