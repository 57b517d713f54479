"""From what a method declares to what a call needs: bound once to the names of the method's arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metastore.domain.permissions import AdminNeed, AnyNeed, DependentsNeed, Need
from metastore.domain.privileges import Right
from metastore.protocol.methods import Method
from metastore.protocol.rights.named import Given, named_database, named_table, request_of, table_of_struct
from metastore.protocol.rights.rule import Bound, NeedsOf


def table(*any_of: Right) -> Bound:
    """Asks for one of these rights on the table that the call names; none: it is seen."""

    def bound(method: Method) -> NeedsOf:
        read = named_table(method)
        return lambda given: [Need(read(given), any_of)]

    return bound


def database(*any_of: Right) -> Bound:
    """Asks for one of these rights on the database that the call names; none: it is seen."""

    def bound(method: Method) -> NeedsOf:
        read = named_database(method)
        return lambda given: [Need(read(given), any_of)]

    return bound


def admin(_: Method) -> NeedsOf:
    """Asks for the role of administrators."""
    return lambda _given: [AdminNeed()]


def given(needs: Callable[[Any], Iterable[AnyNeed]]) -> Bound:
    """Returns what follows from the arguments."""
    return lambda _method: needs


def request(needs: Callable[[Any], Iterable[AnyNeed]]) -> Bound:
    """Returns what follows from the one struct that is the call's argument."""

    def bound(method: Method) -> NeedsOf:
        read = request_of(method)
        return lambda given: needs(read(given))

    return bound


def structs(field: str, *any_of: Right) -> Bound:
    """Asks for one of these rights on all tables that the structs of an argument name."""
    return lambda _method: lambda given: of_structs(_many(given, field), any_of)


def of_structs(found: Iterable[Any], any_of: tuple[Right, ...]) -> list[AnyNeed]:
    """Asks for one of these rights on each table that structs name."""
    names = dict.fromkeys(table_of_struct(struct) for struct in found if struct is not None)
    return [Need(name, any_of) for name in names]


def _many(given: Given, field: str) -> list[Any]:
    found = getattr(given, field)
    return found if isinstance(found, list) else [found]


def dependents(method: Method) -> NeedsOf:
    """DROP on all that is dropped with a table: where nothing depends on it, that is nothing."""
    read = named_table(method)
    return lambda given: [DependentsNeed(read(given), (Right.DROP,))]
