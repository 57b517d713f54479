"""Catalyst's JSON of expressions, as TreeNode.toJSON writes it: what the tests of predicates are fed with."""

from __future__ import annotations

import json
from typing import Any

PACKAGE = "org.apache.spark.sql.catalyst.expressions"
Expression = list[dict[str, Any]]


def node(class_name: str, /, *children: Expression, **fields: Any) -> Expression:
    """A node before its children."""
    own = {"class": f"{PACKAGE}.{class_name}", "num-children": len(children), **fields}
    return [own, *(expression for child in children for expression in child)]


def attribute(name: str, data_type: Any = "integer") -> Expression:
    """A column."""
    return node("AttributeReference", name=name, dataType=data_type, nullable=True)


def literal(value: str | None, data_type: str = "integer") -> Expression:
    """A constant; Catalyst leaves the value out where it is null."""
    return node("Literal", dataType=data_type, **({} if value is None else {"value": value}))


def text(expression: Expression) -> str:
    """As it comes from the JVM."""
    return json.dumps(expression)
