"""Secrets in answers: for owners and administrators only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from metastore.domain.names import DatabaseName, TableName, table_name
from metastore.domain.permissions import Need
from metastore.encoding.binary import STOP, EncodedList, EncodedStruct, EncodedTexts, encode_fields
from metastore.encoding.redaction import may_hold_secrets, redact
from metastore.protocol.rights.named import Given, folded_catalog
from metastore.protocol.rights.rule import Rule, Sees
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, Table

Named = TableName | DatabaseName


def without_secrets(sees: Sees, rule: Rule, given: Given, answer: Any) -> Any:
    """Returns an answer without the secrets of what its caller does not own. Most have none, which is seen at once."""
    if isinstance(answer, EncodedStruct | EncodedList):
        return _clean(sees, rule, given, answer)
    if isinstance(answer, EncodedTexts):
        return answer
    if isinstance(answer, list):
        return _clean(sees, rule, given, answer) if answer and not isinstance(answer[0], str) else answer
    for name in getattr(answer, "__slots__", ()):
        value = getattr(answer, name, None)
        if not isinstance(value, str | int | None):
            setattr(answer, name, _clean(sees, rule, given, value))
    return answer


def _clean(sees: Sees, rule: Rule, given: Given, value: Any) -> Any:
    if not may_hold_secrets(b"".join(_bytes(value))):
        return value
    found = value.decode() if isinstance(value, EncodedStruct | EncodedList) else value
    structs = found if isinstance(found, list) else [found]
    asked = [need.what for needs in rule.needs for need in needs(given) if isinstance(need, Need)]
    about = [need for need in asked if isinstance(need, TableName | DatabaseName)]
    names = [_name(struct) for struct in structs]
    owned = sees.owned([*about, *(name for name in names if name)])
    whole = bool(about) and owned >= set(about)
    others = [struct for struct, name in zip(structs, names, strict=True) if not (name in owned if name else whole)]
    if not sum(map(redact, others)):
        return value
    if isinstance(value, EncodedStruct):
        return EncodedStruct(value.struct, encode_fields(found) + STOP)
    return found


def _bytes(value: Any) -> Iterator[bytes]:
    """Yields what may say that there is a secret; of structs, their texts."""
    match value:
        case EncodedStruct():
            yield value.data
        case EncodedList():
            yield from value.heads
            yield from {id(tail): tail for tail in value.tails}.values()
        case dict():
            yield from (text.encode() for text in value if isinstance(text, str))
            yield from _of_all(value.values())
        case list() | tuple() | set():
            yield from _of_all(value)
        case _:
            yield from _of_all(getattr(value, name, None) for name in getattr(value, "__slots__", ()))


def _of_all(values: Iterable[Any]) -> Iterator[bytes]:
    for value in values:
        if value is not None and not isinstance(value, str | int | float | bytes):
            yield from _bytes(value)


def _name(struct: Any) -> Named | None:
    match struct:
        case Table() | Partition():
            return table_name(struct.dbName, struct.tableName, struct.catName)
        case Database():
            return DatabaseName(folded_catalog(struct.catalogName), struct.name)
        case _:
            return None
