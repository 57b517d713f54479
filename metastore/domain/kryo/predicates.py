"""Translation of Hive's expressions on partition keys to predicates.

Parts without an equivalent predicate become UNKNOWN. A constant NULL has the meaning of Hive's PartitionPruner: it
replaces parts of the expression that depend on other columns than partition keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from metastore.domain.expression import (
    FALSE,
    MAX_NODES,
    NULL,
    UNKNOWN,
    And,
    Compare,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafeEqual,
    Operator,
    Or,
    push_not,
)
from metastore.domain.keys import kind_of
from metastore.domain.kryo.by_values import Key, predicate_by_values, truth_of, without_defaults
from metastore.domain.kryo.constants import literal, node_type
from metastore.domain.kryo.evaluation import evaluated
from metastore.domain.kryo.functions import TypedValue
from metastore.domain.kryo.input import UnreadableExpressionError
from metastore.domain.kryo.layouts import EXPRESSIONS, FUNCTIONS
from metastore.domain.kryo.nodes import arguments_of, struct_constants, struct_of
from metastore.domain.kryo.objects import JavaObject, expression_object
from metastore.domain.kryo.values import HiveType, IndeterminateError, hive_type
from metastore.domain.names import fold_column
from metastore.domain.partition_names import DEFAULT_PARTITION

# Maximum number of evaluated nodes, over all rows of partition values.
MAX_EVALUATIONS = 200_000


class Column(NamedTuple):
    """A partition key, possibly with a widening cast. `kind` is the type after the cast."""

    name: str
    kind: HiveType


# Returns the combinations of stored texts that partitions have for the given keys.
ValuesOf = Callable[[Sequence[str]], Iterable[Sequence[str]]]

_COMPARISONS = {
    "OPEqual": Operator.EQUAL,
    "OPNotEqual": Operator.NOT_EQUAL,
    "OPLessThan": Operator.LESS,
    "OPEqualOrLessThan": Operator.LESS_OR_EQUAL,
    "OPGreaterThan": Operator.GREATER,
    "OPEqualOrGreaterThan": Operator.GREATER_OR_EQUAL,
}
_WIDTHS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_PLAIN = "org.apache.hadoop.hive.ql.udf.UDF"
_CASTS = {f"{_PLAIN}To{kind}" for kind in ("Byte", "Short", "Integer", "Long", "Double", "Float", "String")}
_CASTS |= {f"{FUNCTIONS}{kind}" for kind in ("ToDecimal", "ToVarchar", "ToString", "ToDate", "Timestamp")}


def parse_serialized(data: bytes, keys: Sequence[Key], values_of: ValuesOf) -> Expression:
    """Translates a serialized expression to a predicate that is true for the partitions that Hive would choose.

    Args:
        data: the bytes that HiveServer2 sends.
        keys: the partition keys of the table.
        values_of: returns the partition values for parts of the expression that have to be evaluated.

    Returns:
        The predicate. It contains UNKNOWN where Hive's result is not known for certain.

    Raises:
        UnreadableExpressionError: the bytes are not an expression of a supported Hive version.
    """
    translation = _Translation(keys, values_of)
    return without_defaults(push_not(translation.predicate(expression_object(data))), keys)


class _Translation:
    """Translates one expression. Methods return None for parts without an equivalent predicate."""

    def __init__(self, keys: Sequence[Key], values_of: ValuesOf) -> None:
        self._types = {key.name: key.type for key in keys}
        self._values_of = values_of
        self._nodes = 0
        self._evaluations = MAX_EVALUATIONS
        self._functions: dict[str, Callable[[list[Any]], Expression | None]] = {
            "OPAnd": lambda children: And(tuple(map(self.predicate, children))) if children else None,
            "OPOr": lambda children: Or(tuple(map(self.predicate, children))) if children else None,
            "OPNot": lambda children: Not(self.predicate(children[0])) if len(children) == 1 else None,
            "OPNull": self._is_null,
            "OPNotNull": lambda children: _negated(self._is_null(children)),
            "OPEqualNS": self._null_safe,
            "OPNotEqualNS": lambda children: _negated(self._null_safe(children)),
            "OPTrue": lambda children: self._is(children, wanted=True),
            "OPFalse": lambda children: self._is(children, wanted=False),
            "OPNotTrue": lambda children: _negated(self._is(children, wanted=True)),
            "OPNotFalse": lambda children: _negated(self._is(children, wanted=False)),
            "In": self._in,
            "Between": self._between,
            "Bridge": self._like,
        }

    def predicate(self, node: Any) -> Expression:
        """Translates a boolean expression."""
        self._count()
        if not isinstance(node, JavaObject):
            raise UnreadableExpressionError("an expression is missing")
        is_function = node.name == f"{EXPRESSIONS}GenericFuncDesc"
        predicate = self._function(node) if is_function else self._simple(node)
        return self._evaluated(node) if predicate is None else predicate

    def _function(self, node: JavaObject) -> Expression | None:
        function, children = node.fields["genericUDF"], arguments_of(node)
        if not isinstance(function, JavaObject):
            raise UnreadableExpressionError("a function is missing")
        name = function.name.removeprefix(FUNCTIONS)
        if name in _COMPARISONS:
            return self._comparison(_COMPARISONS[name], *map(self._value, children)) if len(children) == 2 else None
        if name == "Bridge" and function.fields["udfClassName"] != f"{_PLAIN}Like":
            return None
        translate = self._functions.get(name)
        return None if translate is None else translate(children)

    def _simple(self, node: JavaObject) -> Expression | None:
        value = self._value(node)
        if isinstance(value, Column):
            return Compare(value.name, Operator.EQUAL, "true") if value.kind.name == "boolean" else None
        return None if value is None else truth_of(value.value)

    def _count(self) -> None:
        """Counts a visited node. Raises UnreadableExpressionError after MAX_NODES.

        A node counts each time it is referenced: a small message could expand to a huge tree.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise UnreadableExpressionError(f"it has more than {MAX_NODES:,} parts")

    # --- values

    def _value(self, node: Any) -> Column | TypedValue | None:
        """Returns a partition key or a constant, or None for any other expression."""
        self._count()
        if not isinstance(node, JavaObject):
            raise UnreadableExpressionError("a value is missing")
        if node.name == f"{EXPRESSIONS}ColumnDesc":
            return self._column(node)
        if node.name == f"{EXPRESSIONS}GenericFuncDesc":
            column = self._cast(node)
            if column is not None:
                return column
        return None if self._columns(node) else _constant(node)

    def _column(self, node: JavaObject) -> Column | None:
        name, kind = fold_column(node.fields["column"] or ""), node_type(node)
        known = self._types.get(name)
        if known is None or kind is None or kind_of(known) is not kind_of(kind.name):
            return None
        return Column(name, kind)

    def _cast(self, node: JavaObject) -> Column | None:
        """Returns the key in a cast that does not change its values, or None."""
        function, children, target = node.fields["genericUDF"], arguments_of(node), node_type(node)
        if not isinstance(function, JavaObject) or len(children) != 1 or target is None:
            return None
        if function.name not in _CASTS and function.fields.get("udfClassName") not in _CASTS:
            return None
        child = self._value(children[0])
        return Column(child.name, target) if isinstance(child, Column) and _widens(child.kind, target) else None

    def _literal(self, column: Column, constant: TypedValue) -> str | None:
        key = self._types[column.name]
        try:
            return literal(hive_type(key), kind_of(key), column.kind, constant)
        except IndeterminateError:
            return None

    # --- functions

    def _comparison(
        self, operator: Operator, left: Column | TypedValue | None, right: Column | TypedValue | None
    ) -> Expression | None:
        if isinstance(right, Column) and not isinstance(left, Column):
            return self._comparison(operator.mirrored, right, left)
        if not isinstance(left, Column) or not isinstance(right, TypedValue):
            return None
        if right.value is None:
            return NULL
        if operator in (Operator.EQUAL, Operator.NOT_EQUAL) and right.value == DEFAULT_PARTITION:
            return IsNull(left.name) if operator is Operator.EQUAL else Not(IsNull(left.name))
        value = self._literal(left, right)
        return None if value is None else Compare(left.name, operator, value)

    def _null_safe(self, children: list[Any]) -> Expression | None:
        return self._same(*map(self._value, children)) if len(children) == 2 else None

    def _same(self, left: Column | TypedValue | None, right: Column | TypedValue | None) -> Expression | None:
        if isinstance(right, Column):
            left, right = right, left
        if not isinstance(left, Column) or not isinstance(right, TypedValue):
            return None
        if right.value is None:
            return IsNull(left.name)
        value = self._literal(left, right)
        return None if value is None else NullSafeEqual(left.name, value)

    def _is_null(self, children: list[Any]) -> Expression | None:
        value = self._value(children[0]) if len(children) == 1 else None
        return IsNull(value.name) if isinstance(value, Column) else None

    def _is(self, children: list[Any], *, wanted: bool) -> Expression | None:
        """Translates x IS TRUE and x IS FALSE, which are never NULL."""
        value = self._value(children[0]) if len(children) == 1 else None
        if isinstance(value, Column) and value.kind.name == "boolean":
            return NullSafeEqual(value.name, str(wanted).lower())
        return None

    def _in(self, children: list[Any]) -> Expression | None:
        if len(children) < 2:
            return None
        structure = struct_of(children[0])
        if structure is not None:
            return self._struct_in([self._value(field) for field in structure], children[1:])
        column = self._value(children[0])
        constants = [self._value(child) for child in children[1:]]
        if not isinstance(column, Column):
            return None
        values: list[str] = []
        for constant in constants:
            value = (
                self._literal(column, constant)
                if isinstance(constant, TypedValue) and constant.value is not None
                else ""
            )
            if not isinstance(constant, TypedValue) or value is None:
                return None
            values += [value] if constant.value is not None else []
        predicate = In(column.name, tuple(values)) if values else FALSE
        return predicate if len(values) == len(constants) else Or((predicate, NULL))

    def _struct_in(self, columns: list[Column | TypedValue | None], candidates: list[Any]) -> Expression | None:
        """Translates (a, b) IN ((1, 2), …), which is never NULL."""
        alternatives: list[Expression] = []
        for candidate in candidates:
            values = self._struct_values(candidate)
            if values is None or len(values) != len(columns):
                return None
            equal = [self._same(*pair) for pair in zip(columns, values, strict=True)]
            alternatives.append(And(tuple(equality for equality in equal if equality is not None)))
            if None in equal:
                return None
        return Or(tuple(alternatives))

    def _struct_values(self, node: Any) -> Sequence[Column | TypedValue | None] | None:
        structure = struct_of(node)
        if structure is not None:
            return [self._value(field) for field in structure]
        return struct_constants(node)

    def _between(self, children: list[Any]) -> Expression | None:
        if len(children) != 4:
            return None
        inverted, value, lower, upper = map(self._value, children)
        if not isinstance(inverted, TypedValue) or not isinstance(inverted.value, bool):
            return None
        above = self._comparison(Operator.GREATER_OR_EQUAL, value, lower)
        below = self._comparison(Operator.LESS_OR_EQUAL, value, upper)
        if above is None or below is None:
            return None
        return Not(And((above, below))) if inverted.value else And((above, below))

    def _like(self, children: list[Any]) -> Expression | None:
        left, right = map(self._value, children) if len(children) == 2 else (None, None)
        if not isinstance(left, Column) or left.kind.name != "string" or not isinstance(right, TypedValue):
            return None
        pattern = right.value
        return Like(left.name, pattern) if isinstance(pattern, str) and "\\" not in pattern else None

    # --- expressions that have to be evaluated

    def _columns(self, node: Any) -> set[str]:
        """Returns the names of the columns in an expression."""
        self._count()
        if not isinstance(node, JavaObject):
            return set()
        if node.name == f"{EXPRESSIONS}ColumnDesc":
            return {fold_column(node.fields["column"] or "")}
        children = node.fields.get("children")
        return set().union(*map(self._columns, children)) if isinstance(children, list) else set()

    def _evaluated(self, node: JavaObject) -> Expression:
        """Evaluates the expression for each combination of its keys' values.

        Returns UNKNOWN if it has other columns, or if that would take more than MAX_EVALUATIONS.
        """
        before = self._nodes
        columns = sorted(self._columns(node))
        if not columns:
            constant = _constant(node)
            return UNKNOWN if constant is None else truth_of(constant.value)
        if not set(columns) <= set(self._types):
            return UNKNOWN
        size = self._nodes - before
        rows = list(islice(self._values_of(columns), self._evaluations // size + 1))
        self._evaluations -= len(rows) * size
        if self._evaluations < 0:
            return UNKNOWN
        return predicate_by_values(node, {column: self._types[column] for column in columns}, rows)


def _constant(node: JavaObject) -> TypedValue | None:
    try:
        return evaluated(node, {})
    except IndeterminateError:
        return None


def _negated(expression: Expression | None) -> Expression | None:
    return None if expression is None else Not(expression)


def _widens(source: HiveType, target: HiveType) -> bool:
    """Returns whether the conversion preserves every value of the source type."""
    if source.name == target.name:
        return source.name in ("string", "date", "timestamp", *_WIDTHS)
    if source.name in _WIDTHS:
        digits = _WIDTHS[source.name]
        if target.name in _WIDTHS:
            return digits < _WIDTHS[target.name]
        if target.name == "decimal":
            return target.size - target.scale >= digits
        return (target.name == "double" and digits <= 10) or (target.name == "float" and digits <= 5)
    return (source.name, target.name) in (("varchar", "string"), ("float", "double"))
