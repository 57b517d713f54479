"""Views in the dependencies of tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.builders import table
from thrift_idl.gen.metastore.ttypes import DependenciesRequest, DependencyDirection

Capture = pytest.CaptureFixture[str]


def view(client: Any, database: str, name: str, text: str) -> None:
    made = table(database, name, tableType="VIRTUAL_VIEW", viewOriginalText=text, viewExpandedText=text)
    made.sd.location = None
    client.create_table(made)


@pytest.fixture
def viewed(client: Any, database: str) -> Iterator[str]:
    """Yields a database with the views direct → t, above → direct, on_dependent → tdep → t, and broken ones."""
    view(client, database, "direct", f"SELECT * FROM {database}.t")
    view(client, database, "above", "SELECT * FROM direct")
    view(client, database, "on_dependent", "WITH t AS (SELECT * FROM tdep) SELECT * FROM t")
    view(client, database, "broken", "SELECT FROM t WHERE (")
    view(client, database, "other", "SELECC * FROM nobody (")
    view(client, database, "huge", "SELECT * FROM t WHERE " + " OR ".join(["a = 1"] * 100_000))
    yield database
    client.drop_database(database, True, True)  # tables of other databases have these names, too


def test_impact_names_views(viewed: str, metastore_server: Server, capsys: Capture) -> None:
    assert run(["impact", f"{viewed}.t", "--uri", metastore_server.uri]) == 0
    lines = [line.replace(f"{viewed}.", "").split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["tdep", "no partitions", "t"],
        ["direct", "view", "t"],
        ["on_dependent", "view", "tdep"],
        ["above", "view", "direct"],
        ["broken", "unknown", "a text that cannot be parsed, or was not read yet"],
        ["huge", "unknown", "a text that cannot be parsed, or was not read yet"],
    ]


def test_dependencies_of_a_view_in_both_directions(viewed: str, metastore_server: Server, capsys: Capture) -> None:
    def views(*arguments: str) -> list[tuple[str, str]]:
        assert run(["dependencies", *arguments, "--format", "json", "--uri", metastore_server.uri]) == 0
        return [(each["view"], each["base"]) for each in json.loads(capsys.readouterr().out)["views"]]

    db = viewed
    assert views(f"{db}.above") == [(f"{db}.above", f"{db}.direct"), (f"{db}.direct", f"{db}.t")]
    assert views(f"{db}.direct", "--down") == [(f"{db}.above", f"{db}.direct")]
    assert run(["dependencies", f"{db}.on_dependent", "--uri", metastore_server.uri]) == 0
    tree = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert tree == [f"{db}.on_dependent", f"└── {db}.tdep", f"└── {db}.t (0 partitions, and new ones)"]


def test_all_unknown_views_are_listed(client: Any, database: str) -> None:
    client.create_table(table(database, "read_by_many"))
    for number in range(101):
        view(client, database, f"broken{number}", "SELECT FROM read_by_many WHERE (")
    request = DependenciesRequest(database, "read_by_many", DependencyDirection.DOWN)
    assert len(client.get_dependencies(request).unknownViews) == 101
    client.drop_database(database, True, True)


def test_lineage_of_views(viewed: str, metastore_server: Server, capsys: Capture) -> None:
    def lineage(name: str, *arguments: str) -> list[tuple[str, list[str], list[str]]]:
        assert run(["dependencies", name, *arguments, "--format", "openlineage", "--uri", metastore_server.uri]) == 0
        events = map(json.loads, capsys.readouterr().out.replace(f"{viewed}.", "").splitlines())
        return [
            (event["job"]["name"], *([each["name"] for each in event[side]] for side in ("inputs", "outputs")))
            for event in events
        ]

    assert lineage(f"{viewed}.above") == [("above", ["direct"], ["above"]), ("direct", ["t"], ["direct"])]
    assert lineage(f"{viewed}.direct", "--down") == [("above", ["direct"], ["above"])]


def test_changed_dropped_and_recreated(client: Any, viewed: str) -> None:
    def reading() -> list[str]:
        request = DependenciesRequest(viewed, "t", DependencyDirection.DOWN)
        return sorted(edge.tableName for edge in client.get_dependencies(request).views if edge.baseTableName == "t")

    assert reading() == ["direct"]
    changed = client.get_table(viewed, "above")
    changed.viewExpandedText = f"SELECT * FROM {viewed}.t"
    client.alter_table(viewed, "above", changed)
    assert reading() == ["above", "direct"]
    client.drop_table(viewed, "direct", False)
    assert reading() == ["above"]
    view(client, viewed, "direct", f"SELECT 1 FROM {viewed}.t")
    assert reading() == ["above", "direct"]
