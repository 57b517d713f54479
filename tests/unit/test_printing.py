"""Output of commands that contains text from clients."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest

from metastore.cli.commands import metastore, run
from metastore.cli.locks import _row
from metastore.cli.printing import json_document, print_lines, print_properties, print_table, print_text
from thrift_idl.gen.hive_metastore.ttypes import LockState, LockType, ShowLocksResponseElement

MEGABYTE = "x" * 2**20


def test_cells_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ("a", "b"), [("short\n", MEGABYTE)])
    said = capsys.readouterr().out
    assert said == f"short\\n\t{'x' * 4000}… (1048576 characters)\n"


def test_a_lock_holder_prints_one_line() -> None:
    lock = ShowLocksResponseElement(
        lockid=1,
        dbname="db",
        state=LockState.ACQUIRED,
        type=LockType.SHARED_READ,
        user=MEGABYTE,
        hostname=MEGABYTE,
        agentInfo=MEGABYTE,
    )
    assert sum(len(str(cell)) for cell in _row(lock)) < 1000


def test_a_document_of_one_table_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    with json_document(()):
        print_table("Rows of t", ("time (UTC)", "last seen", "bytes"), [("1\n", None, 7)])
    assert json.loads(capsys.readouterr().out) == [{"time": "1\n", "last_seen": None, "bytes": 7}]


def test_a_document_of_several_tables_has_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with json_document(("properties", "columns", "skew", "statement")):
        print_properties("t", [("stored as", "x")], name="properties")
        print_lines(("column",), [("a",)], str)
        print_text("ALTER", name="statement")
        print_table("Columns", ("name",), [("b",)])
    document = json.loads(capsys.readouterr().out)
    assert {name: document[name] for name in ("properties", "columns", "skew", "statement")} == {
        "properties": {"stored as": "x"},
        "columns": [{"name": "b"}],
        "skew": [],
        "statement": "ALTER",
    }


def test_a_failed_command_prints_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["databases", "--format", "json", "--uri", "thrift://127.0.0.1:1"]) == 1
    assert capsys.readouterr().out == ""


# Commands that start something, change something or print one sentence.
WITHOUT_FORMAT = {
    *("serve", "demo", "health", "config check", "export", "protect", "unprotect", "undrop", "locks break"),
    *("db upgrade", "db backup", "db restore", "db reader add", "db reader remove"),
    *("sinks resume", "sinks resend", "sinks discard", "sinks forget"),
    *("import follow", "import back", "import forget", "spark serve", "partitions wait"),
    *("users add", "users remove", "tokens revoke", "rights grant", "rights revoke", "rights deny", "rights allow"),
}


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        path = (*above, name)
        if isinstance(command, click.Group):
            yield from commands(command, *path)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join(path), command


def test_every_command_that_lists_something_prints_json() -> None:
    formats = {
        name: next((each for each in command.params if each.name == "form"), None)
        for name, command in commands(metastore)
    }
    without = {name for name, option in formats.items() if option is None or "json" not in option.type.choices}
    assert without - {"db"} == WITHOUT_FORMAT


def test_h_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["db"], ["db", "reader", "add"], ["serve"]):
        assert run([*arguments, "-h"]) == 0
        assert "Usage: metastore" in capsys.readouterr().out
