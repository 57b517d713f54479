"""Any bytes from a client either decode to an expression or raise UnreadableExpressionError."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import pytest

from metastore.domain.expression import UNKNOWN, Compare, Expression, Operator, has_unknown
from metastore.domain.kryo import parse_serialized
from metastore.errors import InvalidInputError
from metastore.storage.queries.filters import filter_condition
from metastore.storage.references import Key
from tests.fixtures.expressions import VERSIONS, Recorded, Recordings, recordings

MUTATED = int(os.environ.get("METASTORE_TEST_MUTATED", "1500"))  # of each version; docs/tested.md


def _parsed(actual: Recordings, recorded: Recorded, expression: bytes) -> Expression:
    """Decodes as the service does: reads the texts of partitions and builds the condition."""
    table = actual.tables[recorded.table]
    keys = [Key(*key) for key in table.keys]
    names = [key.name for key in keys]

    def values_of(columns: Sequence[str]) -> list[list[str]]:
        positions = [names.index(column) for column in columns]
        return [[values[position] for position in positions] for values in table.values]

    predicate = parse_serialized(expression, keys, values_of)
    filter_condition(predicate, keys)
    return predicate


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """Changes, removes, repeats or inserts some bytes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(made) or 1)
        match chance.randrange(6):
            case 0:
                made[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                made[at : at + 1] = bytes([(made[at] if made else 0) ^ 1 << chance.randrange(8)])
            case 2:
                del made[at : at + chance.randrange(1, 9)]
            case 3:
                made[at:at] = made[at : at + chance.randrange(1, 40)]
            case 4:
                made[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 5)))
            case 5:
                del made[at:]
    return bytes(made)


@pytest.mark.parametrize("version", VERSIONS)
def test_mutated_expressions_are_read_or_refused(version: str) -> None:
    actual, chance = recordings(version), random.Random(version)
    refused = 0
    for _ in range(MUTATED):
        recorded = chance.choice(actual.expressions)
        try:
            _parsed(actual, recorded, _mutated(recorded.expression, chance))
        except InvalidInputError:
            refused += 1
    assert MUTATED / 2 < refused < MUTATED


@pytest.mark.parametrize("version", VERSIONS)
def test_every_beginning_is_rejected(version: str) -> None:
    actual = recordings(version)
    recorded = max(actual.expressions[:50], key=lambda each: len(each.expression))
    for end in range(len(recorded.expression)):
        with pytest.raises(InvalidInputError):
            _parsed(actual, recorded, recorded.expression[:end])
    with pytest.raises(InvalidInputError, match="data follows"):
        _parsed(actual, recorded, recorded.expression + b"\0")


def test_an_expression_equals_its_text() -> None:
    actual = recordings("4.1.0")
    statement = "EXPLAIN SELECT x FROM ints WHERE k > 1"
    recorded = next(expression for expression in actual.expressions if expression.statement == statement)
    assert _parsed(actual, recorded, recorded.expression) == Compare("k", Operator.GREATER, "1")
    other = recorded._replace(table="two")
    assert _parsed(actual, other, recorded.expression) == UNKNOWN
    assert has_unknown(_parsed(actual, other, recorded.expression))


def _nested(levels: int) -> bytes:
    """NOT NOT … as Hive 4 writes it: each function has a list of one element, whose class is referred to by number."""
    function = b"\x01\x00org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDes\xe3\x01"
    first_list = b"\x01\x01java.util.ArrayLis\xf4\x01\x82"
    return function + first_list + b"\x01\x00\x00\x01\x01\x01\x01\x82" * levels


@pytest.mark.parametrize("levels", [100, 10_000, 100_000])
def test_depth_is_bounded(levels: int) -> None:
    with pytest.raises(InvalidInputError):
        parse_serialized(_nested(levels), [Key("k", "int")], lambda _: [])


def test_size_is_bounded() -> None:
    with pytest.raises(InvalidInputError, match="the maximum is 1,048,576"):
        parse_serialized(b"\x01" + b"\0" * (1 << 20), [Key("k", "int")], lambda _: [])
