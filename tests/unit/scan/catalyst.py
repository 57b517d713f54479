"""Builds Catalyst's JSON of expressions, in the form of TreeNode.toJSON, as input for tests of predicates."""

from __future__ import annotations

import json
from typing import Any

PACKAGE = "org.apache.spark.sql.catalyst.expressions"
Expression = list[dict[str, Any]]


def node(class_name: str, /, *children: Expression, **fields: Any) -> Expression:
    """Returns a node followed by its children."""
    own = {"class": f"{PACKAGE}.{class_name}", "num-children": len(children), **fields}
    return [own, *(expression for child in children for expression in child)]


def attribute(name: str, data_type: Any = "integer") -> Expression:
    """Returns a column."""
    return node("AttributeReference", name=name, dataType=data_type, nullable=True)


def literal(value: str | None, data_type: str = "integer") -> Expression:
    """Returns a constant. Catalyst omits the value if it is null."""
    return node("Literal", dataType=data_type, **({} if value is None else {"value": value}))


def text(expression: Expression) -> str:
    """Returns the JSON text as the JVM sends it."""
    return json.dumps(expression)
