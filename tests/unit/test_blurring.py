"""Error messages do not name hidden tables, except names that the call itself contains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from metastore.domain.names import TableName
from metastore.errors import InvalidOperationError
from metastore.handlers.registry import served
from metastore.protocol.rights.guard import Guard
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext, Partition, Table

SECRET = TableName("hive", "secret", "t")


class Sees:
    """Allows every call, and hides one table."""

    def check(self, _: Any) -> None:
        """Allows the call."""

    def hidden_tables(self, names: Iterable[TableName]) -> set[TableName]:
        return {SECRET} & set(names)


def told(method: str, *arguments: Any, of: str, others: Iterable[str] = ()) -> str:
    def fail(*_: Any) -> None:
        raise InvalidOperationError(f"it is {of}'s", others=others)

    called = served()[method]
    guard = Guard(Sees())  # type: ignore[arg-type] # the test uses nothing else
    with pytest.raises(InvalidOperationError) as raised:
        guard.guarded(called, fail)(called.arguments(*arguments))
    return str(raised.value)


def test_it_is_not_named() -> None:
    assert told("drop_table", "mine", "t", False, of="secret.t") == "it is (hidden)'s"
    assert told("drop_table", "mine", "t", False, of="other.t") == "it is other.t's"


@pytest.mark.parametrize(
    ("database", "name"), [("secret", "t"), ("@hive#secret", "t"), ("SECRET", " T "), ("x", "secret.t")]
)
def test_names_in_the_call_may_be_in_the_error(database: str, name: str) -> None:
    named = Partition(["1"], database, name)
    assert told("alter_partition", "mine", "t", named, of="secret.t") == "it is secret.t's"


@pytest.mark.parametrize("text", ["secret.t", "a = 'secret.t' AND (", "hdfs://secret.t/x"])
def test_repeated_texts_of_the_call_may_be_in_the_error(text: str) -> None:
    assert told("get_partitions_by_filter", "mine", "t", text, -1, of=text) == f"it is {text}'s"
    named = Partition(["1"], "mine", "t", parameters={"p": text})
    assert told("alter_partition", "mine", "t", named, of=text) == f"it is {text}'s"


@pytest.mark.parametrize(
    "guess", [EnvironmentContext({"secret.t": "secret.t"}), EnvironmentContext({"p": "a secret.t"})]
)
def test_a_guess_in_a_map_is_not_confirmed(guess: EnvironmentContext) -> None:
    values = ("mine", "t", False, guess)
    dropped = told("drop_table_with_environment_context", *values, of="secret.t", others=["secret.t"])
    assert dropped == "it is (hidden)'s"


@pytest.mark.parametrize(
    "guess",
    [Table("secret.t"), Table("t", owner="secret.t"), Table("t", "secret"), Table("t", viewExpandedText="secret.t")],
)
def test_a_guess_in_a_struct_is_not_confirmed(guess: Table) -> None:
    assert told("alter_table", "mine", "t", guess, of="secret.t", others=["secret.t"]) == "it is (hidden)'s"
