"""Hive's serialized expressions, which Kryo wrote from Java's objects, become predicates."""

from metastore.domain.kryo.input import UnreadableExpressionError
from metastore.domain.kryo.predicates import parse_serialized

__all__ = ["UnreadableExpressionError", "parse_serialized"]
