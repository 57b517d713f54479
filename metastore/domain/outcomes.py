"""Three-valued logic on what may be: an outcome is the set of values, of true, false and null, that a predicate can take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from metastore.domain.expression import And, Constant, Expression, Leaf, Not, Or, Truth

Outcome: TypeAlias = int  # a set of these bits
IS_TRUE, IS_FALSE, IS_NULL = 1, 2, 4
ANY: Outcome = IS_TRUE | IS_FALSE | IS_NULL

_CONSTANTS = {Truth.TRUE: IS_TRUE, Truth.FALSE: IS_FALSE, Truth.NULL: IS_NULL, Truth.UNKNOWN: ANY}
_NOT_OF_BIT = {IS_TRUE: IS_FALSE, IS_FALSE: IS_TRUE, IS_NULL: IS_NULL}


def boolean(value: bool) -> Outcome:  # noqa: FBT001 - the value is the argument
    """The outcome that is certainly this value."""
    return IS_TRUE if value else IS_FALSE


def outcome_of(expression: Expression, leaf: Callable[[Leaf], Outcome]) -> Outcome:
    """What the predicate can be, where `leaf` tells it of the leaves that are no constants.

    Sound: nothing that can happen is missing. Leaves count as independent, so what cannot happen may be in it.
    """
    match expression:
        case Constant(truth=truth):
            return _CONSTANTS[truth]
        case Not(child=child):
            return _NOT[outcome_of(child, leaf)]
        case And(children=children):
            return _folded((outcome_of(child, leaf) for child in children), IS_TRUE, IS_FALSE, _AND)
        case Or(children=children):
            return _folded((outcome_of(child, leaf) for child in children), IS_FALSE, IS_TRUE, _OR)
    return leaf(expression)


def _folded(outcomes: Iterable[Outcome], start: Outcome, end: Outcome, table: list[list[Outcome]]) -> Outcome:
    result = start
    for outcome in outcomes:
        result = table[result][outcome]
        if result == end:
            break
    return result


def _and(left: int, right: int) -> int:
    if IS_FALSE in (left, right):
        return IS_FALSE
    return IS_NULL if IS_NULL in (left, right) else IS_TRUE


def _or(left: int, right: int) -> int:
    return _NOT_OF_BIT[_and(_NOT_OF_BIT[left], _NOT_OF_BIT[right])]


def _bits(outcome: Outcome) -> list[int]:
    return [bit for bit in (IS_TRUE, IS_FALSE, IS_NULL) if outcome & bit]


def _union(bits: Iterable[int]) -> Outcome:
    result = 0
    for bit in bits:
        result |= bit
    return result


def _table(connective: Callable[[int, int], int]) -> list[list[Outcome]]:
    """Of all pairs of sets, so that a tree is evaluated by look-ups."""
    sets = range(ANY + 1)
    return [[_union(connective(x, y) for x in _bits(left) for y in _bits(right)) for right in sets] for left in sets]


_AND, _OR = _table(_and), _table(_or)
_NOT = [_union(_NOT_OF_BIT[bit] for bit in _bits(outcome)) for outcome in range(ANY + 1)]
