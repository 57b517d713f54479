"""The policies of table care of stored tables, and the conditions that they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from metastore.domain.care import Policies, Setting, policies, resolve
from metastore.domain.care_rules import Rule, rule_of


class Conditions(NamedTuple):
    """The policies of a table, and the conditions that they mean at one moment. `timeless`: without times."""

    settings: list[Setting]
    policies: Policies
    rule: Rule
    timeless: Mapping[str, Any]


def conditions_of(row: Mapping[str, Any], now: float) -> Conditions:
    """Returns the conditions of a table. `row`: as `storage.pages.care.Care` reads it; `now`: seconds since 1970."""
    settings = resolve(row["keys"], row["own"], row["of_database"], row["of_catalog"])
    found = policies(settings, row["keys"])
    rule = rule_of(row["id"], found, row["own"], row["storage"], row["floor"], now)
    return Conditions(settings, found, rule, rule.timeless(found))
