"""Handlers of types."""

from __future__ import annotations

from metastore.domain.names import pattern_regex
from metastore.encoding.binary import EncodedStruct
from metastore.operations.operation import change, data_administrator, operation
from metastore.services.legacy.types import TypeService
from thrift_idl.gen.hive_metastore.ttypes import Type


class TypeHandlers:
    """`*_type*`."""

    def __init__(self, types: TypeService) -> None:
        self._types = types

    @change("type.name", data_administrator)
    def create_type(self, new: Type) -> bool:
        self._types.create(new)
        return True

    @change("type", data_administrator)
    def drop_type(self, name: str) -> bool:
        self._types.drop(name or "")
        return True

    @operation("name")
    def get_type(self, name: str) -> EncodedStruct[Type]:
        return self._types.get(name or "")

    @operation("name")
    def get_type_all(self, pattern: str | None) -> dict[str, Type]:
        """Returns types by their names. Hive does not implement it. The name is a pattern, as in other methods that
        list objects.
        """
        return self._types.select(pattern_regex(pattern))
