"""Asks for the declared rights around each call: what it needs before it happens, what is seen of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metastore.errors import NotFoundError, PermissionDeniedError
from metastore.protocol.methods import Method
from metastore.protocol.rights.declared import rules
from metastore.protocol.rights.named import Given
from metastore.protocol.rights.rule import Rule, Sees

Function = Callable[..., Any]


class Guard:
    """Of one process. Raises ConfigurationError where a served method declares no rights."""

    def __init__(self, sees: Sees | None = None, *, read_only: bool = False) -> None:
        """Without `sees`, nothing is asked; `read_only`: whatever anybody may, nothing is changed."""
        self._sees = sees
        self._read_only = read_only
        self._rules = rules()

    def guarded(self, method: Method, function: Function) -> Function:
        """Returns the handler's function behind its rights; itself, where there is nothing to ask."""
        rule = self._rules[method.name]
        if self._read_only and rule.is_change and not rule.readers_too:
            return _refused
        if self._sees is None or rule.is_open:
            return function
        return _guarded(rule, self._sees, method.fields, function)


def _refused(*_: Any) -> Any:
    raise PermissionDeniedError("This metastore is read-only (METASTORE_READ_ONLY): ask one that is not")


def _guarded(rule: Rule, sees: Sees, names: tuple[str, ...], function: Function) -> Function:
    def call(*values: Any) -> Any:
        given = Given(names, list(values))
        if rule.needs or rule.amend:
            try:
                standing = sees.permit([need for needs in rule.needs for need in needs(given)])
            except NotFoundError:
                if rule.may_be_absent and rule.may_be_absent(given):
                    return None
                raise
            if rule.amend:
                rule.amend(standing, given)
                values = tuple(getattr(given, name) for name in names)
        answer = function(*values)
        return rule.shown(sees, given, answer) if rule.shown else answer

    return call
