"""Asks for the declared rights around each call: what it needs before it happens, what is seen of its answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName
from metastore.errors import MetastoreError, NotFoundError, PermissionDeniedError
from metastore.protocol.methods import Method
from metastore.protocol.rights.audit import Trail, audited
from metastore.protocol.rights.declared import rules
from metastore.protocol.rights.named import Given, said
from metastore.protocol.rights.rule import Condition, Rule, Sees
from metastore.protocol.rights.secrets import without_secrets
from metastore.protocol.rights.shown import HIDDEN

_TABLE: Final = re.compile(r"(?<![\w.])[a-z0-9_]+\.[a-z0-9_]+(?![\w.]\w)")

Function = Callable[..., Any]


class Guard:
    """Of one process. Raises ConfigurationError where a served method declares no rights."""

    def __init__(self, sees: Sees | None = None, *, read_only: bool = False, trail: Trail | None = None) -> None:
        """Without `sees`, nothing is asked; `read_only`: whatever anybody may, nothing is changed; `trail`: has what is
        changed and refused.
        """
        self._trail = trail
        self._sees = sees
        self._read_only = read_only
        self._rules = rules()

    def guarded(self, method: Method, function: Function) -> Function:
        """Returns the handler's function behind its rights; itself, where there is nothing to ask."""
        rule = self._rules[method.name]
        behind = self._behind(rule, method, function)
        return audited(self._trail, method.name, rule, method.fields, behind) if self._trail else behind

    def _behind(self, rule: Rule, method: Method, function: Function) -> Function:
        if self._sees is not None and not rule.is_open:
            function = _guarded(rule, self._sees, method.fields, function)
        return _for_readers(rule.for_readers, method.fields, function) if self._read_only else function


def _for_readers(served: bool | Condition, names: tuple[str, ...], function: Function) -> Function:
    if isinstance(served, bool):
        return function if served else _refused
    return lambda *values: (function if served(Given(names, list(values))) else _refused)(*values)


def _refused(*_: Any) -> Any:
    raise PermissionDeniedError("This metastore is read-only (METASTORE_READ_ONLY): ask one that is not")


def _blur(sees: Sees, error: MetastoreError, rule: Rule, given: Given) -> None:
    """Takes out of an error the names of hidden tables, but what it repeats of the call: of a missing one it says the
    same. What it has from the catalog goes, so that no guess, wherever it is written, is told to be right.
    """
    text = str(error)
    names = {full: full.split(".") for full in _TABLE.findall(text)}
    catalogs = _catalogs(rule, given) if names else ()
    whole = {TableName(catalog, *name): full for catalog in catalogs for full, name in names.items()}
    hidden = sees.hidden_tables(whole) if whole else set()
    tables, texts = said(given) if hidden else (set(), "")
    for table in hidden:
        repeated = table in tables or whole[table] in texts
        if whole[table] in error.others or not repeated:
            text = re.sub(rf"\b{re.escape(whole[table])}\b", HIDDEN, text)
    error.args = (text,)


def _catalogs(rule: Rule, given: Given) -> set[str]:
    """Returns those that a name in an error may be of: what the call is about, and the default one."""
    about = (need for needs in rule.needs for need in needs(given))
    named = (getattr(need, name, None) for need in about for name in ("what", "database", "table"))
    return {DEFAULT_CATALOG} | {of.catalog for of in named if isinstance(of, TableName | DatabaseName)}


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
        try:
            answer = function(*values)
        except MetastoreError as error:
            if not error.is_denial:
                _blur(sees, error, rule, given)
            raise
        if rule.shown:
            answer = rule.shown(sees, given, answer)
        return without_secrets(sees, rule, given, answer)

    return call
