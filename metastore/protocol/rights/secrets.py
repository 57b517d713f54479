"""Secrets in answers, such as passwords in table parameters: only owners and administrators see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, fold, table_name
from metastore.domain.permissions import RequiredPrivilege
from metastore.encoding.binary import STOP, EncodedList, EncodedStruct, EncodedTexts, encode_fields
from metastore.encoding.redaction import may_hold_secrets, redact
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.operations.operation import Authorizer
from thrift_idl.gen.hive_metastore.ttypes import Database, Partition, Table

_Name: TypeAlias = TableName | DatabaseName


def without_secrets(authorizer: Authorizer, method: Method, arguments: Arguments, answer: Any) -> Any:
    """Returns an answer without the secrets of objects that the caller does not own.

    Most answers have none: a search of their bytes shows this without decoding them.
    """
    if isinstance(answer, EncodedStruct | EncodedList):
        return _redacted(authorizer, method, arguments, answer)
    if answer is None or isinstance(answer, EncodedTexts | str | int):
        return answer
    if isinstance(answer, list):
        return _redacted(authorizer, method, arguments, answer) if answer and not isinstance(answer[0], str) else answer
    for name in getattr(answer, "__slots__", ()):
        value = getattr(answer, name, None)
        if not isinstance(value, str | int | None):
            setattr(answer, name, _redacted(authorizer, method, arguments, value))
    return answer


def _redacted(authorizer: Authorizer, method: Method, arguments: Arguments, value: Any) -> Any:
    if not may_hold_secrets(b"".join(_bytes(value))):
        return value
    decoded = value.decode() if isinstance(value, EncodedStruct | EncodedList) else value
    structs = decoded if isinstance(decoded, list) else [decoded]
    required = [each.securable for each in method.requirements(arguments) if isinstance(each, RequiredPrivilege)]
    targets = [name for name in required if isinstance(name, TableName | DatabaseName)]
    names = [_name(struct) for struct in structs]
    owned = authorizer.owned([*targets, *(name for name in names if name)])
    owns_targets = bool(targets) and owned >= set(targets)  # used for structs that name no object
    others = [
        struct for struct, name in zip(structs, names, strict=True) if not (name in owned if name else owns_targets)
    ]
    if not sum(map(redact, others)):
        return value
    if isinstance(value, EncodedStruct):
        return EncodedStruct(value.struct, encode_fields(decoded) + STOP)
    return decoded


def _bytes(value: Any) -> Iterator[bytes]:
    """Yields the encoded parts of a value, and the keys of its maps: `may_hold_secrets` searches them."""
    match value:
        case EncodedStruct():
            yield value.data
        case EncodedList():
            yield from value.heads
            yield from {id(tail): tail for tail in value.tails}.values()
        case dict():
            yield from (text.encode() for text in value if isinstance(text, str))
            yield from _bytes_of_all(value.values())
        case list() | tuple() | set():
            yield from _bytes_of_all(value)
        case _:
            yield from _bytes_of_all(getattr(value, name, None) for name in getattr(value, "__slots__", ()))


def _bytes_of_all(values: Iterable[Any]) -> Iterator[bytes]:
    for value in values:
        if value is not None and not isinstance(value, str | int | float | bytes):
            yield from _bytes(value)


def _name(struct: object) -> _Name | None:
    match struct:
        case Table() | Partition():
            return table_name(struct.dbName, struct.tableName, struct.catName)
        case Database():
            return DatabaseName(fold(struct.catalogName) or DEFAULT_CATALOG, struct.name)
        case _:
            return None
