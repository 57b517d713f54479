"""Error messages without the names of tables that the caller may not see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, fold, split_database
from metastore.errors import InvalidInputError, MetastoreError
from metastore.operations.answer_filters import HIDDEN
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.operations.operation import Authorizer

_CONTAINERS: Final = (list, tuple, set, dict)
_TABLE: Final = re.compile(r"(?<![\w.])[a-z0-9_]+\.[a-z0-9_]+(?![\w.]\w)")


def hide_names(authorizer: Authorizer, error: MetastoreError, method: Method, arguments: Arguments) -> None:
    """Replaces the names of hidden tables in an error message.

    Names that the call itself contains stay, because the message for a table that does not exist repeats them as well.
    Names that the error takes from the catalog (`error.others`) are always replaced: otherwise a caller could put
    guesses into a call to learn which of them exist.
    """
    text = str(error)
    full_names = set(_TABLE.findall(text))
    catalogs = _catalogs(method, arguments) if full_names else ()
    tables = {TableName(catalog, *full.split(".")): full for catalog in catalogs for full in full_names}
    hidden = authorizer.hidden_tables(tables) if tables else ()
    texts = list(_texts(arguments)) if hidden else []
    for table in hidden:
        full = tables[table]
        if full in error.others or not any(group.names(table, full) for group in texts):
            text = re.sub(rf"\b{re.escape(full)}\b", HIDDEN, text)
    error.args = (text,)


def _catalogs(method: Method, arguments: Arguments) -> set[str]:
    """Returns the catalogs of the objects that the call is about, and the default one."""
    requirements = method.requirements(arguments)
    objects = [getattr(each, name, None) for each in requirements for name in ("securable", "database", "table")]
    return {DEFAULT_CATALOG} | {name.catalog for name in objects if isinstance(name, DatabaseName | TableName)}


class _Texts(NamedTuple):
    """The texts that a struct of the call holds itself, or that a list or map holds."""

    texts: list[str]
    is_struct: bool

    def names(self, table: TableName, full: str) -> bool:
        """Returns whether a text contains the full name, or the fields of a struct are the table's name."""
        if any(full in text.lower() for text in self.texts):
            return True
        if not self.is_struct:
            return False
        words = {word for text in self.texts for word in _words(text)}
        return {table.database, table.name} <= words and table.catalog in words | {DEFAULT_CATALOG}


def _words(text: str) -> set[str | None]:
    try:
        return {fold(text), *split_database(text)}
    except InvalidInputError:  # no name of a database
        return {fold(text)}


def _texts(value: Any) -> Iterator[_Texts]:
    """Yields the texts of a call, grouped by the struct, list or map that holds them."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        is_struct = hasattr(holder, "thrift_spec")
        if is_struct:
            values = [getattr(holder, name) for name in holder.__slots__]
        else:
            values = [*holder, *holder.values()] if isinstance(holder, dict) else list(holder)
        yield _Texts([text for text in values if isinstance(text, str)], is_struct)
        waiting += [item for item in values if isinstance(item, _CONTAINERS) or hasattr(item, "thrift_spec")]
