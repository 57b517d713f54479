"""Names of imports: derived from an address without its user, password and domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metastore.domain.import_names import check_name, default_name, without_account
from metastore.errors import InvalidInputError


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("thrift://old.example.com:9083", "old"),
        ("thrift://old:9085", "old-9085"),
        ("thrift://a:9083,thrift://b:9083", "a"),
        ("postgresql://mover:***@db.example.com:5432/hive?sslmode=require", "db-hive"),
        ("postgresql://h1:5432,h2:5432/hive", "h1-hive"),
        ("postgresql:///hive?host=/run", "hive"),
        ("mysql://root:***@10.0.0.5/metastore", "10.0.0.5-metastore"),
        ("thrift://", "source"),
    ],
)
def test_default_names(address: str, name: str) -> None:
    assert default_name(address) == name


@given(st.text())
def test_every_default_name_is_a_name(rest: str) -> None:
    check_name(default_name(f"mysql://{rest}"))


@pytest.mark.parametrize("name", ["", "a b", "-a", "ü", "a" * 64, "a/b"])
def test_wrong_names(name: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a name of an import"):
        check_name(name)


def test_another_user_reads_the_same_source() -> None:
    assert without_account("mysql://a:***@h/d?user=x@y") == without_account("mysql://b@h/d?user=x@y")
    assert without_account("mysql://a@h/d") != without_account("mysql://a@h/d?ssl=true")
