"""The syntax of quotas."""

from __future__ import annotations

import pytest

from metastore.domain.quotas import Quota, parse_quotas
from metastore.errors import ConfigurationError


def test_rules_are_read() -> None:
    quotas = parse_quotas(" user *: calls=100 bytes=64M; user etl:calls=1000 ;client java : partitions=5K, calls=7;")
    assert quotas.of_user("alice") == Quota(calls=100, bytes=64 * 2**20)
    assert quotas.of_user("etl") == Quota(calls=1000)
    assert quotas.of_client("java") == Quota(partitions=5 * 2**10, calls=7)
    assert quotas.of_client("other") == Quota()


def test_nothing_is_no_quota() -> None:
    assert parse_quotas("").of_user("alice") == Quota()


@pytest.mark.parametrize(
    "text", ["alice: calls=1", "user a", "user a:", "user a: calls=x", "user a: rows=1", "calls=1"]
)
def test_invalid_quotas_are_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"quotas: '{text}' cannot be parsed"):
        parse_quotas(f"user *: calls=1; {text}")


def test_a_quota_leaves_something() -> None:
    with pytest.raises(ConfigurationError, match="a limit must be 1 or more"):
        parse_quotas("user a: calls=0")
