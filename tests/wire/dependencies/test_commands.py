"""`metastore dependencies`, `metastore impact` and `metastore partitions wait`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from metastore.cli.commands import run
from tests.fixtures.server import Server
from tests.wire.builders import table
from tests.wire.dependencies.requests import add, add_to_dependent, create

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def shown(metastore_server: Server, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command line. Returns its output."""
    monkeypatch.setenv("METASTORE_URI", metastore_server.uri)

    def show(*arguments: str, status: int = 0) -> str:
        assert run(list(arguments)) == status
        output = capsys.readouterr()
        return output.err if status else output.out

    return show


@pytest.fixture
def chain(client: Any, database: str) -> str:
    """Returns a database with second@ds=1 → tdep@ds=1 → t@ds=1/hr=1, t@ds=1/hr=2; and tdep@ds=2, whose base partitions
    do not exist.
    """
    create(client, database, "second", "tdep")
    client.create_table(table(database, "plain"))
    client.create_table(table(database, "days", [("day", "date")]))
    add(client, database, "t", ["1", "1"], ["1", "2"])
    add_to_dependent(client, database, "tdep", ["1"], ["2"])
    add_to_dependent(client, database, "second", ["1"])
    return database


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_trees(shown: Any, chain: str) -> None:
    assert lines(shown("dependencies", f"{chain}.second@ds=1")) == [
        f"{chain}.second@ds=1 (fresh)",
        f"└── {chain}.tdep@ds=1 (fresh)",
        f"├── {chain}.t@ds=1/hr=1",
        f"└── {chain}.t@ds=1/hr=2",
    ]
    assert lines(shown("dependencies", f"{chain}.t@ds=1/hr=2", "--down")) == [
        f"{chain}.t@ds=1/hr=2",
        f"└── {chain}.tdep@ds=1 (fresh)",
        f"└── {chain}.second@ds=1 (fresh)",
    ]
    assert lines(shown("dependencies", f"{chain}.t", "--down")) == [
        f"{chain}.t",
        f"└── {chain}.tdep (2 partitions, and new ones; 1 incomplete)",
        f"└── {chain}.second (1 partitions, and new ones)",
    ]
    assert lines(shown("dependencies", f"{chain}.t@HR=2/ds=1", "--down"))[1:] == [
        f"└── {chain}.tdep@ds=1 (fresh)",
        f"└── {chain}.second@ds=1 (fresh)",
    ]
    assert lines(shown("dependencies", f"{chain}.tdep@ds=2", "--up"))[0] == f"{chain}.tdep@ds=2 (incomplete)"
    assert f"{chain}.t@ds=2 (no partitions)" in shown("dependencies", f"{chain}.tdep@ds=2", "--up")


def test_a_tree_compares_values_by_type(client: Any, shown: Any, database: str) -> None:
    client.create_table(table(database, "numbered", [("n", "int"), ("hr", "string")]))
    create(client, database, "daily", "numbered", "n")
    create(client, database, "above", "daily", "n")
    add(client, database, "numbered", ["1", "1"])
    add_to_dependent(client, database, "daily", ["01"])
    add_to_dependent(client, database, "above", ["1"])
    assert lines(shown("dependencies", f"{database}.numbered@n=001", "--down"))[1:] == [
        f"└── {database}.daily@n=01 (fresh)",
        f"└── {database}.above@n=1 (fresh)",
    ]


def test_formats(shown: Any, chain: str) -> None:
    document = json.loads(shown("dependencies", f"{chain}.tdep@ds=1", "--format", "json"))
    assert document["partitions"] == [
        {
            "dependent": f"{chain}.tdep",
            "partition": "ds=1",
            "base": f"{chain}.t",
            "spec": "ds=1",
            "fresh": True,
            "state": "fresh",
            "base_partitions_total": 2,
            "base_partitions": ["ds=1/hr=1", "ds=1/hr=2"],
        }
    ]
    graph = shown("dependencies", f"{chain}.second", "--format", "dot")
    assert graph.startswith("digraph")
    assert f'"{chain}.second" -> "{chain}.tdep";' in graph
    chart = lines(shown("dependencies", f"{chain}.tdep@ds=1", "--format", "mermaid"))
    assert chart[0] == "flowchart LR"
    assert chart[1:] == [
        f'n0["{chain}.tdep@ds=1"]',
        f'n1["{chain}.t@ds=1/hr=1"]',
        f'n2["{chain}.t@ds=1/hr=2"]',
        "n0 --> n1",
        "n0 --> n2",
    ]


def test_openlineage(shown: Any, chain: str) -> None:
    first, second = map(json.loads, shown("dependencies", f"{chain}.second", "--format", "openlineage").splitlines())
    assert (first["job"]["name"], second["job"]["name"]) == (f"{chain}.second@ds=1", f"{chain}.tdep@ds=1")
    assert {"eventTime", "producer", "schemaURL"} <= first.keys()
    (given,), (made,) = second["inputs"], second["outputs"]
    assert (given["name"], made["name"]) == (f"{chain}.t", f"{chain}.tdep")
    assert given["inputFacets"]["subset"]["inputCondition"] == {
        "type": "partition",
        "partitions": [
            {"identifier": f"ds=1/hr={hour}", "dimensions": {"ds": "1", "hr": str(hour)}} for hour in (1, 2)
        ],
    }
    assert made["outputFacets"]["subset"]["outputCondition"]["partitions"][0]["dimensions"] == {"ds": "1"}


