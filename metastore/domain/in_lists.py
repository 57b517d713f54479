"""Merges equalities on one column into one IN: planners send `x = 1 OR x = 2 …`, and a list is faster to evaluate."""

from __future__ import annotations

from metastore.domain.expression import And, Compare, Expression, In, Not, Operator, Or


def merge_in_lists(expression: Expression) -> Expression:
    """Returns the same predicate with the equalities of each OR, and the inequalities of each AND, merged by column.

    `expression` is a result of `push_not`.
    """
    match expression:
        case Or(children=children):
            kept, lists = _gather(children, negated=False)
            return _single(Or, kept + lists)
        case And(children=children):
            kept, lists = _gather(children, negated=True)
            return _single(And, kept + [Not(child) for child in lists])
    return expression


def _gather(children: tuple[Expression, ...], *, negated: bool) -> tuple[list[Expression], list[Expression]]:
    """Returns the children that are not merged, and one IN per column for the others."""
    kept: list[Expression] = []
    lists: dict[str, list[str]] = {}
    for child in children:
        equality = _equality(child, negated=negated)
        if equality is None:
            kept.append(merge_in_lists(child))
        else:
            lists.setdefault(equality.column, []).extend(equality.values)
    return kept, [In(column, tuple(dict.fromkeys(values))) for column, values in lists.items()]


def _equality(expression: Expression, *, negated: bool) -> In | None:
    """Returns the IN that the predicate (or its negation) is equivalent to, or None. Empty lists are not merged."""
    match expression:
        case Compare(column=column, operator=operator, value=value):
            return In(column, (value,)) if operator is (Operator.NOT_EQUAL if negated else Operator.EQUAL) else None
        case Not(child=In(values=values) as child) if negated and values:
            return child
        case In(values=values) if not negated and values:
            return expression
    return None


def _single(kind: type[And] | type[Or], children: list[Expression]) -> Expression:
    return children[0] if len(children) == 1 else kind(tuple(children))
