"""Hidden columns in answers, for callers who may see only some columns of a table."""

from __future__ import annotations

from typing import Any, Final

from thrift.Thrift import TType

from metastore.domain.names import TableName
from metastore.domain.permissions import RequiredPrivilege
from metastore.domain.privileges import CallerGrants
from metastore.encoding.binary import STOP, EncodedStruct, encode_fields
from metastore.encoding.hidden_columns import decoded, named_tables, remove_columns
from metastore.operations.fields import Arguments
from metastore.operations.method import Method
from metastore.operations.operation import Authorizer
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj, FieldSchema, TableMeta

_DESCRIBING: Final = (FieldSchema, ColumnStatisticsObj, TableMeta)  # a comment may mention a column
_COLUMN_FIELDS: Final = frozenset(("column_name", "fkcolumn_name"))


def describes_columns(method: Method) -> bool:
    """Returns whether the method's result can contain columns, statistics of columns, constraints or comments
    of tables."""
    return method.result is not None and _describes([spec[1:4:2] for spec in method.result.thrift_spec if spec], set())


def without_columns(
    authorizer: Authorizer, grants: CallerGrants | None, method: Method, arguments: Arguments, answer: Any
) -> Any:
    """Returns an answer without the columns that the caller may not see. `grants`: the caller's, if they are known."""
    if not (grants or authorizer.grants()).may_miss_columns:
        return answer
    required = (each.securable for each in method.requirements(arguments) if isinstance(each, RequiredPrivilege))
    targets = [name for name in required if isinstance(name, TableName)]
    structs = decoded(answer)
    scopes = authorizer.column_scopes({*targets, *named_tables(structs)})
    if not scopes:
        return answer
    of_targets = next((scopes[name] for name in targets if name in scopes), None)
    visible = remove_columns(structs, scopes.get, of_targets)
    if isinstance(answer, EncodedStruct):
        return EncodedStruct(answer.struct, encode_fields(visible) + STOP)
    return visible


def _describes(types: list[Any], seen: set[type[Any]]) -> bool:
    """Searches the Thrift types (type, details) of fields, with those in lists, maps and structs."""
    for kind, details in types:
        match kind:
            case TType.STRUCT:
                struct = details[0]
                if struct in seen:
                    continue
                seen.add(struct)
                fields = [spec for spec in struct.thrift_spec if spec]
                if struct in _DESCRIBING or not _COLUMN_FIELDS.isdisjoint(spec[2] for spec in fields):
                    return True
                if _describes([(spec[1], spec[3]) for spec in fields], seen):
                    return True
            case TType.LIST | TType.SET:
                if _describes([(details[0], details[1])], seen):
                    return True
            case TType.MAP:
                if _describes([(details[0], details[1]), (details[2], details[3])], seen):
                    return True
    return False
