"""Many equalities on one column as one IN: planners write `x = 1 OR x = 2 …`, and one list is cheaper to judge."""

from __future__ import annotations

from metastore.domain.expression import And, Compare, Expression, In, Not, Operator, Or


def merge_in_lists(expression: Expression) -> Expression:
    """Returns the same predicate with the equalities of each OR, and the inequalities of each AND, merged by column.

    `expression` has its negations at the leaves (`push_not`).
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
    """Returns the children that stay, and the lists that the others make."""
    kept: list[Expression] = []
    lists: dict[str, list[str]] = {}
    for child in children:
        found = _equality(child, negated=negated)
        if found is None:
            kept.append(merge_in_lists(child))
        else:
            lists.setdefault(found.column, []).extend(found.values)
    return kept, [In(column, tuple(dict.fromkeys(values))) for column, values in lists.items()]


def _equality(expression: Expression, *, negated: bool) -> In | None:
    """Returns the list that the predicate, or its negation, is; None if it is none. An empty list stays by itself."""
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
