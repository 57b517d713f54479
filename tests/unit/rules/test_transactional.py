"""Which tables may become transactional, as in Hive's TransactionalValidationListener."""

from __future__ import annotations

import copy

import pytest

from metastore.errors import InvalidInputError
from metastore.services.rules.transactional import check_changed
from tests.wire.builders import descriptor, table
from thrift_idl.gen.hive_metastore.ttypes import Table

ORC = "org.apache.hadoop.hive.ql.io.orc.Orc"


def _table(orc: bool, **parameters: str) -> Table:
    formats = {"inputFormat": f"{ORC}InputFormat", "outputFormat": f"{ORC}OutputFormat"} if orc else {}
    return table("db", "t", catName="hive", sd=descriptor(**formats), parameters=parameters)


def _changed(old: Table, **parameters: str) -> Table:
    new = copy.deepcopy(old)
    new.parameters = parameters
    check_changed(old, new)
    return new


def test_a_plain_table_becomes_transactional() -> None:
    new = _changed(_table(orc=True), TRANSACTIONAL="True")
    assert new.parameters == {"transactional": "True", "transactional_properties": "default"}
    with pytest.raises(InvalidInputError, match="ACID compliant format"):
        _changed(_table(orc=False), transactional="true")


def test_a_transactional_table_stays_as_it_is() -> None:
    """Its shape is not checked again: Hive alters insert-only tables of any format."""
    insert_only = {"transactional": "true", "transactional_properties": "insert_only"}
    assert _changed(_table(orc=False, **insert_only), **insert_only, note="x").parameters == insert_only | {"note": "x"}
    full = _table(orc=True, transactional="true", transactional_properties="default")
    moved = copy.deepcopy(full)
    moved.sd.inputFormat = "another"
    check_changed(full, moved)


@pytest.mark.parametrize("parameters", [{}, {"transactional": "false"}])
def test_a_transactional_table_does_not_become_plain(parameters: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="cannot be unset"):
        _changed(_table(orc=True, transactional="true", transactional_properties="default"), **parameters, note="x")