def test_impact(client: Any, shown: Any, chain: str) -> None:
    client.alter_partition(chain, "t", client.get_partition(chain, "t", ["1", "1"]))
    assert lines(shown("impact", f"{chain}.t@ds=1/hr=2")) == [
        f"{chain}.tdep@ds=1\tstale\t{chain}.t@ds=1",
        f"{chain}.second@ds=1\tstale\t{chain}.tdep@ds=1",
    ]
    assert lines(shown("impact", f"{chain}.t@ds=2")) == [f"{chain}.tdep@ds=2\tincomplete\t{chain}.t@ds=2"]
    assert shown("impact", f"{chain}.second") == ""
    create(client, chain, "third", "t2")
    assert lines(shown("impact", f"{chain}.t2")) == [f"{chain}.third\tno partitions\t{chain}.t2"]


def test_wait(client: Any, shown: Any, chain: str) -> None:
    assert shown("partitions", "wait", f"{chain}.t", "ds=1") == f"{chain}.t@ds=1 exists.\n"
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(
            shown, "partitions", "wait", f"{chain}.tdep", "ds=2", "--dependencies", "--timeout", "60"
        )
        add(client, chain, "t", ["2", "1"])
        assert waiting.result() == f"{chain}.tdep@ds=2 exists.\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["dependencies", "{}.nope"], "nope"),
        (
            ["dependencies", "{}.t@hr=1"],
            "does not name the first partition columns of {0}.t with their values. Write ds=…",
        ),
        (["dependencies", "{}.t@x"], "does not name the first partition columns"),
        (["dependencies", "{}.t@ds=1/hr=1/min=1"], "does not name the first partition columns"),
        (["impact", "{}.nope@ds=1"], "nope"),
        (
            ["impact", "{}.days@day=2026-13-45"],
            "day=2026-13-45 names no partition of {0}.days: the column day has the type date",
        ),
        (["dependencies", "{}.plain@ds=1"], "{}.plain is not partitioned"),
        (["partitions", "wait", "{}.nope", "ds=1"], "nope"),
        (["partitions", "wait", "{}.t", "ds=3..1"], "The range of ds=3..1 is empty"),
        (["partitions", "wait", "{}.t", "ds=1..10001"], "The range of ds=1..10001 has more than 10,000 values"),
        (["partitions", "wait", "{}.t", "ds=1..200/hr=1..200"], "names more than 10,000 partitions of {}.t"),
        (["partitions", "wait", "{}.days", "day=2026-02-30..2026-03-02"], "is no range of days"),
    ],
)
def test_mistakes_are_one_line(shown: Any, chain: str, arguments: list[str], text: str) -> None:
    line = shown(*[argument.format(chain) for argument in arguments], status=1)
    assert line.count("\n") == 1
    assert text.format(chain) in line


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["partitions", "wait", "{}.t", "ds=9", "--timeout", "0.05"], "{}.t@ds=9 does not exist after 0.05 seconds"),
        (
            ["partitions", "wait", "{}.tdep", "ds=2", "--dependencies", "--timeout", "0.05"],
            "{0}.tdep@ds=2 exists, but {0}.t@ds=2, which it depends on, does not exist after 0.05 seconds",
        ),
        (
            ["partitions", "wait", "{}.tdep", "ds=7", "--dependencies", "--timeout", "0.05"],
            "{}.tdep@ds=7 does not exist after 0.05 seconds",
        ),
        (
            ["partitions", "wait", "{}.t", "ds=0..9/hr=1", "ds=9", "ds=1", "--timeout", "0.05"],
            "{}.t: 10 of 12 partitions (ds=0/hr=1, ds=2/hr=1, ds=3/hr=1, ds=4/hr=1, ds=5/hr=1 and 5 more) do not exist",
        ),
    ],
)
def test_a_limit_has_a_status_of_its_own(shown: Any, chain: str, arguments: list[str], text: str) -> None:
    line = shown(*[argument.format(chain) for argument in arguments], status=3)
    assert line.count("\n") == 1
    assert text.format(chain) in line


def test_wait_for_a_range(client: Any, shown: Any, chain: str) -> None:
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(shown, "partitions", "wait", f"{chain}.t", "ds=4..6/hr=1", "ds=1", "--timeout", "60")
        for day in ("6", "5", "4"):
            add(client, chain, "t", [day, "1"])
        assert waiting.result() == f"4 partitions of {chain}.t exist.\n"


@pytest.mark.parametrize(
    "arguments", [["partitions", "wait", "x.t", ""], ["dependencies", "x.t@"], ["impact", "x.@a=1"]]
)
def test_invalid_names(shown: Any, arguments: list[str]) -> None:
    line = shown(*arguments, status=2)
    assert line.count("\n") == 1
    assert "is not a valid name. Write DATABASE.TABLE or DATABASE.TABLE@column=value" in line


def test_names_that_others_choose_cannot_control_the_terminal(shown: Any, client: Any, database: str) -> None:
    add(client, database, "t", ["\x9b2J<b>", "1"])
    add_to_dependent(client, database, "tdep", ["\x9b2J<b>"])
    for form in ("tree", "json", "dot", "mermaid", "openlineage"):
        output = shown("dependencies", f"{database}.tdep@ds=\x9b2J<b>", "--format", form)
        assert "2J" in output
        assert output.replace("\n", "").isprintable()
        assert form != "mermaid" or "<b>" not in output
    assert shown("dependencies", f"{database}.t@\x1b[2J=1", status=1).rstrip("\n").isprintable()
